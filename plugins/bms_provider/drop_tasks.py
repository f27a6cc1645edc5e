"""Tasks and params of the onboarding DAGs; each DAG file wires them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseNotifier, Param, task, task_group

from bms_provider import policy
from bms_provider.operators.approval import BmsApprovePlanOperator

if TYPE_CHECKING:
    from airflow.sdk import XComArg


@task(**policy.CREATION, multiple_outputs=False)
def plan(resource: str) -> dict[str, object]:
    """Claim the drop, read it, and plan what to create."""
    from bms_provider.tasks import creation  # noqa: PLC0415 - only a running task needs it

    return creation.plan(resource)


class NotifyApprovers(BaseNotifier):
    """Sends the request to the approvers; the watchdog repeats a message that no channel accepted."""

    def notify(self, context: Any) -> None:  # noqa: ARG002 - Airflow's signature
        """Send the messages that are due."""
        from bms_provider.tasks import approvals  # noqa: PLC0415 - only a running task needs it

        approvals.notify()


def approve(proposal: Any, task_id: str = "approve") -> XComArg:
    """Request approval if the proposal needs it, and notify the approvers; else continue."""
    return BmsApprovePlanOperator(
        task_id=task_id,
        proposal=proposal,
        response_timeout=policy.APPROVAL_TIMEOUT,
        notifiers=[NotifyApprovers()],
    ).output


@task(**policy.CREATION, multiple_outputs=False)
def enter(resource: str, proposed: Any, answer: Any) -> dict[str, object]:
    """Enter the approved plan in the ledger; request approval again if the data changed."""
    from bms_provider.tasks import creation  # noqa: PLC0415 - only a running task needs it

    return creation.enter(resource, proposed, answer)


@task_group(prefix_group_id=False)
def approval(resource: str, planned: Any) -> Any:
    """Two rounds: the second asks again if more or other rows would be created since the first."""
    first = enter(resource, planned, approve(planned))
    again = enter.override(task_id="enter_again")
    return again(resource, first, approve(first, "approve_again"))


@task
def chunks(entered: Any) -> Any:
    """Return the numbers of the chunks, one per mapped task."""
    return entered["chunks"]


@task(**policy.CREATION, multiple_outputs=False)
def create(resource: str, entered: Any, chunk: int) -> dict[str, int]:
    """Create the rows of a chunk; each row is created once, adopted, rejected, or sent to review."""
    from bms_provider.tasks import creation  # noqa: PLC0415 - only a running task needs it

    return creation.apply(resource, entered, chunk)


def notify(context: Any) -> None:
    """Notify the recipient of the inbox how the drop ended."""
    from bms_provider.tasks import drop_notices  # noqa: PLC0415 - only a running task needs it

    drop_notices.notify(context)


@task(
    **policy.CREATION,
    multiple_outputs=False,
    trigger_rule="all_done",
    on_success_callback=notify,
    on_failure_callback=[policy.notify_failure, notify],
)
def conclude(resource: str, entered: Any) -> dict[str, object]:
    """Read created records back, list the rows to review, write report and receipt, close the drop."""
    from bms_provider.tasks import creation  # noqa: PLC0415 - only a running task needs it

    return creation.conclude(resource, entered)


def params(inbox: str, record: str) -> dict[str, Param]:
    """Return the params of an onboarding DAG; `record` describes the id of a record."""
    return {
        "path": Param(
            None,
            type=["null", "string"],
            title="File",
            description=f"Name of a file in inbox/{inbox}/; the run claims it immediately.",
        ),
        "drop": Param(
            None,
            type=["null", "integer"],
            title="Drop",
            description="Number of a drop to continue; its report and the board show the number.",
        ),
        "line": Param(
            None,
            type=["null", "string"],
            title="Lines to decide on",
            description="Line numbers in the drop's needs_review.csv: 4, or 3-7, 9, or all; requires a"
            " decision.",
        ),
        "decision": Param(
            None,
            type=["null", "string"],
            title="Decision",
            description=f"create, give_up, or {record} to assign to one line.",
        ),
        "dry_run": Param(
            False,
            type="boolean",
            title="Dry run",
            description="Read and plan only: the report shows what a run would do.",
        ),
    }
