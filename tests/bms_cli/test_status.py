"""The commands `bms status` and `bms alarm ack`: what is shown, what is sent, exit codes."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, text

from bms_cli.alarms import end_of
from bms_cli.app import main
from bms_cli.warehouse import connect
from bms_flows.catalog import FLOWS
from bms_flows.monitoring import alarms
from bms_flows.runtime.notice import Links, Notice
from bms_flows.texts import ALARMS, ERRORS_OF_TASKS
from tests.support.drops import add_drop, add_plan
from tests.support.sql import scalar
from tests.support.steps import add_step

PARIS = ZoneInfo("Europe/Paris")
SINCE = datetime(2026, 3, 31, 10, 5, tzinfo=UTC)
Shown = Callable[..., tuple[int, str]]


@pytest.fixture
def shown(warehouse_uri: str, capsys: pytest.CaptureFixture[str]) -> Shown:
    def run(*arguments: str) -> tuple[int, str]:
        code = main([*arguments, *(() if "--url" in arguments else ("--url", warehouse_uri))])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


def raise_alarm(warehouse: Engine, *aspects: str, code: str = "failed") -> int:
    with warehouse.begin() as connection:
        alarms.raise_(
            connection,
            code,
            "contact_sync",
            detail="Task sync failed.",
            flow="contact_sync",
            since=SINCE,
            extent=alarms.Extent(aspects),
        )
        [found] = alarms.open_alarms(connection)
        return found.id


def sent(warehouse: Engine) -> list[str]:
    taken: list[Notice] = []
    alarms.deliver(warehouse, taken.append, Links("http://a", "http://a/bms/runbook", PARIS))
    return [each.text for each in taken]


def acknowledge(shown: Shown, number: int) -> None:
    until = ("--until", "8h", "--note", "known outage", "--name", "Ada")
    assert shown("alarm", "ack", str(number), *until)[0] == 0


def later(warehouse: Engine, hours: int) -> None:
    """Move everything about alarms into the past, as if time had passed."""
    with warehouse.begin() as connection:
        connection.execute(
            text("""
                update bms.alarm set notified_at = notified_at - :past,
                    update_notified_at = update_notified_at - :past,
                    acknowledged_until = acknowledged_until - :past
            """),
            {"past": timedelta(hours=hours)},
        )


def test_every_flow_that_records_runs_is_shown_in_full_width(shown: Shown) -> None:
    code, out = shown("status")
    assert code == 0
    listed = [line for line in out.splitlines() if line.startswith("│")]
    assert len(listed) == len([flow for flow in FLOWS.values() if flow.steps])
    assert max(map(len, listed)) > 80
    assert "…" not in "".join(listed)


def test_a_flow_without_target_is_healthy_unless_its_last_run_failed(
    warehouse: Engine, shown: Shown
) -> None:
    runs = {
        "invoice_report": ("report", "complete", {}),
        "employee_onboarding": ("conclude", "complete", {"ending": "applied"}),
        "contact_creation": ("conclude", "failed", {}),
    }
    for flow, (step, state, details) in runs.items():
        add_step(warehouse, flow=flow, step=step, state=state, details=details)
    _, out = shown("status")
    assert out.startswith(f"Health: 2 healthy, 1 need an action, {len(FLOWS) - 5} never ran, ")


def test_a_deadline_and_the_newest_day_of_a_flow_are_shown(
    warehouse: Engine, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_FRESH_BY", '{"contact_sync": "07:30"}')
    add_step(warehouse)
    _, out = shown("status", "--json")
    flow = json.loads(out)["flows"]["contact_sync"]
    assert flow["deadline"] == "07:30"
    assert flow["newest_day"] < datetime.now(PARIS).date().isoformat()
    _, out = shown("status")
    assert " min, by 07:30 │" in out
    assert f"T, has {flow['newest_day']} │" in out


@pytest.mark.parametrize("terminal", [{"COLUMNS": "40"}, {"COLUMNS": "80", "FORCE_COLOR": "1"}])
def test_nothing_is_cut_in_a_file_or_a_terminal_of_80_columns(
    warehouse_uri: str, terminal: dict[str, str]
) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "bms_cli", "status", "--url", warehouse_uri],
        capture_output=True,
        text=True,
        check=True,
        env={**terminal, "PYTHONPATH": ":".join(sys.path)},
    )
    assert "consultant_creation" in done.stdout
    assert "…" not in done.stdout.partition("Never ran")[0]


def test_an_alarm_has_severity_remedy_and_a_local_time(warehouse: Engine, shown: Shown) -> None:
    number = raise_alarm(warehouse)
    code, out = shown("status")
    assert code == 1
    assert f"Alarm {number}, can wait until morning: contact_sync (failed) since" in out
    assert "2026-03-31 12:05 CEST" in out
    assert f"What to do: {ALARMS['failed'].do}" in out


def test_the_remedy_of_a_failed_task_is_that_of_its_error(warehouse: Engine, shown: Shown) -> None:
    raise_alarm(warehouse, "DiskFull")
    code, out = shown("status", "--json")
    [alarm] = json.loads(out)["alarms"]
    assert code == 1
    assert alarm["remedy"] == ERRORS_OF_TASKS["DiskFull"].do
    assert alarm["severity"] == "act now"


def test_the_last_run_and_what_waits_for_whom_are_listed(
    warehouse: Engine, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_APPROVERS", '{"employees": ["marie", "paul"]}')
    add_step(warehouse, SINCE, dag_run_id="manual__1", state="failed")
    add_drop(warehouse)
    add_plan(warehouse, counts={"create": 3}, asked_at=SINCE, asked_because=[])
    _, out = shown("status", "--json")
    report = json.loads(out)
    assert report["flows"]["contact_sync"]["last_run"]["state"] == "failed"
    [item] = report["waits"]
    assert item["waits_for"] == "approvers (marie, paul)"
    _, out = shown("status")
    assert "failed, 2026-03-31 12:05 CEST" in out
    assert "Waits for approvers (marie, paul) since 2026-03-31 12:05 CEST: Drop 1 waits" in out


def test_an_acknowledged_alarm_shows_who_and_why_and_sends_nothing_until_then(
    warehouse: Engine, shown: Shown
) -> None:
    acknowledge(shown, raise_alarm(warehouse))
    _, out = shown("status")
    assert "Acknowledged by Ada until" in out
    assert ": known outage" in out
    assert sent(warehouse) == []
    later(warehouse, 9)
    assert [each.splitlines()[0] for each in sent(warehouse)] == ["Alarm: contact_sync (failed)"]


def test_an_alarm_that_outlasts_its_acknowledgement_is_sent_once_more(
    warehouse: Engine, shown: Shown
) -> None:
    number = raise_alarm(warehouse)
    assert len(sent(warehouse)) == 1
    acknowledge(shown, number)
    raise_alarm(warehouse, "DiskFull")  # a new aspect
    assert sent(warehouse) == []
    later(warehouse, 9)
    [message] = sent(warehouse)
    assert message.startswith("Alarm update: contact_sync (failed)")
    assert "Acknowledged until" in message
    assert "Ada" not in message
    assert "known" not in message
    assert sent(warehouse) == []


def test_the_end_of_an_acknowledged_alarm_is_sent_afterwards(
    warehouse: Engine, shown: Shown
) -> None:
    number = raise_alarm(warehouse)
    sent(warehouse)
    acknowledge(shown, number)
    with warehouse.begin() as connection:
        alarms.recover(connection, "contact_sync")
    assert sent(warehouse) == []
    later(warehouse, 9)
    assert [each.splitlines()[0] for each in sent(warehouse)] == [
        "Recovered: contact_sync (failed)"
    ]


def test_an_unknown_alarm_is_not_acknowledged(shown: Shown) -> None:
    code, out = shown("alarm", "ack", "7", "--until", "8h", "--note", "known", "--name", "Ada")
    assert code == 3
    assert "bms status" in out


@pytest.mark.parametrize(
    ("given", "end"),
    [
        ("90m", datetime(2026, 11, 26, 18, 30, tzinfo=UTC)),
        ("2d", datetime(2026, 11, 28, 17, 0, tzinfo=UTC)),
        ("tomorrow", datetime(2026, 11, 27, 7, 0, tzinfo=UTC)),
        ("19:30", datetime(2026, 11, 26, 18, 30, tzinfo=UTC)),
        ("9:30", datetime(2026, 11, 27, 8, 30, tzinfo=UTC)),
        ("2026-11-30T08:00", datetime(2026, 11, 30, 7, 0, tzinfo=UTC)),
        ("2026-11-30", datetime(2026, 11, 29, 23, 0, tzinfo=UTC)),
    ],
)
def test_the_end_of_an_acknowledgement_is_in_the_company_s_zone(given: str, end: datetime) -> None:
    assert end_of(given, datetime(2026, 11, 26, 17, 0, tzinfo=UTC), PARIS) == end


@pytest.mark.parametrize("given", ["soon", "25:00", "0h", "32d", "2026-11-01", "9999999d"])
def test_an_end_that_is_none_is_refused(given: str, shown: Shown) -> None:
    with pytest.raises(ValueError, match=r"is no|is not within|must be in"):
        end_of(given, datetime(2026, 11, 26, 17, 0, tzinfo=UTC), PARIS)
    code, _ = shown("alarm", "ack", "1", "--until", given, "--note", "x", "--name", "Ada")
    assert code == 2


def test_a_locked_table_ends_a_command_with_the_cause(
    shown: Shown, warehouse: Engine, warehouse_uri: str
) -> None:
    """VACUUM FULL would suspend the command for hours without a word."""
    engine = connect(warehouse_uri)
    assert scalar(engine, "show lock_timeout") == "2min"
    engine.dispose()
    with warehouse.begin() as connection:
        connection.execute(text("lock table bms.step_run"))
        code, told = shown("status", "--url", f"{warehouse_uri}&options=-c%20lock_timeout%3D50ms")
    assert code == 1
    assert "another session has locked a table" in told
