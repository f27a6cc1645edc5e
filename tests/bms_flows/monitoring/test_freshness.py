"""Freshness of flows: evaluation of histories, and their reading from `bms.step_run`."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, insert, text

from bms_flows.catalog import FLOWS
from bms_flows.monitoring.freshness import Freshness, LoadHistory, evaluate, read_freshness
from bms_flows.runtime.settings import FlowSettings
from bms_warehouse.tables import step_run
from tests.support.steps import add_step

NOW = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
SETTINGS = FlowSettings()


def ago(hours: float) -> datetime:
    return NOW - hours * HOUR


def course(complete: float | None, latest: Any = "complete") -> LoadHistory:
    """Return a history: first load 100 hours ago, last complete load `complete` hours ago."""
    at = None if complete is None else ago(complete)
    return LoadHistory("contact_sync", None, ago(100), at, latest, "scheduled__1")


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (course(1), "fresh"),
        (course(2), "fresh"),
        (course(2.01), "late"),
        (course(None, None), "late"),
        (course(None, "failed"), "failed"),
        (course(1, "failed"), "failed"),
        (course(1, "suspect"), "suspect"),
        (course(1, "unstable"), "unstable"),
        (course(1, "partial"), "partial"),
        (course(50, "unstable"), "unstable"),
    ],
)
def test_the_last_load_and_the_limit_determine_the_state(found: LoadHistory, state: str) -> None:
    assert evaluate(found, 2 * HOUR, NOW).state == state


def test_a_running_first_load_is_not_late_within_the_limit() -> None:
    young = LoadHistory("contact_sync", None, ago(1), None, None, "scheduled__1")
    assert evaluate(young, 2 * HOUR, NOW).state == "fresh"


def test_nothing_is_late_without_a_limit() -> None:
    standing = evaluate(course(1000), None, NOW)
    assert (standing.state, standing.due_at) == ("fresh", None)


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (course(1), False),
        (course(2.01), True),
        (course(1, "failed"), False),  # Airflow may retry; the last attempt raises the alarm
        (course(1, "unstable"), False),  # the next run reads again
        (course(1, "suspect"), True),
        (course(3, "unstable"), True),
        (course(3, "failed"), True),
    ],
)
def test_late_and_held_loads_raise_alarms(found: LoadHistory, wrong: bool) -> None:
    freshness = Freshness(FLOWS["contact_sync"], 2 * HOUR, [evaluate(found, 2 * HOUR, NOW)], NOW)
    assert bool(freshness.alarming) is wrong


class StepRuns:
    """Inserts steps into `bms.step_run`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def step(self, flow: str, hours: float, state: str = "complete", **given: Any) -> None:
        """Insert a step that started `hours` ago and took a minute."""
        ended = None if state == "running" else ago(hours) + timedelta(minutes=1)
        given = {"dag_run_id": f"scheduled__{hours}", "finished_at": ended, **given}
        add_step(self.connection, ago(hours), flow=flow, state=state, **given)

    def load(
        self, hours: float, state: str = "complete", *, id_entity: int = 1, **given: Any
    ) -> None:
        """Insert a load of invoices up to the last whole day before it."""
        last = ago(hours).date() - timedelta(1)
        days = {"window_start": min(date(2026, 3, 1), last), "window_end": last}
        step = {"step": "extract", "id_entity": id_entity}
        self.step("invoice_extraction", hours, state, **(days | step | given))

    def rows_read(self) -> int:
        """Return the number of rows of `bms.step_run` that this transaction has read."""
        seen = """select seq_tup_read + coalesce(idx_tup_fetch, 0)
            from pg_stat_xact_user_tables where schemaname = 'bms' and relname = 'step_run'"""
        return int(self.connection.execute(text(seen)).scalar_one())

    def invoices(self) -> Freshness:
        return read_freshness(self.connection, SETTINGS, NOW)["invoice_extraction"]

    def contacts(self) -> Freshness:
        return read_freshness(self.connection, SETTINGS, NOW)["contact_sync"]


@pytest.fixture
def steps(warehouse: Engine) -> Any:
    with warehouse.begin() as connection:
        yield StepRuns(connection)


def test_a_flow_that_has_never_run_has_no_state(steps: StepRuns) -> None:
    assert steps.contacts().state is None
    assert not steps.contacts().alarming


@pytest.mark.parametrize("state", ["partial", "suspect", "unstable", "failed", "running"])
def test_only_complete_loads_count(steps: StepRuns, state: str) -> None:
    steps.step("contact_sync", 3)
    steps.step("contact_sync", 0.5, state)
    found = steps.contacts()
    assert found.complete_at == ago(3) + timedelta(minutes=1)
    assert found.alarming
    assert found.state == ("late" if state == "running" else state)


@pytest.mark.parametrize(
    ("flow", "latest", "state"),
    [
        ("contact_sync", {"dag_run_id": "scheduled__3"}, "fresh"),
        ("contact_sync", {"details": {"whole": False}}, "late"),
        ("invoice_extraction", {"step": "plan", "window_end": date(2026, 3, 30)}, "late"),
    ],
    ids=["later attempt", "restricted load", "planning step"],
)
def test_a_later_attempt_counts_and_a_restricted_load_or_a_plan_does_not(
    steps: StepRuns, flow: str, latest: dict[str, Any], state: str
) -> None:
    steps.step("contact_sync", 3, "failed" if state == "fresh" else "complete")
    steps.load(30)
    steps.step(flow, 0.5, **latest)
    assert read_freshness(steps.connection, SETTINGS, NOW)[flow].state == state


