"""Deletes files that are older than their retention, every night.

The settings `BMS_KEEP_RAW_DAYS`, `BMS_KEEP_PARQUET_DAYS`, `BMS_KEEP_REPORTS_DAYS` and
`BMS_KEEP_ARCHIVE_DAYS` set the retention of raw responses, Parquet files, reports and dropped files.
The DAG deletes no rows of the loaded tables.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import CronTriggerTimetable, dag, task

from bms_provider import policy


@dag(
    schedule=CronTriggerTimetable("30 3 * * *", timezone=policy.TIME_ZONE),
    doc_md=policy.documentation(__doc__, "retention"),
    max_active_runs=1,
    allowed_run_types=policy.WITHOUT_WINDOW,
    **policy.dag_arguments("housekeeping", deadline=timedelta(hours=2)),
)
def retention() -> None:
    """Delete expired files."""

    @task
    def sweep() -> dict[str, dict[str, int]]:
        """Delete expired files; return the number of deleted files and bytes by kind."""
        from bms_provider.tasks import housekeeping

        return housekeeping.sweep()

    sweep()


DAG = retention()
