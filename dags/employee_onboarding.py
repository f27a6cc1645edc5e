"""Creates employees from a dropped file, each at most once.

One run handles one file:

1. It reads the file and plans which employees to create.
2. It asks for approval if `BMS_APPROVAL` or the limits require it.
3. It creates the approved employees and reads them back.
4. It writes a report to `reports/employees/<drop>-<time>/`: the created employees, the rejected rows
   with their reasons (in the format of the dropped file, to correct and drop again), the rows that
   need a review, and finally the receipt.

**Start**: `inbox_dispatch` starts a run for each dropped file. To start a run by hand, give the name
of a file in `inbox/employees/`. To request approval again after it expired, or to decide on lines of
`needs_review.csv` (lines: `4`, `3-7, 9` or `all`; decision: `create`, `give_up`, or the guid of the
existing employee), give the number of the drop. The ledger stores who decided.
"""

from airflow.sdk import dag

from bms_provider import policy
from bms_provider.operators.flows import drops

RESOURCE = "employee"


@dag(
    schedule=None,
    doc_md=__doc__,
    params=drops.params(),
    max_active_runs=policy.MAX_DROP_RUNS,
    **policy.dag_arguments("drops", "hr"),
)
def employee_onboarding() -> None:
    """Plan, approve in up to two rounds, create in chunks, conclude."""
    planned = drops.BmsPlanDropOperator(task_id="plan", resource=RESOURCE, **policy.SERVICE)
    entered = drops.approval(RESOURCE, planned.output)
    created = drops.BmsCreateRecordsOperator.partial(
        task_id="create", resource=RESOURCE, entered=entered, **policy.SERVICE
    ).expand(chunk=drops.chunks(entered))
    created >> drops.BmsDropReportOperator(
        task_id="conclude", resource=RESOURCE, entered=entered, **policy.REPORT
    )


DAG = employee_onboarding()
