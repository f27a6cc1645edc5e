"""New employees from a dropped file: every row ends in exactly one known state.

One run for one file. It reads the file, plans what would be created, asks a person where the
settings or the figures want it (`BMS_APPROVAL`), creates, reads back what was created, and leaves
its report under `reports/employees/<drop>-<time>/`: who was created, who was not and why, in the file's
own form to be corrected and dropped again, what needs a person, and last the receipt.

Started by `inbox_dispatch`; or by hand, with the name of a file in `inbox/employees/`, or with the
number of a drop that is to be gone on with: a plan approved later, or lines of `needs_review.csv`
decided (`4`, `3-7, 9` or `all`: `create`, `give_up`, or the guid of the employee it is; who decided is kept).
"""

from __future__ import annotations

from airflow.sdk import dag

from bms_provider import creation_flow, policy


@dag(
    schedule=None,
    doc_md=__doc__,
    params=creation_flow.params("employees", "the guid of the employee"),
    max_active_runs=policy.DROPS_AT_ONCE,
    **policy.dag_arguments("drops", "hr"),
)
def employee_onboarding() -> None:
    """Plan, ask, create, report."""
    creation_flow.steps("employee")


employee_onboarding()
