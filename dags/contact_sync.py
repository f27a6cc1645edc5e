"""Contacts of the CRM, every hour.

Mirrors the contacts into `bms.contact`, every change as a version in `bms.contact_version`.

- **Complete**: the list is read twice, with pages of two sizes; where the two together cover it,
  nothing that was there is missing. Else the run is `unstable` in `bms.run`: what was read is
  loaded, nobody is marked as gone.
- **Few requests**: details only of contacts that are new or changed, and of a few in turn.
- **Gone**: `deleted` is true for those that the service flags and for those that vanished, once
  their detail confirms it; `_gone_reason` says which. Nothing is ever removed. When many are gone
  at once, none is marked, the task fails and asks; `accept_gone` answers.
- **A part only**: with a filter, a client or leads alone, nothing is said of the other contacts.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import AssetAlias, CronTriggerTimetable, Param, dag, task

from bms_provider import policy

CONTACTS = AssetAlias("bms_contact")


@dag(
    schedule=CronTriggerTimetable("5 * * * *", timezone=policy.TIME_ZONE),
    doc_md=__doc__,
    max_active_runs=1,
    is_paused_upon_creation=True,
    params={
        "filter": Param(
            "ALL",
            enum=["ALL", "ACTIVE", "ASSIGNED", "DELETED"],
            title="Filter",
            description="Which contacts the service is asked for; only ALL tells who is gone.",
        ),
        "id_client": Param(
            None,
            type=["null", "integer"],
            title="Client",
            description="Only the contacts of this client, by its number; nothing is said of the others.",
        ),
        "is_lead": Param(
            None,
            type=["null", "boolean"],
            title="Leads",
            description="True: only leads; false: only those that are none; empty: both.",
        ),
        **policy.details("contact", "address, phones, domains, notes"),
        **policy.mirror("contact"),
    },
    **policy.dag_arguments("contacts", "crm", within=timedelta(minutes=30)),
)
def contact_sync() -> None:
    """Read, compare, load."""

    @task(**policy.SERVICE, outlets=[CONTACTS])
    def sync() -> dict[str, object]:
        """Read lists and details, load what differs, mark who is gone."""
        from bms_provider.tasks import mirror

        return mirror.sync_contacts()

    sync()


contact_sync()
