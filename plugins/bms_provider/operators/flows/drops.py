"""Operators that create the records of a dropped file: plan, enter, create, report; and dispatch files."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import Param, task, task_group

from bms_provider import flow_context, policy
from bms_provider.notifiers import BmsApprovalNotifier
from bms_provider.operators.approval import BmsApprovePlanOperator
from bms_provider.operators.flows.base import BmsFlowOperator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow.sdk import Context

    from bms_flows.onboarding.onboarding import Onboarding


class BmsDropOperator(BmsFlowOperator):
    """Base of the operators that work on a dropped file.

    A reviewer decides on rows by the run's params ``line`` and ``decision``. A retry continues the work.

    :param resource: ``employee``, ``contact`` or ``consultant`` (templated).
    """

    resource: str

    @contextmanager
    def onboarding(self, context: Context, **chosen: Any) -> Iterator[Onboarding]:
        """Yield the onboarding of the run, with `chosen` in place of its params."""
        from bms_flows.onboarding.onboarding import DagRun, Onboarding

        run, settings = context["dag_run"], flow_context.onboarding_settings()
        params = {**context["params"], **chosen}
        dag_run = DagRun(run.dag_id, run.run_id, params, run.triggering_user_name)
        with flow_context.open_context(settings, self.warehouse_conn_id) as flow:
            yield Onboarding(flow, settings, self.resource, dag_run, self.hook, flow_context.emit)


class BmsPlanDropOperator(BmsDropOperator):
    """Claim the run's file, read it, and plan which records to create.

    :param path: name of a file in the inbox (``path``, templated).
    :param drop: number of a drop to continue instead (``drop``, templated).
    :param plan_only: read and plan, but create nothing (``dry_run``, templated).
    :return: to XCom: the proposal for `BmsApprovePlanOperator`, without personal data.
    """

    path: str | None = None
    drop: int | str | None = None
    plan_only: bool | str | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Plan the file."""
        chosen = {
            "path": self.given(context, "path", str | None),
            "drop": self.given(context, "drop", int | None),
            "dry_run": self.given(context, "plan_only", bool | None, "dry_run"),
        }
        with self.onboarding(context, **chosen) as onboarding:
            return onboarding.plan()


class BmsEnterPlanOperator(BmsDropOperator):
    """Enter an approved plan in the ledger; ask again if the data changed and more would be created.

    :param proposal: return value of `BmsPlanDropOperator`, or of an earlier entering task (templated).
    :param answer: return value of `BmsApprovePlanOperator` (templated).
    :return: to XCom: the proposal with ``chunks``, the numbers of the chunks to create.
    """

    proposal: Any
    answer: Any
    template_fields_renderers: ClassVar[dict[str, str]] = {"proposal": "json", "answer": "json"}

    def execute(self, context: Context) -> dict[str, Any]:
        """Enter the plan."""
        with self.onboarding(context) as onboarding:
            return onboarding.enter(self.proposal, self.answer)


class BmsCreateRecordsOperator(BmsDropOperator):
    """Create the records of one chunk; each row is created once, adopted, rejected, or sent to review.

    :param entered: return value of `BmsEnterPlanOperator` (templated).
    :param chunk: number of the chunk (templated).
    :return: to XCom: the number of rows by state.
    """

    entered: Any
    chunk: Any
    template_fields_renderers: ClassVar[dict[str, str]] = {"entered": "json"}

    def execute(self, context: Context) -> dict[str, int]:
        """Create the records."""
        with self.onboarding(context) as onboarding:
            return onboarding.apply(self.entered, self.chunk)


class BmsDropReportOperator(BmsDropOperator):
    """Read created records back, list the rows to review, write report and receipt, close the drop.

    :param entered: return value of `BmsEnterPlanOperator` (templated).
    :return: to XCom: the number of rows by state, and the report's folder.
    """

    entered: Any
    template_fields_renderers: ClassVar[dict[str, str]] = {"entered": "json"}

    def execute(self, context: Context) -> dict[str, Any]:
        """Write the report."""
        with self.onboarding(context) as onboarding:
            return onboarding.conclude(self.entered)


class BmsDispatchInboxOperator(BmsDropOperator):
    """Claim every settled file of an inbox.

    :return: to XCom: for each file, ``trigger_run_id`` and ``conf`` of the run to start.
    """

    def execute(self, context: Context) -> list[dict[str, Any]]:  # noqa: ARG002 - Airflow's signature
        """Claim the files."""
        from bms_flows.onboarding.inboxes import Inbox

        settings = flow_context.onboarding_settings()
        with flow_context.open_context(settings, self.warehouse_conn_id) as flow:
            inbox = Inbox(flow, self.resource, settings)
            return inbox.dispatch(flow_context.step(f"take_{self.resource}"))


@task_group(prefix_group_id=False)
def approval(resource: str, planned: Any) -> Any:
    """Two rounds: the second asks again if more or other rows would be created since the first."""
    entered = planned
    for again in ("", "_again"):
        asked = BmsApprovePlanOperator(
            task_id=f"approve{again}",
            proposal=entered,
            response_timeout=policy.APPROVAL_TIMEOUT,
            notifiers=[BmsApprovalNotifier()],
        )
        entered = BmsEnterPlanOperator(
            task_id=f"enter{again}",
            resource=resource,
            proposal=entered,
            answer=asked.output,
            **policy.SERVICE,
        ).output
    return entered


@task
def chunks(entered: Any) -> Any:
    """Return the numbers of the chunks, one per mapped task."""
    from bms_flows.runtime import manifest

    manifest.require_version(entered, "Clear the whole run.")
    return entered["chunks"]


def steps(resource: str) -> None:
    """Add the tasks of an onboarding DAG: plan, approve in up to two rounds, create in chunks, conclude."""
    planned = BmsPlanDropOperator(task_id="plan", resource=resource, **policy.SERVICE)
    entered = approval(resource, planned.output)
    created = BmsCreateRecordsOperator.partial(
        task_id="create", resource=resource, entered=entered, **policy.SERVICE
    ).expand(chunk=chunks(entered))
    created >> BmsDropReportOperator(
        task_id="conclude", resource=resource, entered=entered, **policy.REPORT
    )


def dag_arguments(tag: str) -> dict[str, Any]:
    """Return the arguments of `@dag` for an onboarding DAG."""
    shared = policy.dag_arguments("drops", tag)
    return {**shared, "params": params(), "max_active_runs": policy.MAX_DROP_RUNS}


def params() -> dict[str, Param]:
    """Return the params of an onboarding DAG."""
    return {
        "path": Param(
            None,
            type=["null", "string"],
            title="File",
            description="Name of a file in the inbox; the run claims it immediately.",
        ),
        "drop": Param(
            None,
            **policy.INTEGER,
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
            description="create, give_up, or the id (employees: guid) of the record to assign to one line.",
        ),
        "dry_run": Param(
            False,
            type="boolean",
            title="Dry run",
            description="Read and plan only: the report shows what a run would do.",
        ),
    }
