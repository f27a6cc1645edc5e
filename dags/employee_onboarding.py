"""New employees from a dropped file: every row ends in exactly one known state.

One run for one file. It reads the file, plans what would be created, asks a person where the
settings or the figures want it (`BMS_APPROVAL`), creates, reads back what was created, and leaves
its report under `reports/employees/<drop>/`: who was created, who was not and why, in the file's
own form to be corrected and dropped again, what needs a person, and last the certificate.

Started by `inbox_dispatch`; or by hand, with the name of a file in `inbox/employees/`, or with the
number of a drop that is to be gone on with: a plan approved later, or a line of `needs_review.csv`
decided (`create`, `give_up`, or the guid of the employee it is; who decided is kept).
"""

from __future__ import annotations

from airflow.sdk import Param, dag, task

from bms_provider import policy
from bms_provider.operators.approval import BmsApprovePlanOperator

RESOURCE = "employee"


@dag(
    schedule=None,
    doc_md=__doc__,
    params={
        "path": Param(
            None,
            type=["null", "string"],
            title="File",
            description="Name of a file in inbox/employees/; it is taken at once.",
        ),
        "drop": Param(
            None,
            type=["null", "integer"],
            title="Drop",
            description="Number of a drop to go on with, as its report names it.",
        ),
        "line": Param(
            None,
            type=["null", "integer"],
            title="Line to decide on",
            description="Of that drop, as needs_review.csv numbers it; with a decision.",
        ),
        "decision": Param(
            None,
            type=["null", "string"],
            title="Decision",
            description="create, give_up, or the guid of the employee that the line is.",
        ),
        "dry_run": Param(
            False,
            type="boolean",
            title="Dry run",
            description="Read and plan only: the report says what would be done.",
        ),
    },
    **policy.dag_arguments("drops", "hr"),
)
def employee_onboarding() -> None:
    """Plan, ask, create, report."""

    @task(**policy.SERVICE, multiple_outputs=False)
    def plan() -> dict[str, object]:
        """Take the drop, read it, and plan what would be created."""
        from bms_provider.tasks import creation

        return creation.plan(RESOURCE)

    @task(**policy.SERVICE, multiple_outputs=False)
    def enter(proposed: dict[str, object], answer: dict[str, object]) -> dict[str, object]:
        """Enter what was agreed to in the ledger; where something has moved since, ask again."""
        from bms_provider.tasks import creation

        return creation.enter(RESOURCE, proposed, answer)

    @task
    def chunks(entered: dict[str, object]) -> list[int]:
        """Name the chunks of rows to be created, one for each task."""
        return entered["chunks"]

    @task(**policy.SERVICE, multiple_outputs=False)
    def create(entered: dict[str, object], chunk: int) -> dict[str, int]:
        """Bring the rows of a chunk to an end: each is created once, or found, or known not to be."""
        from bms_provider.tasks import creation

        return creation.apply(RESOURCE, entered, chunk)

    @task(**policy.SERVICE, multiple_outputs=False, trigger_rule="all_done")
    def conclude(entered: dict[str, object]) -> dict[str, object]:
        """Read back, write the report and the certificate, end the drop."""
        from bms_provider.tasks import creation

        return creation.conclude(RESOURCE, entered)

    planned = plan()
    first = enter(planned, approval("approve", planned))
    agreed = enter.override(task_id="enter_again")(first, approval("approve_again", first))
    create.partial(entered=agreed).expand(chunk=chunks(agreed)) >> conclude(agreed)


def approval(task_id: str, proposal: object) -> object:
    """Ask a person where the proposal says so; go on where it doesn't."""
    return BmsApprovePlanOperator(
        task_id=task_id, proposal=proposal, response_timeout=policy.APPROVAL_TIME
    ).output


employee_onboarding()
