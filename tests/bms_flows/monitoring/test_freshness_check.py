"""Freshness check: alarms of missed targets, recoveries and gauges."""

from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection, Engine, event, text

from bms_flows.catalog import LOADED_BY
from bms_flows.monitoring import alarms, failed_tasks
from bms_flows.monitoring.failed_tasks import FailedTask
from bms_flows.monitoring.freshness_check import check_targets
from bms_flows.monitoring.gauges import gauges
from bms_flows.runtime.notice import Links
from bms_flows.runtime.settings import FlowSettings
from tests.support.steps import add_step

LINKS = Links("http://localhost:8080", "docs/runbook.md", ZoneInfo("UTC"))
NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def clock() -> None:
    """Set the clock at the start of each test: a suite may take longer than a limit."""
    global NOW  # noqa: PLW0603 - read by every function here
    NOW = datetime.now(UTC)


@pytest.fixture
def connection(warehouse: Engine) -> Any:
    with warehouse.begin() as opened:
        yield opened


def step(connection: Connection, hours: float, state: str = "complete", **given: Any) -> None:
    """Insert a step that ended `hours` ago."""
    given = {"dag_run_id": f"scheduled__{hours}", "state": state, **given}
    add_step(connection, NOW - hours * HOUR, **given)


def look(connection: Connection, settings: FlowSettings | None = None) -> list[alarms.Alarm]:
    """Run the check once and return the open alarms."""
    check_targets(connection, settings or FlowSettings(), LINKS, NOW)
    return alarms.open_alarms(connection)


def test_a_missed_target_raises_one_alarm_that_starts_at_the_limit(connection: Connection) -> None:
    step(connection, 3)
    look(connection)
    (found,) = look(connection)
    assert (found.subject, found.code, found.flow) == ("contact_sync", "late", "contact_sync")
    assert found.since == NOW - 1.5 * HOUR
    assert "3 h 0 min ago; limit 1 h 30 min." in found.detail
    assert found.dag_run_id == "scheduled__3"


@pytest.mark.parametrize("state", ["complete", "partial", "suspect", "unstable", "failed"])
def test_only_a_complete_load_ends_the_alarm(connection: Connection, state: str) -> None:
    step(connection, 3)
    look(connection)
    step(connection, 0.1, state)
    assert [found.code for found in look(connection)] == [state] * (state != "complete")


def test_an_alarm_that_a_failure_raises_during_its_closing_is_not_lost(warehouse: Engine) -> None:
    with warehouse.begin() as connection:
        alarms.raise_(connection, "failed", "contact_sync", detail="first", flow="contact_sync")
        step(connection, -0.1)

    def fail() -> None:
        with warehouse.begin() as other:
            alarms.raise_(other, "failed", "contact_sync", detail="second", flow="contact_sync")

    with ThreadPoolExecutor() as pool, warehouse.begin() as connection:

        def fail_meanwhile(
            _connection: object, _cursor: object, statement: str, *_: object
        ) -> None:
            if statement.startswith("UPDATE bms.alarm"):
                wait([pool.submit(fail)], timeout=0.2)

        event.listen(connection, "before_cursor_execute", fail_meanwhile)
        check_targets(connection, FlowSettings(), LINKS, NOW)
    with warehouse.connect() as connection:
        assert [each.detail for each in alarms.open_alarms(connection)] == ["second"]


