"""Files older than they need to be kept, deleted every night.

Answers as they came, Parquet files, reports and dropped files are kept for a number of days each
(`BMS_KEEP_RAW_DAYS`, `BMS_KEEP_PARQUET_DAYS`, `BMS_KEEP_REPORTS_DAYS`, `BMS_KEEP_ARCHIVE_DAYS`).
The tables are never touched.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import CronTriggerTimetable, dag, task

from bms_provider import policy


@dag(
    schedule=CronTriggerTimetable("30 3 * * *", timezone=policy.TIME_ZONE),
    doc_md=__doc__,
    **policy.dag_arguments("housekeeping", within=timedelta(hours=2)),
)
def retention() -> None:
    """Delete what is too old."""

    @task
    def sweep() -> dict[str, dict[str, int]]:
        """Delete each kind's files that are past their days; return how many, and their bytes."""
        from bms_provider.tasks import housekeeping

        return housekeeping.sweep()

    sweep()


retention()
