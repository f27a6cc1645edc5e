"""Equal tables however days are split over runs."""

from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta

import pytest
from sqlalchemy import Engine

from bms_flows.runtime.windows import Window
from proofs.kill_invoices import contents
from tests.bms_flows.conftest import Extract
from tests.bms_flows.invoices.listed import empty_invoices

LAST = date(2026, 3, 20)
COUNTS = ("rows_read", "inserted", "changed", "unchanged", "quarantined", "missing")
Extracted = Callable[[Window], Counter[str]]


@pytest.fixture
def extracted(extract: Extract) -> Extracted:
    """Extract days in a run; returns the counts."""

    def run(window: Window) -> Counter[str]:
        manifest = extract(f"{window.start}", f"{window.end}")
        return Counter({name: manifest[name] for name in COUNTS})

    return run


def days_until_last(count: int) -> Window:
    return Window(LAST - timedelta(days=count - 1), LAST)


@pytest.mark.parametrize("count", [10, pytest.param(365, marks=pytest.mark.prove)])
def test_a_range_in_one_run_equals_daily_runs(
    warehouse: Engine, extracted: Extracted, count: int
) -> None:
    days = days_until_last(count)
    daily = sum((extracted(day) for day in days.cut(1)), Counter())
    by_days = contents(warehouse)
    again = extracted(days)
    assert daily["rows_read"] == daily["inserted"] == by_days["rows"] == by_days["versions"]
    assert +again == {"rows_read": by_days["rows"], "unchanged": by_days["rows"]}
    assert contents(warehouse) == by_days


def test_the_order_of_runs_does_not_matter(warehouse: Engine, extracted: Extracted) -> None:
    """As Airflow's backfill may run them: backwards."""
    for days in reversed(days_until_last(20).cut(3)):
        extracted(days)
    backwards = contents(warehouse)
    empty_invoices(warehouse)
    extracted(days_until_last(20))
    assert contents(warehouse) == backwards
