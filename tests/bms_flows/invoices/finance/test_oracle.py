"""The invoice report over many simulated days, compared to the cent with figures by other code."""

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import psycopg
import pytest
from sqlalchemy import Engine, event, text

from bms.client import Client
from bms_flows.invoices.finance import figures, moments
from bms_flows.invoices.finance.moments import DayNotKnown
from bms_flows.invoices.finance.run import write_report
from bms_flows.invoices.run import extract_unit
from bms_flows.invoices.units import Unit
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from tests.bms_flows.invoices import listed
from tests.bms_flows.invoices.finance import oracle
from tests.support.sql import execute

FIRST = date(2025, 1, 6)
PARIS = ZoneInfo("Europe/Paris")
DAY = timedelta(days=1)

CLOCK = """
create schema simulated;
create table simulated.clock (at timestamptz);
insert into simulated.clock values (now());
create function simulated.clock_timestamp() returns timestamptz language sql volatile as
    'select at from simulated.clock';
create function simulated.now() returns timestamptz language sql stable as
    'select at from simulated.clock';
"""


@dataclass
class Simulation:
    """A company, a warehouse with a clock of its own, and what the oracle knows at the end of each day."""

    company: oracle.Company
    source: listed.Company
    known: oracle.Known = field(default_factory=oracle.Known)
    at_end_of: dict[date, oracle.Known] = field(default_factory=dict)
    reported: list[tuple[date, oracle.Known]] = field(default_factory=list)

    def set_clock(self, at: datetime) -> None:
        with self.source.warehouse.begin() as connection:
            connection.execute(text("update simulated.clock set at = :at"), {"at": at})

    def live(self, day: date) -> None:
        """Let a day happen, and read at 05:00 of the next day: 40 days, and a tenth of the older days."""
        self.company.live(day)
        self.source.service.rows = [
            {
                **row,
                **{
                    each: str(row[each]) if row[each] is not None else None
                    for each in ("invoice_date", "due_date")
                },
                **{
                    each: float(row[each])
                    for each in ("total_excl_vat", "total_vat", "total_incl_vat", "total_due")
                },
                "canceled_on": row["canceled_on"] and f"{row['canceled_on']}T10:00:00Z",
            }
            for row in self.company.rows.values()
        ]
        windows = [Window(max(FIRST, day - 40 * DAY), day)]
        older = [
            each
            for each in (FIRST + n * DAY for n in range((day - FIRST).days - 40))
            if each.toordinal() % 10 == day.toordinal() % 10
        ]
        windows = [*(Window(each, each) for each in older), *windows]
        at = datetime(day.year, day.month, day.day, 5, tzinfo=PARIS) + DAY
        self.set_clock(at)
        unit = Unit(1, tuple(windows))
        asyncio.run(
            extract_unit(
                Client(self.source.client_settings()),
                self.flow,
                unit,
                Step("invoice_extraction", f"scheduled__{day}", "extract", 1, unit.span.start, day),
                language="FR",
            )
        )
        self.known.read(self.company, sorted(unit.days), at)
        self.at_end_of[day + DAY] = self.known.copy()
        self.set_clock(at + timedelta(hours=3))

    @property
    def flow(self) -> FlowContext:
        return self.source._flow()

    def tables(self, as_of: date | None = None) -> dict[str, pd.DataFrame]:
        with self.source.warehouse.connect() as connection:
            return figures.read(connection, moments.moment(connection, as_of, PARIS, ""))

    def report(self, day: date) -> None:
        """Write a report, as the DAG does."""
        step = Step(moments.FLOW, f"run {day}", moments.STEP)
        write_report(self.flow, step, as_of=None, language="EN")
        self.reported.append((day, self.known.copy()))


def _use_clock(driver: psycopg.Connection, _record: object) -> None:
    driver.execute("set search_path = simulated, pg_catalog")
    driver.commit()


