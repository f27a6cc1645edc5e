"""Mirrors the contacts of the CRM into the warehouse, every hour.

Loads the contacts into `bms.contact` and every change as a version into `bms.contact_version`.

- **Complete lists**: the run reads the list twice, with two page sizes. If contacts moved between
  pages, so that the two readings together may still miss some, the run is `unstable`: it loads what it
  read and marks no contact as deleted.
- **Few requests**: the run reads the details of new and changed contacts, and of a few others in
  rotation.
- **Deleted contacts**: `deleted` is true for contacts that the service flags and for contacts that
  are missing from the list, after their detail confirms it. Rows are never removed. If unusually many
  contacts are missing at once, the run marks none and fails; check the service, then run again with
  `accept_gone`.
- **Partial runs**: a run with a filter, a client or leads leaves all other contacts unchanged.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import CronTriggerTimetable, Param, dag, task

from bms_provider import assets, policy
from bms_provider.operators.access import BmsCheckAccessOperator


@dag(
    schedule=CronTriggerTimetable("5 * * * *", timezone=policy.TIME_ZONE),
    doc_md=policy.documentation(__doc__, "contact_sync"),
    max_active_runs=1,
    allowed_run_types=policy.WITHOUT_WINDOW,
    is_paused_upon_creation=True,
    params={
        "filter": Param(
            "ALL",
            enum=["ALL", "ACTIVE", "ASSIGNED", "DELETED"],
            title="Filter",
            description="Contacts to request from the service. Only ALL detects missing contacts.",
        ),
        "id_client": Param(
            None,
            type=["null", "integer"],
            title="Client",
            description="Number of a client. Reads only the contacts of this client and leaves all"
            " others unchanged.",
        ),
        "is_lead": Param(
            None,
            type=["null", "boolean"],
            title="Leads",
            description="true: only leads. false: only contacts that are no leads. Empty: both.",
        ),
        **policy.details_param("contact", "address, phones, domains, notes"),
        **policy.mirror_params("contact"),
    },
    **policy.dag_arguments("contacts", "crm", deadline=timedelta(minutes=30)),
)
def contact_sync() -> None:
    """Read, compare, load."""

    @task(**policy.SERVICE, outlets=[assets.CONTACT])
    def sync() -> dict[str, object]:
        """Read the list and the details, load new and changed rows, mark missing rows as deleted."""
        from bms_provider.tasks import mirror

        return mirror.sync("contact")

    check_access = BmsCheckAccessOperator(
        task_id="check_access", requires=["list_contacts", "read_contact"], **policy.ONE_REQUEST
    )
    check_access >> sync()


DAG = contact_sync()
