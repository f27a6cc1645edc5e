"""Messages to the approvers of waiting plans, reminders and the alarm, with a real warehouse."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.monitoring import alarms, approvals, drop_alarms
from bms_flows.onboarding.planning.approval import Plans
from bms_flows.onboarding.planning.plan import Action
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.notice import Send
from tests.bms_flows.monitoring.conftest import Channel
from tests.support.drops import add_drop, add_plan
from tests.support.sql import execute

SETTINGS = OnboardingSettings(airflow_url="https://airflow.example.com")
PLAN = "ab" * 32
DROP_PAGE = "https://airflow.example.com/bms/drops/1"
RUN_PAGE = "https://airflow.example.com/dags/employee_onboarding/runs/employee-drop-1"


@pytest.fixture
def asked_at(warehouse: Engine) -> datetime:
    """A plan that waits for its approver; the time of the request."""
    now = datetime.now(UTC)
    because = [{"code": "rows_of_day", "found": "12", "limit": "10"}]
    counts = dict.fromkeys(map(str, Action), 0) | {"create": 12, "review": 2}
    add_drop(warehouse, path="Dupré.csv", dag_run_id="employee-drop-1")
    add_plan(warehouse, now, id=PLAN, counts=counts, asked_at=now, asked_because=because)
    return now


@pytest.fixture
def notify(warehouse: Engine, channel: Channel, asked_at: datetime) -> Callable[..., int]:
    """Send what is due a number of hours after the request; return the number of messages."""

    def send(
        hours: float, to: Callable[[str], Send | None] = lambda _: channel, **given: Any
    ) -> int:
        settings = replace(SETTINGS, **given)
        execute(  # the time of the last message, as `hours` counts it
            warehouse,
            "update bms.creation_plan set notified_at = :t where notified_at > :t",
            t=asked_at,
        )
        return approvals.notify(warehouse, to, settings, asked_at + timedelta(hours=hours))

    return send


def test_the_approvers_get_the_question_with_links_once(
    notify: Callable[..., int], channel: Channel
) -> None:
    assert [notify(0), notify(0.1), notify(23.9)] == [1, 0, 0]
    [notice] = channel.taken
    assert notice.title == "Dépôt 1\xa0: créer 12 salariés\xa0?"
    assert notice.lines == (
        "12 salariés seront créés, 2 lignes attendent une décision.",
        "Approbation demandée\xa0: 12 créations sans approbation en un jour, la limite est 10.",
        "Sans réponse dans les 72 heures, rien n'est créé.",
        f"Voir le plan abababababab, ligne par ligne\xa0: {DROP_PAGE}/plans/abababababab",
        f"Répondre dans Airflow\xa0: {RUN_PAGE}/required_actions",
    )
    assert "Dupré" not in notice.text


def test_a_reminder_follows_until_the_request_is_answered_or_expires(
    notify: Callable[..., int], channel: Channel, warehouse: Engine
) -> None:
    assert [notify(0), notify(24)] == [1, 1]
    assert channel.taken[1].title == "Rappel\xa0: Dépôt 1\xa0: créer 12 salariés\xa0?"
    assert "Sans réponse dans les 48 heures, rien n'est créé." in channel.taken[1].lines
    assert notify(30, approval_remind_hours=None) == 0
    assert notify(72) == 0
    Plans(warehouse, 1).approve(PLAN, "ada")
    assert notify(25) == 0


def test_a_message_that_no_channel_accepts_is_sent_later(
    notify: Callable[..., int], channel: Channel, caplog: pytest.LogCaptureFixture
) -> None:
    channel.down = True
    assert notify(0) == 0
    assert "the request to approve drop 1 was not sent: bms_webhook" in caplog.text
    assert notify(0.1, to=lambda _: None) == 0
    channel.down = False
    assert notify(0.2) == 1
    assert not channel.taken[0].title.startswith("Rappel")


def check(warehouse: Engine, now: datetime, **given: Any) -> list[str]:
    """Check for late answers; return the subjects of the open alarms."""
    with warehouse.begin() as connection:
        approvals.check(connection, replace(SETTINGS, **given), now)
        open_alarms = alarms.open_alarms(connection)
        assert not drop_alarms.over(connection, open_alarms), "the end of a drop is no answer"
        return [alarm.subject for alarm in open_alarms]


def test_a_late_answer_raises_an_alarm_that_the_answer_closes(
    warehouse: Engine, asked_at: datetime
) -> None:
    late = asked_at + timedelta(hours=SETTINGS.approval_alarm_hours or 0)
    assert check(warehouse, late - timedelta(minutes=1)) == []
    assert check(warehouse, late, approval_alarm_hours=None) == []
    assert check(warehouse, late) == ["employee_onboarding drop 1 approval"]
    assert check(warehouse, late + timedelta(hours=1)) == ["employee_onboarding drop 1 approval"]
    Plans(warehouse, 1).refuse(PLAN, "ada")
    assert check(warehouse, late + timedelta(hours=2)) == []


def test_a_request_that_nobody_else_may_answer_is_one_alarm(
    warehouse: Engine, asked_at: datetime
) -> None:
    Plans(warehouse, 1).exclude(PLAN, ["ada"])
    approvers = {"employees": ["ada"]}
    assert check(warehouse, asked_at, approvers=approvers) == [
        "employee_onboarding drop 1 approver"
    ]
