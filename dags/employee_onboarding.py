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

from bms_provider.operators.flows import drops


@dag(schedule=None, doc_md=__doc__, **drops.dag_arguments("hr"))
def employee_onboarding() -> None:
    """Plan, approve in up to two rounds, create in chunks, conclude."""
    drops.steps("employee")


DAG = employee_onboarding()
