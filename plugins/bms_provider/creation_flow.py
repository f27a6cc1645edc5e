"""The steps of a drop, the same for every resource: plan, ask, create, report. Shared by their DAGs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Param, task

from bms_provider import policy
from bms_provider.operators.approval import BmsApprovePlanOperator

if TYPE_CHECKING:
    from airflow.sdk import XComArg


def params(inbox: str, record: str) -> dict[str, Param]:
    """Return what a run of a drop can be told; `record` says what names a record of the service."""
    return {
        "path": Param(
            None,
            type=["null", "string"],
            title="File",
            description=f"Name of a file in inbox/{inbox}/; it is taken at once.",
        ),
        "drop": Param(
            None,
            type=["null", "integer"],
            title="Drop",
            description="Number of a drop to go on with, as its report names it.",
        ),
        "line": Param(
            None,
            type=["null", "string"],
            title="Lines to decide on",
            description="Of that drop, as needs_review.csv numbers them: 4, or 3-7, 9, or all that"
            " wait; with a decision.",
        ),
        "decision": Param(
            None,
            type=["null", "string"],
            title="Decision",
            description=f"create, give_up, or {record} that one line is.",
        ),
        "dry_run": Param(
            False,
            type="boolean",
            title="Dry run",
            description="Read and plan only: the report says what would be done.",
        ),
    }


def steps(resource: str) -> None:
    """Make the tasks of a drop's DAG."""

    @task(**policy.CREATION, multiple_outputs=False)
    def plan() -> dict[str, object]:
        """Take the drop, read it, and plan what would be created."""
        from bms_provider.tasks import creation  # noqa: PLC0415 - only a running task needs it

        return creation.plan(resource)

    @task(**policy.CREATION, multiple_outputs=False)
    def enter(proposed: Any, answer: Any) -> dict[str, object]:
        """Enter what was agreed to in the ledger; where something has moved since, ask again."""
        from bms_provider.tasks import creation  # noqa: PLC0415 - only a running task needs it

        return creation.enter(resource, proposed, answer)

    @task
    def chunks(entered: Any) -> Any:
        """Name the chunks of rows to be created, one for each task."""
        return entered["chunks"]

    @task(**policy.CREATION, multiple_outputs=False)
    def create(entered: Any, chunk: int) -> dict[str, int]:
        """Bring the rows of a chunk to an end: each is created once, or found, or known not to be."""
        from bms_provider.tasks import creation  # noqa: PLC0415 - only a running task needs it

        return creation.apply(resource, entered, chunk)

    def tell(context: Any) -> None:
        """Tell the people of the inbox how the drop ended."""
        from bms_provider.tasks import telling  # noqa: PLC0415 - only a running task needs it

        telling.tell(resource, context)

    @task(
        **policy.CREATION,
        multiple_outputs=False,
        trigger_rule="all_done",
        on_success_callback=tell,
        on_failure_callback=[policy.notify_failure, tell],
    )
    def conclude(entered: Any) -> dict[str, object]:
        """Read back, write the report and the receipt, end the drop."""
        from bms_provider.tasks import creation  # noqa: PLC0415 - only a running task needs it

        return creation.conclude(resource, entered)

    planned = plan()
    first = enter(planned, _approval("approve", planned))
    agreed = enter.override(task_id="enter_again")(first, _approval("approve_again", first))
    create.partial(entered=agreed).expand(chunk=chunks(agreed)) >> conclude(agreed)


def _approval(task_id: str, proposal: XComArg) -> XComArg:
    """Ask a person where the proposal says so; go on where it doesn't."""
    return BmsApprovePlanOperator(
        task_id=task_id, proposal=proposal, response_timeout=policy.APPROVAL_TIMEOUT
    ).output
