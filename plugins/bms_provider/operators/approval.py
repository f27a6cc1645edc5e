"""Operator that requests approval for a plan of creations, with Airflow's human-in-the-loop step."""

from datetime import timedelta
from typing import Any, ClassVar

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Context, exceptions

from bms_provider import flow_context
from bms_provider.operators.links import BmsBoardLink

APPROVE, REJECT = "Approve", "Reject"
"""The answers, where the proposal names none."""
WAITING = tuple(
    getattr(exceptions, name)
    for name in ("TaskAwaitingInput", "TaskDeferred")  # the first one since Airflow 3.3
    if hasattr(exceptions, name)
)
NO_ANSWER = "no answer in time"
"""Recorded in place of the approver when the request expires."""


class BmsApprovePlanOperator(HITLOperator):
    """Request approval for a plan if its proposal requires it.

    The task occupies no worker while it waits. After a rejection or an expired request the run continues.

    :param proposal: return value of a planning task (templated): ``drop``, ``plan``, ``ask`` and, if
        approval is needed, ``question`` with ``subject`` and ``body`` (no personal data: all who may view
        the DAG read them), ``options`` (the words for approve and reject), ``users`` (ids of those who may
        answer; empty: all who may edit the DAG) and ``excluded`` (users whose answer is void).
    :param response_timeout: time to answer; then the plan is rejected.
    :return: to XCom: ``plan``, ``approved`` (None if no approval was required), ``who`` and,
        of an answer, the user's ``id``.
    """

    template_fields = (*HITLOperator.template_fields, "proposal")
    operator_extra_links = (BmsBoardLink(),)
    template_fields_renderers: ClassVar[dict[str, str]] = {"proposal": "json"}

    def __init__(
        self, *, proposal: Any, response_timeout: timedelta | None = None, **kwargs: Any
    ) -> None:
        super().__init__(
            subject="Approve the planned creations",
            options=[APPROVE, REJECT],  # no default: Airflow would highlight its button alone
            response_timeout=response_timeout,
            **kwargs,
        )
        self.proposal = proposal

    def execute(self, context: Context) -> Any:
        """Request approval, or return at once if none is required."""
        if not self.proposal or not self.proposal.get("ask"):
            return {"plan": (self.proposal or {}).get("plan"), "approved": None, "who": None}
        question = self.proposal["question"]
        self.subject, self.body = question["subject"], question["body"]
        self.options = self._asked()["options"]
        users = question.get("users") or []
        self.assigned_users = [{"id": user, "name": user} for user in users] or None
        try:
            return super().execute(context)
        except WAITING as waiting:
            # The proposal of the resumed task may be another one: a user cleared the planning task.
            waiting.kwargs = {**(waiting.kwargs or {}), "asked": self._asked()}
            raise

    def execute_complete(
        self, context: Context, event: dict[str, Any], asked: dict[str, Any] | None = None
    ) -> Any:
        """Return the answer, to the plan that the request showed, and the approver.

        A request that expires is rejected. `asked` is what `execute` requested.
        """
        asked = asked or self._asked()
        if event.get("error_type") == "timeout":
            return {"plan": asked["plan"], "approved": False, "who": NO_ANSWER}
        self.options = asked["options"]
        answer = super().execute_complete(context, event)
        user = answer["responded_by_user"]
        void = user and not {user["id"], user["name"]}.isdisjoint(asked["excluded"])
        if void and asked["plan"] == self.proposal["plan"]:
            return self._ask_again(context)  # Airflow keeps the text of the request
        return {
            "plan": asked["plan"],
            "approved": answer["chosen_options"] == self.options[:1],
            "who": user["name"] if user else NO_ANSWER,
            "id": user["id"] if user else None,
        }

    def _ask_again(self, context: Context) -> Any:
        """Request approval again: the user who answered submitted the drop or triggered its run."""
        from bms_flows.onboarding.planning.approval import Plans  # noqa: PLC0415 - the DAG file loads this module

        self.log.warning(
            "The answer is void: its user submitted the drop or triggered its run (BMS_FOUR_EYES)."
            " The request goes out again; another user has to answer."
        )
        with flow_context.open_context() as flow:
            Plans(flow.warehouse, self.proposal["drop"]).ask_again(self.proposal["plan"])
        return self.execute(context)

    def _asked(self) -> dict[str, Any]:
        """Return the plan of the proposal, the options of its request, and the users whose answer is void."""
        question = self.proposal.get("question") or {}
        return {
            "plan": self.proposal["plan"],
            "options": question.get("options") or [APPROVE, REJECT],
            "excluded": list(question.get("excluded") or ()),
        }