def test_a_load_of_older_days_does_not_count(steps: StepRuns) -> None:
    steps.load(30)
    steps.load(1, window_end=date(2026, 3, 29), dag_run_id="manual__1")
    assert steps.invoices().state == "late"
    today = date(2026, 3, 31)
    steps.load(0.8, window_start=today, window_end=today, dag_run_id="manual__today")
    assert steps.invoices().state == "late"
    steps.load(0.5, window_end=date(2026, 3, 30), dag_run_id="manual__2")
    assert steps.invoices().state == "fresh"


def test_a_backfill_neither_completes_nor_fails_a_load(steps: StepRuns) -> None:
    """Airflow shows the state of a backfill on the page of the backfill."""
    steps.load(30)
    for state in ("complete", "failed", "suspect"):
        steps.load(1, state, dag_run_id=f"backfill__{state}")
    assert steps.invoices().state == "late"
    assert steps.invoices().complete_at == ago(30) + timedelta(minutes=1)


def test_the_company_s_time_zone_determines_the_last_whole_day(steps: StepRuns) -> None:
    """At 22:30 UTC it is already the 31st in Paris: the 29th is not the last whole day."""
    began = datetime(2026, 3, 30, 22, 30, tzinfo=UTC)
    steps.load(1, started_at=began, window_end=date(2026, 3, 29))
    assert steps.invoices().state is None
    steps.load(1, started_at=began, window_end=date(2026, 3, 30), dag_run_id="scheduled__2")
    assert steps.invoices().state == "fresh"


def test_a_load_is_complete_if_all_of_its_steps_are(steps: StepRuns) -> None:
    steps.load(30)
    older: dict[str, Any] = {"window_start": date(2025, 3, 1), "window_end": date(2025, 3, 31)}
    steps.load(1, dag_run_id="scheduled__x")
    steps.load(1, "suspect", dag_run_id="scheduled__x", **older)
    assert steps.invoices().state == "suspect"


def test_the_worst_entity_determines_the_state_of_a_flow(steps: StepRuns) -> None:
    for entity, state in ((1, "complete"), (2, "failed")):
        steps.load(30, id_entity=entity, dag_run_id="scheduled__1")
        steps.load(1, state, id_entity=entity, dag_run_id="scheduled__2")
    found = steps.invoices()
    assert found.state == "failed"
    assert [each.id_entity for each in found.alarming] == [2]
    assert found.complete_at == ago(30) + timedelta(minutes=1)


@pytest.mark.parametrize(("hours", "state"), [(1, None), (24 * 9, "late")])
def test_a_flow_that_never_ran_is_late_after_its_limit(
    steps: StepRuns, hours: int, state: str | None
) -> None:
    steps.load(hours, id_entity=1)
    found = steps.contacts()
    assert found.state == state
    assert bool(found.alarming) is (state is not None)
    assert found.complete_at is None


REMOVED = [(24 * 40, 9, "scheduled__old"), (25, 1, "scheduled__new"), (1, 1, "scheduled__newer")]


@pytest.mark.parametrize(
    ("loads", "states"),
    [
        (
            [(24 * 5, 2, "scheduled__old"), *((24 * day + 1, 1, f"scheduled__{day}") for day in range(5))],
            {1: "fresh", 2: "late"},
        ),
        ([(50, 8, "manual__1"), *REMOVED], {1: "fresh"}),
        (
            [*((25, entity, "scheduled__1") for entity in (1, 2)), (1, 1, "scheduled__2")],
            {1: "fresh", 2: "fresh"},
        ),
        ([(1, 8, "manual__1")], {8: "fresh"}),
        (
            [
                *((24 * 60, entity, "scheduled__1") for entity in (1, 2)),
                *((24 * day + 1, 1, f"manual__{day}") for day in range(45)),
            ],
            {1: "fresh", 2: "late"},
        ),
    ],
    ids=["gone from the connection", "by hand and removed long ago", "not reached yet",
         "without a schedule", "despite manual runs"],
)  # fmt: skip
def test_the_last_scheduled_runs_determine_the_expected_entities(
    steps: StepRuns, loads: list[tuple[float, int, str]], states: dict[int, str]
) -> None:
    for hours, entity, run in loads:
        steps.load(hours, id_entity=entity, dag_run_id=run)
    assert {each.id_entity: each.state for each in steps.invoices().entities} == states


def test_an_old_complete_load_counts_if_there_is_no_recent_one(steps: StepRuns) -> None:
    steps.step("contact_sync", 24 * 90)
    steps.step("contact_sync", 1, "failed")
    found = steps.contacts()
    assert (found.state, found.complete_at) == ("failed", ago(24 * 90) + timedelta(minutes=1))


def test_a_long_history_is_not_read(steps: StepRuns) -> None:
    """Two years of hourly contacts and of daily invoices of five entities; the board reads them."""
    rows = [
        {
            "flow": flow,
            "dag_run_id": f"scheduled__{n}",
            "step": step,
            "id_entity": entity,
            "state": "complete",
            "started_at": ago(n * every),
            "finished_at": ago(n * every),
            "window_end": ago(n * every).date() - timedelta(1),
        }
        for flow, step, entities, every, runs in (
            ("contact_sync", "sync", [None], 1, 2 * 8760),
            ("invoice_extraction", "extract", range(1, 6), 24, 2 * 365),
        )
        for n in reversed(range(runs))
        for entity in entities
    ]
    steps.connection.execute(insert(step_run), rows)
    steps.connection.execute(text("analyze bms.step_run"))
    before = steps.rows_read()
    found = read_freshness(steps.connection, SETTINGS, NOW)
    assert found["contact_sync"].state == found["invoice_extraction"].state == "fresh"
    month = 30 * 24 + 30 * 5
    assert steps.rows_read() - before < 1.5 * month
