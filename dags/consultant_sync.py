"""Consultants of the CRM, every day.

Mirrors the consultants into `bms.consultant`, every change as a version in
`bms.consultant_version`. It reads and compares as `contact_sync` does.

- **Gone**: the service flags no consultant as deleted. One is gone when two passes over the list
  lack it and its detail answers 404; `deleted` is true then, and nothing is removed.
- **A part only**: with a type or a client, nothing is said of the other consultants.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import AssetAlias, CronTriggerTimetable, Param, dag, task

from bms_provider import policy

CONSULTANTS = AssetAlias("bms_consultant")


@dag(
    schedule=CronTriggerTimetable("20 4 * * *", timezone=policy.TIME_ZONE),
    doc_md=__doc__,
    max_active_runs=1,
    is_paused_upon_creation=True,
    params={
        "type": Param(
            None,
            type=["null", "string"],
            title="Type",
            description="Only consultants of this type; the codes are the service's.",
        ),
        "id_client": Param(
            None,
            type=["null", "integer"],
            title="Client",
            description="Only the consultants of this client, by its number; nothing is said of the others.",
        ),
        **policy.details("consultant", "profile, address, notes, free fields"),
        **policy.mirror("consultant"),
    },
    **policy.dag_arguments("consultants", "crm", within=timedelta(hours=2)),
)
def consultant_sync() -> None:
    """Read, compare, load."""

    @task(**policy.SERVICE, outlets=[CONSULTANTS])
    def sync() -> dict[str, object]:
        """Read the list and details, load what differs, mark who is gone."""
        from bms_provider.tasks import mirror

        return mirror.sync_consultants()

    sync()


consultant_sync()
