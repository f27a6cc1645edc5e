"""Request for approval as Airflow stores it: the question, who may answer, and the message."""

from datetime import UTC, datetime
from typing import Any

import pytest
from airflow.providers.standard.exceptions import HITLTriggerEventError
from airflow.providers.standard.operators import hitl
from airflow.sdk import BaseNotifier
from airflow.sdk.exceptions import TaskAwaitingInput

from bms_provider.operators.approval import NO_ANSWER, BmsApprovePlanOperator

QUESTION = {
    "subject": "Dépôt 1 : créer 12 salariés ?",
    "body": "12 salariés seront créés.",
    "options": ["Approuver", "Rejeter"],
}


class Notified(BaseNotifier):
    """Counts its messages."""

    count = 0

    def notify(self, context: Any) -> None:  # noqa: ARG002 - Airflow's signature
        self.count += 1


class Asked:
    """An operator that asks, with what Airflow stored of its request."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **question: Any) -> None:
        proposal = {"drop": 1, "plan": "ab", "ask": True, "question": {**QUESTION, **question}}
        self.notifier = Notified()
        self.stored: dict[str, Any] = {}
        self.operator = BmsApprovePlanOperator(
            task_id="approve", proposal=proposal, notifiers=[self.notifier]
        )
        monkeypatch.setattr(hitl, "upsert_hitl_detail", lambda **given: self.stored.update(given))
        context: Any = {"task_instance": type("TI", (), {"id": "1"})()}
        with pytest.raises(TaskAwaitingInput) as waiting:
            self.operator.execute(context)
        self.context = context
        self.next_kwargs = waiting.value.kwargs or {}


def answered(chosen: str, user: Any = None) -> dict[str, Any]:
    """Return the event of an answer."""
    event = {"chosen_options": [chosen], "params_input": {}, "responded_by_user": user}
    return {**event, "responded_at": datetime.now(UTC)}


def test_the_question_and_its_approvers_are_stored_and_a_message_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = Asked(monkeypatch, users=["marie", "7"])
    assert asked.stored["subject"] == QUESTION["subject"]
    assert asked.stored["body"] == QUESTION["body"]
    assert asked.stored["assigned_users"] == [
        {"id": "marie", "name": "marie"},
        {"id": "7", "name": "7"},
    ]
    assert asked.notifier.count == 1


def test_without_approvers_every_editor_of_the_dag_may_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Asked(monkeypatch, users=[]).stored["assigned_users"] is None


@pytest.mark.parametrize("proposal", [None, {"drop": 1, "plan": None, "ask": False}])
def test_a_plan_that_needs_no_approval_passes(proposal: Any) -> None:
    operator = BmsApprovePlanOperator(task_id="approve", proposal=proposal)
    assert operator.execute({}) == {"plan": None, "approved": None, "who": None}


def test_the_buttons_are_in_the_language_of_the_inbox_and_equally_prominent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Airflow highlights the default alone, and every button without a default."""
    stored = Asked(monkeypatch).stored
    assert stored["options"] == ["Approuver", "Rejeter"]
    assert stored["defaults"] is None


@pytest.mark.parametrize(("chosen", "approved"), [("Approuver", True), ("Rejeter", False)])
def test_the_answer_has_the_plan_and_the_approver(
    monkeypatch: pytest.MonkeyPatch, chosen: str, approved: bool
) -> None:
    proposal = Asked(monkeypatch).operator.proposal
    resumed = BmsApprovePlanOperator(task_id="approve", proposal=proposal)  # as another process
    found = resumed.execute_complete({}, answered(chosen, {"id": "7", "name": "Marie"}))
    assert (found["plan"], found["approved"], found["who"]) == ("ab", approved, "Marie")


@pytest.mark.parametrize(
    ("event", "who"),
    [
        (answered("Approuver"), True),
        ({"error": "The response timeout has passed.", "error_type": "timeout"}, False),
    ],
)
@pytest.mark.parametrize("proposal", [{"plan": "cd"}, {"plan": "cd", "ask": False, "question": {}}])
def test_an_answer_belongs_to_the_plan_that_the_request_showed(
    monkeypatch: pytest.MonkeyPatch, event: dict[str, Any], who: bool, proposal: dict[str, Any]
) -> None:
    """A user cleared the planning task alone while the request waited; Airflow keeps its text."""
    asked = Asked(monkeypatch)
    given: Any = {**asked.operator.proposal, **proposal}
    resumed = BmsApprovePlanOperator(task_id="approve", proposal=given)
    arguments = {**asked.next_kwargs, "event": {**event, "responded_at": datetime.now(UTC)}}
    answer = resumed.resume_execution("execute_complete", arguments, asked.context)
    expected = {"plan": "ab", "approved": who, "who": NO_ANSWER, "id": None}
    assert {"id": None, **answer} == expected


def test_any_other_error_of_the_request_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HITLTriggerEventError):
        Asked(monkeypatch).operator.execute_complete({}, {"error": "x", "error_type": "unknown"})


def test_a_request_of_the_release_before_is_answered_in_english(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = Asked(monkeypatch)
    del asked.operator.proposal["question"]["options"]
    resumed = BmsApprovePlanOperator(task_id="approve", proposal=asked.operator.proposal)
    assert resumed.execute_complete({}, answered("Approve"))["approved"]