@pytest.mark.parametrize("ahead", [-2, 0, 2])
def test_a_load_before_a_failure_does_not_end_its_alarm(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    """The clock of the worker that failed may be hours wrong."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + ahead * HOUR

    monkeypatch.setattr(alarms, "datetime", Clock)
    step(connection, 1)
    alarms.raise_(connection, "failed", "contact_sync", detail="…", flow="contact_sync")
    assert [alarm.code for alarm in look(connection)] == ["failed"]
    step(connection, -0.1)  # a load that ends after the alarm
    assert look(connection) == []


def test_the_alarm_of_a_running_first_load_stays_open(connection: Connection) -> None:
    """A first load may exceed the deadline of its DAG run but not the limit."""
    alarms.raise_(connection, "overdue", "contact_sync", detail="…", flow="contact_sync")
    step(connection, 0.9, "running", finished_at=None)
    assert [alarm.code for alarm in look(connection)] == ["overdue"]


def test_a_late_entity_is_listed_and_keeps_the_alarm_open(connection: Connection) -> None:
    for entity in (1, 2):
        step(connection, 30, flow="employee_directory", id_entity=entity, dag_run_id="scheduled__1")
    step(connection, 1, flow="employee_directory", id_entity=1, dag_run_id="scheduled__2")
    step(connection, 1, "failed", flow="employee_directory", id_entity=2, dag_run_id="scheduled__2")
    found = {alarm.subject: alarm for alarm in look(connection)}
    assert found["employee_directory"].detail.endswith("Entities: 2.")
    step(connection, -0.1, flow="employee_directory", id_entity=2, dag_run_id="manual__1")
    assert "employee_directory" not in {alarm.subject for alarm in look(connection)}


def test_a_second_late_entity_updates_the_open_alarm(warehouse: Engine) -> None:
    told: list[str] = []

    def watched(at: datetime) -> None:
        with warehouse.begin() as connection:
            check_targets(connection, FlowSettings(), LINKS, at)
        alarms.deliver(
            warehouse,
            lambda notice: told.append(notice.text) if flow in notice.text else None,
            LINKS,
        )

    flow = "employee_directory"
    with warehouse.begin() as connection:
        for entity in (1, 2):
            step(connection, 30, flow=flow, id_entity=entity, dag_run_id="scheduled__1")
        step(connection, 1, flow=flow, id_entity=1, dag_run_id="scheduled__2")
    watched(NOW)
    watched(NOW + HOUR)
    watched(NOW + 30 * HOUR)
    assert [text.splitlines()[0] for text in told] == [
        f"Alarm: {flow} (late)",
        f"Alarm update: {flow} (late)",
    ]
    assert "Entities: 2." in told[0]
    assert "Entities: 1, 2." in told[1]


def night() -> dict[str, Any]:
    """The step of a scheduled run: its days are those of the look-back."""
    days = {"window_start": NOW.date() - 35 * HOUR * 24, "window_end": NOW.date()}
    return {"flow": "invoice_extraction", "step": "extract", "id_entity": 1, **days}


FINDING = text("""insert into bms.client_invoice_finding (id_entity, day, codes, held, attempted_at, found_at,
    step_run_id) values (:id_entity, :day, array[:code], true, now(), now(), 1)""")


def test_a_complete_night_leaves_the_alarm_of_a_held_backfill_open(connection: Connection) -> None:
    flow = "invoice_extraction"
    alarms.raise_(connection, "suspect", flow, detail="…", flow=flow)
    connection.execute(FINDING, {"id_entity": 1, "day": "2025-03-03", "code": "drop"})
    step(connection, -0.1, dag_run_id="scheduled__9", **night())
    [alarm] = look(connection)
    assert alarm.subject == flow
    assert "the last complete load ended" in alarm.detail
    connection.execute(text("update bms.client_invoice_finding set held = false"))
    assert look(connection) == []


def test_a_second_hold_with_another_cause_is_notified(warehouse: Engine) -> None:
    flow, sent = "invoice_extraction", list[str]()

    def hold(number: int, *held: tuple[int, str, str]) -> None:
        with warehouse.begin() as connection:
            for id_entity, day, code in held:
                connection.execute(FINDING, {"id_entity": id_entity, "day": day, "code": code})
            run = f"scheduled__{number}"
            step(connection, 0.5, "suspect", dag_run_id=run, **night())
            for task in ("extract [0]", "extract [1]"):
                failed_tasks.raise_alarm(connection, FailedTask(flow, run, task, 1, "LoadHeld"))
            check_targets(connection, FlowSettings(), LINKS, NOW)
        alarms.deliver(warehouse, lambda notice: sent.append(notice.text), LINKS)

    hold(1, *((1, f"2026-03-0{day}", "fewer_than_usual") for day in (1, 2)))
    hold(2, (1, "2026-03-03", "fewer_than_usual"))  # the same cause, not twice as many days
    hold(3, (1, "2026-03-04", "drop"))
    hold(4, (2, "2026-03-04", "drop"))
    hold(5, *((2, f"2026-03-{day}", "drop") for day in range(10, 22)))
    assert [each.splitlines()[0].split(":")[0] for each in sent] == ["Alarm", *3 * ["Alarm update"]]
    assert "Held: 2 days of entity 1 (fewer_than_usual)." in sent[0]
    assert "Held: 1 day of entity 1 (drop), 3 days of entity 1 (fewer_than_usual)." in sent[1]
    assert "13 days of entity 2 (drop)" in sent[3]


def failed_backfill(connection: Connection) -> dict[str, Any]:
    """Record a failed step of a backfill with its alarm; return the step's identity."""
    flow, run = "invoice_extraction", "backfill__2020-01-01"
    days: dict[str, Any] = {"window_start": date(2020, 1, 1), "window_end": date(2020, 12, 31)}
    identity = {"flow": flow, "step": "extract", "id_entity": 1}
    step(connection, 0.2, "failed", dag_run_id=run, **identity, **days)
    failed = FailedTask(flow, run, "extract [0]", 4, "ServiceUnavailable")
    failed_tasks.raise_alarm(connection, failed)
    return {"dag_run_id": run, **identity, **days}


def test_a_complete_night_leaves_the_alarm_of_a_failed_backfill_open(
    connection: Connection,
) -> None:
    backfill = failed_backfill(connection)
    step(connection, -0.1, dag_run_id="scheduled__9", **night())
    [alarm] = look(connection)
    assert (alarm.code, alarms.section_of(alarm)[0]) == ("failed", "ServiceUnavailable")
    step(connection, -0.2, **backfill)  # the cleared task
    assert look(connection) == []


def test_a_load_of_another_entity_leaves_the_alarm_of_a_killed_task_open(
    connection: Connection,
) -> None:
    """The task was killed before its step began."""
    flow = "employee_directory"
    for entity in (1, 2):
        step(connection, 1, flow=flow, id_entity=entity, dag_run_id="scheduled__1")
    alarms.raise_(connection, "failed", flow, detail="…", flow=flow, dag_run_id="scheduled__2")
    step(connection, -0.1, flow=flow, id_entity=1, dag_run_id="scheduled__3")
    assert [alarm.code for alarm in look(connection)] == ["failed"]
    step(connection, -0.1, flow=flow, id_entity=2, dag_run_id="scheduled__2")  # the cleared task
    assert look(connection) == []


@pytest.mark.parametrize("other", ["held", "failed"])
def test_another_cause_does_not_replace_that_of_an_open_alarm(
    connection: Connection, other: str
) -> None:
    """A backfill has failed; then a night is held, or fails, and is repaired."""
    backfill = failed_backfill(connection)
    run = "scheduled__9"
    state, error = ("suspect", "LoadHeld") if other == "held" else ("failed", "Timeout")
    step(connection, -0.05, state, dag_run_id=run, **night())
    failed = FailedTask("invoice_extraction", run, "extract [0]", 4, error)
    failed_tasks.raise_alarm(connection, failed)
    look(connection)
    step(connection, -0.1, dag_run_id=run, **night())
    [alarm] = look(connection)
    assert (alarm.since, alarm.dag_run_id) == (NOW - 0.2 * HOUR, run)
    step(connection, -0.2, **backfill)
    assert look(connection) == []


@pytest.mark.parametrize("killed", ["before its step", "in its step"])
@pytest.mark.parametrize(
    ("flow", "name", "run"),
    [
        ("employee_directory", "sync", "scheduled__2"),
        ("invoice_extraction", "extract", "scheduled__2"),
        ("invoice_extraction", "extract", "manual__2"),
    ],
)
def test_other_loads_of_its_run_leave_the_alarm_of_a_killed_task_open(
    connection: Connection, flow: str, name: str, run: str, killed: str
) -> None:
    """One entity takes too much memory; another entity of the same run completes later."""
    first, last = NOW.date() - 35 * HOUR * 24, NOW.date()
    days: dict[str, Any] = {"window_start": first, "window_end": last} if name == "extract" else {}

    def load(hours: float, id_entity: int, of: str = run, **given: Any) -> None:
        given |= {"flow": flow, "step": name, "id_entity": id_entity, "dag_run_id": of, **days}
        step(connection, hours, **given)

    load(1, 1, "scheduled__1")
    load(1, 2, "scheduled__1")
    if name == "extract":
        units = [{"id_entity": n, "windows": [f"{first}/{last}"], "accepts": None} for n in (1, 2)]
        step(connection, 0.3, flow=flow, dag_run_id=run, step="plan", details={"units": units})
    if killed == "in its step":
        load(0.2, 2, state="running", finished_at=None)
    alarms.raise_(connection, "failed", flow, detail="…", flow=flow, dag_run_id=run)
    load(-0.1, 1)
    assert [alarm.code for alarm in look(connection)] == ["failed"]
    load(-0.2, 2)  # the cleared task
    assert look(connection) == []


def test_a_target_that_is_switched_off_ends_its_alarm(connection: Connection) -> None:
    step(connection, 3)
    look(connection)
    assert look(connection, FlowSettings(fresh_hours={"contact_sync": "off"})) == []


def test_a_flow_without_a_target_recovers_when_a_later_run_completes(
    connection: Connection,
) -> None:
    flow = "employee_onboarding"
    alarms.raise_(connection, "failed", flow, detail="…", flow=flow)
    step(connection, 1, flow=flow, step="conclude")
    assert [alarm.subject for alarm in look(connection)] == [flow]
    step(connection, -0.1, flow=flow, step="plan")
    assert [alarm.subject for alarm in look(connection)] == [flow]
    step(connection, -0.1, flow=flow, step="conclude")
    assert look(connection) == []


def test_the_freshness_check_leaves_alarms_of_audits_open(connection: Connection) -> None:
    alarms.raise_(connection, "not_reconciled", "entity 1", detail="…", flow="reconciliation")
    step(connection, -0.1, flow="reconciliation")
    assert [alarm.subject for alarm in look(connection)] == ["entity 1"]


def test_every_check_emits_every_gauge_including_zeros(connection: Connection) -> None:
    step(connection, 1)
    found = check_targets(connection, FlowSettings(), LINKS, NOW)
    sent = {(g.name, *g.tags.values()): g.value for g in gauges(connection, found)}
    created = product(("bms.unknown", "bms.review"), ("contact", "consultant", "employee"))
    zeros = [("bms.wrong", "contact_sync"), ("bms.alarms",), *created]
    zeros += [("bms.quarantine", name) for name in LOADED_BY]
    assert sent == {("bms.freshness", "contact_sync"): 3600, **dict.fromkeys(zeros, 0)}
