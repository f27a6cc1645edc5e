"""Only a complete load refreshes; how fresh a flow is follows from `bms.step_run` alone."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, insert, text

from bms_flows.catalog import FLOWS
from bms_flows.monitoring.freshness import Freshness, LoadHistory, evaluate, read_freshness
from bms_flows.runtime.settings import FlowSettings
from bms_warehouse.tables import step_run

NOW = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
SETTINGS = FlowSettings()


def ago(hours: float) -> datetime:
    return NOW - hours * HOUR


def course(complete: float | None, latest: str | None = "complete") -> LoadHistory:
    """A flow whose first load began 100 hours ago and whose last complete one ended so long ago."""
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
def test_a_flow_stands_as_its_last_load_ended_or_late(found: LoadHistory, state: str) -> None:
    assert evaluate(found, 2 * HOUR, NOW).state == state


def test_a_first_load_still_at_work_is_not_late_before_its_time() -> None:
    young = LoadHistory("contact_sync", None, ago(1), None, None, "scheduled__1")
    assert evaluate(young, 2 * HOUR, NOW).state == "fresh"


def test_nothing_is_late_where_nothing_is_promised() -> None:
    standing = evaluate(course(1000), None, NOW)
    assert (standing.state, standing.due_at) == ("fresh", None)


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (course(1), False),
        (course(2.01), True),
        (course(1, "failed"), False),  # Airflow may try again; its last try tells
        (course(1, "unstable"), False),  # the next run reads again
        (course(1, "suspect"), True),
        (course(3, "unstable"), True),
        (course(3, "failed"), True),
    ],
)
def test_a_person_hears_of_what_is_late_and_of_what_waits_for_a_word(
    found: LoadHistory, wrong: bool
) -> None:
    freshness = Freshness(FLOWS["contact_sync"], 2 * HOUR, [evaluate(found, 2 * HOUR, NOW)], NOW)
    assert bool(freshness.alarming) is wrong


# What is read from bms.step_run


class Ledger:
    """Enters steps into `bms.step_run`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def step(self, flow: str, hours: float, state: str = "complete", **given: Any) -> None:
        """Enter one that began so many hours ago; it took a minute."""
        ended = None if state == "running" else ago(hours) + timedelta(minutes=1)
        values = {
            "flow": flow,
            "dag_run_id": f"scheduled__{hours}",
            "step": "sync",
            "state": state,
            "started_at": ago(hours),
            "finished_at": ended,
        }
        self.connection.execute(insert(step_run).values(values | given))

    def load(
        self, hours: float, state: str = "complete", *, id_entity: int = 1, **given: Any
    ) -> None:
        """Enter one of invoices, of the last whole day before it."""
        days = {"window_start": date(2026, 3, 1), "window_end": ago(hours).date() - timedelta(1)}
        step = {"step": "extract", "id_entity": id_entity}
        self.step("invoice_extraction", hours, state, **(days | step | given))

    def rows_read(self) -> int:
        """Return how many rows of `bms.step_run` this transaction has read, by whichever way."""
        seen = """select seq_tup_read + coalesce(idx_tup_fetch, 0)
            from pg_stat_xact_user_tables where schemaname = 'bms' and relname = 'step_run'"""
        return int(self.connection.execute(text(seen)).scalar_one())

    def invoices(self) -> Freshness:
        return read_freshness(self.connection, SETTINGS, NOW)["invoice_extraction"]

    def contacts(self) -> Freshness:
        return read_freshness(self.connection, SETTINGS, NOW)["contact_sync"]


@pytest.fixture
def ledger(warehouse: Engine) -> Any:
    with warehouse.begin() as connection:
        yield Ledger(connection)


def test_a_flow_that_never_ran_owes_nothing(ledger: Ledger) -> None:
    assert ledger.contacts().state is None
    assert not ledger.contacts().alarming


@pytest.mark.parametrize("state", ["partial", "suspect", "unstable", "failed", "running"])
def test_no_other_end_than_complete_refreshes(ledger: Ledger, state: str) -> None:
    ledger.step("contact_sync", 3)
    ledger.step("contact_sync", 0.5, state)
    found = ledger.contacts()
    assert found.complete_at == ago(3) + timedelta(minutes=1)
    assert found.alarming
    assert found.state == ("late" if state == "running" else state)


def test_a_later_try_counts_in_place_of_the_one_before(ledger: Ledger) -> None:
    ledger.step("contact_sync", 1, "failed", dag_run_id="scheduled__a")
    ledger.step("contact_sync", 0.9, dag_run_id="scheduled__a")
    assert ledger.contacts().state == "fresh"


def test_a_part_of_a_list_refreshes_nothing(ledger: Ledger) -> None:
    ledger.step("contact_sync", 3)
    ledger.step("contact_sync", 0.5, details={"whole": False})
    assert ledger.contacts().state == "late"


