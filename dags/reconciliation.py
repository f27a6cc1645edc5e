"""The service against itself, the warehouse against the service: every day, a small part in turn.

Reads the same rows in several ways and holds them against each other: a month of invoices, its
days one by one, two halves that overlap, the other language; contacts and consultants on pages of
two sizes; records in their list and in detail. Then the warehouse against all of these.

- **Each day** of invoices, and each list, is `reconciled` in `bms.reconciliation`, or is not,
  with the reason's code and how many rows.
- **No false alarm**: what differs is read once more; a row that changed between two readings is no
  bug. A difference from the warehouse counts once the warehouse has read the row again since.
- **Small**: one entity a day and `BMS_AUDIT_REQUESTS` requests; other days, rows and entities follow
  in turn. With days given, just these are compared, of all entities.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import CronTriggerTimetable, dag, task

from bms_provider import policy


@dag(
    schedule=CronTriggerTimetable("30 6 * * *", timezone=policy.TIME_ZONE),
    doc_md=__doc__,
    max_active_runs=1,
    params={
        "entities": policy.ENTITIES,
        "start_date": policy.day("First day", "Compare from this day on; else days in turn."),
        "end_date": policy.day("Last day", "Compare to this day, it included."),
    },
    **policy.dag_arguments("audit", within=timedelta(hours=2)),
)
def reconciliation() -> None:
    """Read in several ways, compare, say."""

    @task(**policy.SERVICE)
    def audit() -> dict[str, object]:
        """Compare, keep a word on each day; return what was found."""
        from bms_provider.tasks import reconciliation as audits

        return audits.audit()

    audit()


reconciliation()
