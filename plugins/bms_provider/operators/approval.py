"""The approval of a plan, in Airflow's own approval step; passed through where nobody is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import HITLOperator

if TYPE_CHECKING:
    from datetime import timedelta

    from airflow.sdk import Context

APPROVE, REJECT = "Approve", "Reject"
NOBODY = "nobody in time"


class BmsApprovePlanOperator(HITLOperator):
    """Ask a person to approve a plan of creations, where its proposal says that one is to be asked.

    No worker slot is held while it waits. A rejection and the end of the time are answers too:
    the run goes on and ends well. Reaches XCom: ``{"plan", "approved", "who"}``.

    :param proposal: what a planning task returned: ``{"plan", "ask", "text"}`` (templated); what
        is shown are counts and the plan's id, no personal data.
    :param response_timeout: how long an answer is waited for; then it counts as a rejection.
    """

    template_fields = (*HITLOperator.template_fields, "proposal")

    def __init__(
        self, *, proposal: Any, response_timeout: timedelta | None = None, **kwargs: Any
    ) -> None:
        super().__init__(
            subject="Approve what would be created",
            options=[APPROVE, REJECT],
            defaults=[REJECT],
            response_timeout=response_timeout,
            **kwargs,
        )
        self.proposal = proposal

    def execute(self, context: Context) -> Any:
        """Wait for an answer where one is needed; return at once where none is."""
        if not self.proposal or not self.proposal.get("ask"):
            return {"plan": (self.proposal or {}).get("plan"), "approved": None, "who": None}
        self.subject = f"{self.proposal['drop']}: {self.proposal['creates']} to create"
        self.body = self.proposal["text"]
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Return the answer, and whose it is."""
        answer = super().execute_complete(context, event)
        user = answer["responded_by_user"]
        return {
            "plan": self.proposal["plan"],
            "approved": answer["chosen_options"] == [APPROVE],
            "who": user["name"] if user else NOBODY,
        }