def test_old_days_alone_refresh_nothing(ledger: Ledger) -> None:
    ledger.load(30)
    ledger.load(1, window_end=date(2026, 3, 29), dag_run_id="manual__1")
    assert ledger.invoices().state == "late"
    ledger.load(0.5, window_end=date(2026, 3, 30), dag_run_id="manual__2")
    assert ledger.invoices().state == "fresh"


def test_the_day_ends_by_the_company_s_clock(ledger: Ledger) -> None:
    """At 22:30 UTC it is the 31st in Paris already: the 29th is not the last whole day."""
    began = datetime(2026, 3, 30, 22, 30, tzinfo=UTC)
    ledger.load(1, started_at=began, window_end=date(2026, 3, 29))
    assert ledger.invoices().state is None
    ledger.load(1, started_at=began, window_end=date(2026, 3, 30), dag_run_id="scheduled__2")
    assert ledger.invoices().state == "fresh"


def test_a_load_is_complete_when_all_of_its_steps_are(ledger: Ledger) -> None:
    ledger.load(30)
    ledger.load(1, dag_run_id="scheduled__x")
    ledger.load(
        1,
        "suspect",
        dag_run_id="scheduled__x",
        window_start=date(2025, 3, 1),
        window_end=date(2025, 3, 31),
    )
    assert ledger.invoices().state == "suspect"


def test_a_flow_stands_as_its_worst_entity(ledger: Ledger) -> None:
    for entity, state in ((1, "complete"), (2, "failed")):
        ledger.load(30, id_entity=entity, dag_run_id="scheduled__1")
        ledger.load(1, state, id_entity=entity, dag_run_id="scheduled__2")
    found = ledger.invoices()
    assert found.state == "failed"
    assert [each.id_entity for each in found.alarming] == [2]
    assert found.complete_at == ago(30) + timedelta(minutes=1)


def test_an_entity_tried_by_hand_or_taken_off_is_owed_nothing(ledger: Ledger) -> None:
    ledger.load(60, id_entity=9, dag_run_id="scheduled__old")
    ledger.load(50, id_entity=8, dag_run_id="manual__1")
    ledger.load(25, id_entity=1, dag_run_id="scheduled__new")
    ledger.load(1, id_entity=1, dag_run_id="scheduled__newer")
    assert [each.id_entity for each in ledger.invoices().entities] == [1]


def test_an_entity_is_owed_while_the_latest_run_has_not_come_to_it(ledger: Ledger) -> None:
    ledger.load(25, id_entity=1, dag_run_id="scheduled__1")
    ledger.load(25, "suspect", id_entity=2, dag_run_id="scheduled__1")
    ledger.load(1, id_entity=1, dag_run_id="scheduled__2")
    standing = {each.id_entity: each.state for each in ledger.invoices().entities}
    assert standing == {1: "fresh", 2: "suspect"}


def test_by_hand_alone_the_latest_run_says_what_is_owed(ledger: Ledger) -> None:
    ledger.load(1, id_entity=8, dag_run_id="manual__1")
    assert [each.id_entity for each in ledger.invoices().entities] == [8]


def test_planning_is_no_load(ledger: Ledger) -> None:
    ledger.load(30)
    ledger.step("invoice_extraction", 1, step="plan", window_end=date(2026, 3, 30))
    assert ledger.invoices().state == "late"


def test_what_ended_before_the_last_days_counts_where_nothing_since_did(ledger: Ledger) -> None:
    ledger.step("contact_sync", 24 * 90)
    ledger.step("contact_sync", 1, "failed")
    found = ledger.contacts()
    assert (found.state, found.complete_at) == ("failed", ago(24 * 90) + timedelta(minutes=1))


def test_an_entity_is_owed_by_the_last_scheduled_run_however_many_followed_by_hand(
    ledger: Ledger,
) -> None:
    for entity in (1, 2):
        ledger.load(24 * 60, id_entity=entity, dag_run_id="scheduled__1")
    for day in range(45):
        ledger.load(24 * day + 1, id_entity=1, dag_run_id=f"manual__{day}")
    standing = {each.id_entity: each.state for each in ledger.invoices().entities}
    assert standing == {1: "fresh", 2: "late"}


def test_a_long_history_is_not_read(ledger: Ledger) -> None:
    """Two years of hourly contacts, daily invoices of five entities; the board waits for it."""
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
    ledger.connection.execute(insert(step_run), rows)
    ledger.connection.execute(text("analyze bms.step_run"))
    before = ledger.rows_read()
    found = read_freshness(ledger.connection, SETTINGS, NOW)
    assert {each.state for each in found.values()} == {"fresh", None}
    month = 30 * 24 + 30 * 5
    assert ledger.rows_read() - before < 1.5 * month