@pytest.fixture
def simulation(company: listed.Company, warehouse: Engine) -> Simulation:
    execute(warehouse, CLOCK)
    warehouse.dispose()
    event.listen(warehouse, "connect", _use_clock)
    company.settings = FlowSettings(lookback_days=40)
    return Simulation(oracle.Company(FIRST, random.Random(31)), company)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as plain dictionaries."""
    return table.astype(object).where(table.notna(), None).to_dict("records")  # type: ignore[return-value]


def compare(tables: dict[str, pd.DataFrame], known: oracle.Known, day: date) -> None:
    """Compare every figure of a report with the oracle."""
    clients = records(tables["ageing"])
    ages = {
        (row["id_client"], row["currency"]): [row[each] for each in figures.AGES] for row in clients
    }
    assert ages == oracle.ageing(known, day)
    for row in clients:
        assert row["total_due"] == sum(ages[row["id_client"], row["currency"]])
        assert row["client_name"] == f"Client {row['id_client'] - 100}"
    items = records(tables["open_items"])
    seen = {row["id_invoice"]: (row["total_due"], row["last_read_at"]) for row in items}
    assert seen == oracle.open_items(known)
    months = records(tables["turnover"])
    turnover = {(row["month"], row["currency"]): row["turnover"] for row in months}
    assert turnover == oracle.turnover(known)
    found = {
        (row["kind"], row["id_invoice"], row["credited"]) for row in records(tables["credits"])
    }
    assert found == oracle.credited(known)
    assert lacking(tables) <= oracle.missing_numbers(known)


def compare_bridge(
    tables: dict[str, pd.DataFrame], since: str, before: oracle.Known, after: oracle.Known
) -> None:
    """Compare the lines of a bridge, and the invoices of each line."""
    expected = oracle.bridge(before, after)
    sums = {key: sum(each.values(), Decimal(0)) for key, each in expected.items()}
    lines = [row for row in records(tables["bridge"]) if row["since"] == since]
    found = {(row["currency"], each): row[each] for row in lines for each in figures.LINES}
    assert {key: amount for key, amount in found.items() if amount} == {
        key: amount for key, amount in sums.items() if amount
    }
    for row in lines:
        assert sum(row[each] for each in figures.LINES[:-1]) == row["closing"]
    invoices: dict[Any, dict[int, Decimal]] = defaultdict(dict)
    for row in records(tables["bridge_invoices"]):
        if row["since"] == since:
            invoices[row["currency"], row["line"]][row["id_invoice"]] = row["amount"]
    assert dict(invoices) == {
        key: each for key, each in expected.items() if key[1] in figures.CHANGES
    }


def run(simulation: Simulation, days: int, past: int) -> int:
    """Simulate days with a report every fourth day and `past` reports of past days; return their number."""
    compared = 0
    for n in range(days):
        day = FIRST + n * DAY
        simulation.live(day)
        today = day + DAY
        if n % 4 == 3:
            tables = simulation.tables()
            compare(tables, simulation.known, today)
            if simulation.reported:
                compare_bridge(
                    tables, "previous_report", simulation.reported[-1][1], simulation.known
                )
            end = today.replace(day=1) - DAY
            if end in simulation.at_end_of:
                compare_bridge(tables, "month_end", simulation.at_end_of[end], simulation.known)
            simulation.report(today)
            compared += 1
    draws = random.Random(7)
    for day in draws.sample(sorted(simulation.at_end_of), past):
        tables = simulation.tables(day)
        compare(tables, simulation.at_end_of[day], day)
        end = day.replace(day=1) - DAY
        if end in simulation.at_end_of:
            known = simulation.at_end_of
            compare_bridge(tables, "month_end", known[end], known[day])
        compared += 1
    return compared


def lacking(tables: dict[str, pd.DataFrame]) -> set[str]:
    return {*tables["missing_numbers"]["reference_number"]}


def test_every_figure_of_thirty_days_is_right_to_the_cent(simulation: Simulation) -> None:
    assert run(simulation, 30, 12) == 7 + 12
    assert lacking(simulation.tables()) == {*simulation.company.lost}
    with pytest.raises(DayNotKnown, match="first complete read of invoices ended on 2025-01-07"):
        simulation.tables(FIRST)
    with pytest.raises(DayNotKnown, match="is in the future"):
        simulation.tables(FIRST + 31 * DAY)


@pytest.mark.prove
def test_every_figure_of_four_hundred_days_with_a_thousand_late_payments_is_right_to_the_cent(
    simulation: Simulation, figure: Callable[[str], None]
) -> None:
    compared = run(simulation, 400, 30)
    company = simulation.company
    assert company.late_payments >= 1000
    assert len(company.lost) >= 2
    assert lacking(simulation.tables()) == {*company.lost}
    figure(
        f"invoice report, 400 days, {len(company.rows)} invoices, {company.late_payments} late payments, "
        f"{company.canceled} cancellations: {compared} reports equal to the cent"
    )
