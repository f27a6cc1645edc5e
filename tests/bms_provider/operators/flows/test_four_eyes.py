"""Four eyes: a user approves no drop that the user submitted or whose run the user triggered."""

from contextlib import AbstractContextManager
from typing import Any

import pytest
from airflow.providers.standard.operators import hitl
from airflow.sdk.exceptions import TaskAwaitingInput
from sqlalchemy import Engine

from bms_flows.monitoring import alarms, approvals
from bms_flows.onboarding.settings import OnboardingSettings
from bms_provider.operators.approval import BmsApprovePlanOperator
from tests.bms_provider.operators.flows.execution import enter, plan, task_of
from tests.bms_provider.operators.flows.test_drops import connected  # noqa: F401 - a fixture
from tests.bms_provider.operators.test_approval import answered
from tests.support.sql import execute, scalar

TWO = '{"employees": ["marie", "paul"]}'


def triggered(user: str | None, **params: Any) -> AbstractContextManager[Any]:
    """A run that a user triggered."""
    return task_of("employee_onboarding", "manual__1", params, triggering_user_name=user)


@pytest.mark.parametrize(
    ("approvers", "given", "user", "users", "excluded"),
    [
        (TWO, None, "paul", ["marie"], ["paul"]),
        (TWO, None, None, ["marie", "paul"], []),
        (TWO, '{"employees": false}', "paul", ["marie", "paul"], []),
        ('{"employees": ["paul"]}', None, "paul", ["paul"], []),
        ('{"employees": ["paul"]}', '{"employees": true}', "paul", ["paul"], ["paul"]),
        (None, '{"employees": true}', "paul", [], ["paul"]),
    ],
)
def test_the_user_who_triggered_the_run_is_no_approver(
    dropped: str,
    monkeypatch: pytest.MonkeyPatch,
    approvers: str | None,
    given: str | None,
    user: str | None,
    users: list[str],
    excluded: list[str],
) -> None:
    monkeypatch.setenv("BMS_APPROVAL", "always")
    for name, value in (("BMS_APPROVERS", approvers), ("BMS_FOUR_EYES", given)):
        if value:
            monkeypatch.setenv(name, value)
    with triggered(user, path=dropped):
        question = plan("employee")["question"]
    assert (question["users"], question["excluded"]) == (users, excluded)


def test_the_answer_of_the_user_who_submitted_the_drop_is_void(
    dropped: str, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_APPROVAL", "always")
    monkeypatch.setenv("BMS_APPROVERS", TWO)
    asked: list[Any] = []
    monkeypatch.setattr(hitl, "upsert_hitl_detail", lambda **given: asked.append(given))
    with triggered(None, path=dropped) as context:
        plan("employee")
        execute(warehouse, "update bms.dropped_file set submitted_by = 'marie'")
        proposed = plan("employee")  # the page records the user before a run plans
        assert proposed["question"]["users"] == ["paul"]
        execute(warehouse, "update bms.creation_plan set notified_at = now()")
        operator = BmsApprovePlanOperator(task_id="approve", proposal=proposed)
        # Airflow refuses the answer of a user who isn't assigned; an administrator changed the request.
        for user in ({"id": "marie", "name": "Marie"}, {"id": "7", "name": "marie"}):
            with pytest.raises(TaskAwaitingInput):
                operator.execute_complete(context, answered("Approuver", user))
            due = scalar(warehouse, "select notified_at is null from bms.creation_plan")
            assert due, "a message goes out again"
        answer = answered("Approuver", {"id": "paul", "name": "Paul"})
        assert operator.execute_complete(context, answer)["approved"] is True
    assert [each["assigned_users"] for each in asked] == [[{"id": "paul", "name": "paul"}]] * 2


def test_the_answer_of_a_user_who_is_no_approver_any_more_is_void(
    dropped: str, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request waits for days, in which an approver may leave; the other approvers get a message."""
    monkeypatch.setenv("BMS_APPROVAL", "always")
    monkeypatch.setenv("BMS_APPROVERS", TWO)
    with triggered(None, path=dropped):
        proposed = plan("employee")
        monkeypatch.setenv("BMS_APPROVERS", '{"employees": ["marie", "anne"]}')
        answer = {"plan": proposed["plan"], "approved": True, "who": "Paul", "id": "paul"}
        execute(warehouse, "update bms.creation_plan set notified_at = now()")
        again = enter(proposed, answer)
        assert scalar(warehouse, "select notified_at is null from bms.creation_plan")
        assert (again["ask"], again["chunks"]) == (True, [])
        assert again["question"]["users"] == ["marie", "anne"]
        assert enter(again, {**answer, "who": "Anne", "id": "anne"})["chunks"]


def test_an_alarm_is_raised_if_no_other_user_may_answer(
    dropped: str, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_APPROVAL", "always")
    monkeypatch.setenv("BMS_APPROVERS", '{"employees": ["paul"]}')
    monkeypatch.setenv("BMS_FOUR_EYES", '{"employees": true}')
    with triggered("paul", path=dropped):
        plan("employee")

    def subjects(**others: str) -> list[str]:
        for name, value in others.items():
            monkeypatch.setenv(name, value)
        with warehouse.begin() as connection:
            approvals.check(connection, OnboardingSettings.from_environment())
            return [each.subject for each in alarms.open_alarms(connection)]

    assert subjects() == ["employee_onboarding drop 1 approver"]
    assert subjects(BMS_APPROVERS=TWO) == []
