"""Deletes files that are older than their retention.

- `BMS_KEEP_RAW_DAYS`: raw responses with invoices.
- `BMS_KEEP_PEOPLE_DAYS`: personal data: dropped files, raw responses about contacts, consultants and employees, files that
  operators wrote, and, after 30 days at the latest, creation bodies of ledger rows in a final state.
- `BMS_KEEP_REPORTS_DAYS`: reports; reports of drops contain personal data.

The DAG deletes no rows of the loaded tables.
"""

from datetime import timedelta

from airflow.sdk import CronTriggerTimetable, dag

from bms_provider import policy
from bms_provider.operators.flows.checks import BmsRetentionOperator


@dag(
    schedule=CronTriggerTimetable("30 3 * * *", timezone=policy.TIME_ZONE),
    doc_md=policy.documentation(__doc__, "retention"),
    max_active_runs=1,
    allowed_run_types=policy.WITHOUT_WINDOW,
    **policy.dag_arguments("housekeeping", deadline=timedelta(hours=2)),
)
def retention() -> None:
    """Delete expired files."""
    BmsRetentionOperator(task_id="sweep")


DAG = retention()
