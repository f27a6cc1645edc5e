"""Loads out of steps: what belongs together, which try counts, how a load ended."""

from typing import Any

import pytest
from sqlalchemy import Engine, text

from bms_warehouse.queries import loads, trends

FLOW = "invoice_extraction"


def step(engine: Engine, run: str, entity: int, state: str = "complete", **given: Any) -> int:
    """Enter a step of four days that read ten rows."""
    with engine.begin() as connection:
        return int(
            connection.scalar(
                text("""insert into bms.step_run (flow, dag_run_id, step, id_entity, window_start, window_end,
                    state, rows_read, inserted, requests, latency_p95_ms, started_at, finished_at)
                    values (:flow, :run, :step, :entity, date '2026-03-01' + :shift,
                    date '2026-03-04' + :shift, :state, 10, 10, :requests, :p95, now(), now()) returning id"""),
                {
                    "flow": FLOW,
                    "step": "extract",
                    "run": run,
                    "entity": entity,
                    "state": state,
                    "p95": 20.0,
                    "requests": 0,
                    "shift": 0,
                    **given,
                },
            )
        )


def latest(engine: Engine, limit: int = 5) -> list[Any]:
    with engine.connect() as connection:
        return loads.latest(connection, {FLOW: "extract"}, limit)[FLOW]


def test_a_load_is_all_entities_of_a_run_the_youngest_run_first(warehouse: Engine) -> None:
    step(warehouse, "one", 1)
    step(warehouse, "two", 1, p95=20.0)
    step(warehouse, "two", 2, p95=35.0)
    step(warehouse, "two", 3, step="plan")
    two, one = latest(warehouse)
    assert (two["dag_run_id"], two["entities"], two["rows_read"]) == ("two", 2, 20)
    assert two["latency_p95_ms"] == 35
    assert one["dag_run_id"] == "one"
    assert [load["dag_run_id"] for load in latest(warehouse, 1)] == ["two"]


def test_what_a_load_asked_is_what_all_steps_of_its_run_asked(warehouse: Engine) -> None:
    """A drop is planned and created in steps before the one that concludes it."""
    step(warehouse, "one", 1, requests=5)
    step(warehouse, "one", 0, "running", step="plan", requests=7, p95=90.0)
    step(warehouse, "waits for an answer", 0, step="plan", requests=3)
    (load,) = latest(warehouse)
    assert (load["requests"], load["latency_p95_ms"]) == (12, 90)
    assert (load["rows_read"], load["entities"], load["state"]) == (10, 1, "complete")


def test_a_load_is_whole_however_many_steps_it_has(warehouse: Engine) -> None:
    """Also the oldest one that is found, and the only one."""
    for run in ("one", "two"):
        for entity in range(12):
            step(warehouse, run, entity, "complete" if entity else "failed")
    for many in (1, 2):
        found = [(load["rows_read"], load["state"]) for load in latest(warehouse, many)]
        assert found == [(120, "failed")] * many


def test_steps_are_the_youngest_and_the_one_asked_for(warehouse: Engine) -> None:
    first, second, third = (step(warehouse, "one", 1) for _ in range(3))
    step(warehouse, "two", 1)
    with warehouse.connect() as connection:
        for among, numbers in (
            (None, [second, third]),
            (first, [first, third]),
            (99, [second, third]),
        ):
            found = loads.steps(connection, FLOW, "one", limit=2, among=among)
            assert [(each["id"], each["many"]) for each in found] == [(n, 3) for n in numbers]


def test_the_latest_try_of_a_step_counts(warehouse: Engine) -> None:
    step(warehouse, "one", 1, "failed")
    step(warehouse, "one", 1)
    (load,) = latest(warehouse)
    assert (load["state"], load["rows_read"]) == ("complete", 10)


@pytest.mark.parametrize(
    ("states", "worst"),
    [
        (("complete", "suspect"), "suspect"),
        (("suspect", "failed"), "failed"),
        (("unstable", "partial"), "unstable"),
        (("failed", "running"), "running"),
    ],
)
def test_a_load_ended_as_its_worst_step(
    warehouse: Engine, states: tuple[str, str], worst: str
) -> None:
    for entity, state in enumerate(states):
        step(warehouse, "one", entity, state)
    assert [load["state"] for load in latest(warehouse)] == [worst]


def test_totals_are_compared_with_the_last_load_of_equal_length(warehouse: Engine) -> None:
    """A month read by hand in between is nothing to compare a day with."""
    before = step(warehouse, "one", 1)
    by_hand = step(warehouse, "two", 1, step="extract", shift=0)
    last = step(warehouse, "three", 1, shift=1)
    with warehouse.begin() as connection:
        connection.execute(
            text("update bms.step_run set window_end = window_end + 30 where id = :id"),
            {"id": by_hand},
        )
        for number, currency, invoices in (
            (before, "EUR", 7),
            (before, "CHF", 1),
            (by_hand, "EUR", 99),
            (last, "EUR", 9),
        ):
            connection.execute(
                text("insert into bms.control_total values (:id, 1, :c, :n, :n, 0, :n, 0)"),
                {"id": number, "c": currency, "n": invoices},
            )
        rows = trends.totals_beside(connection, FLOW, "extract")
    assert [(r["currency"], r["invoices"], r["invoices_before"]) for r in rows] == [
        ("CHF", 0, 1),
        ("EUR", 9, 7),
    ]
