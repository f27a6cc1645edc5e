"""Compares the service with itself and the warehouse with the service, a part every day.

The audit reads the same rows in several ways and compares the results: a month of invoices, its single
days, two overlapping halves, the other language; contacts and consultants with two page sizes; records
in the list and in detail. Then it compares the warehouse with these rows.

- **Result**: `bms.reconciliation` holds the result of each day of invoices and of each list:
  `reconciled`, or the code of the reason and the number of rows that differ.
- **No false alarms**: the audit reads differing rows again and ignores rows that changed between two
  readings. A difference from the warehouse counts only after a load has read the row again.
- **Limited cost**: each run compares one entity with at most `BMS_AUDIT_REQUESTS` requests; the next runs
  continue with other days, rows and entities. A run with given days compares these days of all entities.
"""

from datetime import timedelta

from airflow.sdk import CronTriggerTimetable, dag

from bms_provider import policy
from bms_provider.operators.access import BmsCheckAccessOperator
from bms_provider.operators.flows.checks import BmsReconcileOperator


@dag(
    schedule=CronTriggerTimetable("30 6 * * *", timezone=policy.TIME_ZONE),
    doc_md=policy.documentation(__doc__, "reconciliation"),
    max_active_runs=1,
    allowed_run_types=policy.WITHOUT_WINDOW,
    params={
        "entities": policy.ENTITIES,
        "start_date": policy.date_param(
            "First day", "First day to compare. Empty: the next days in rotation."
        ),
        "end_date": policy.date_param("Last day", "Last day to compare. Empty: the first day."),
    },
    **policy.dag_arguments("audit", deadline=timedelta(hours=2)),
)
def reconciliation() -> None:
    """Read in several ways, compare, record the results."""
    check_access = BmsCheckAccessOperator(task_id="check_access", **policy.ONE_REQUEST)
    check_access >> BmsReconcileOperator(task_id="audit", **policy.SERVICE)


DAG = reconciliation()
