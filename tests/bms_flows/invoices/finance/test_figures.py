"""Figures of the invoice report: a past day, and values that all invoices lack."""

from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pandas as pd
from openpyxl import load_workbook

from bms_flows.invoices.finance import figures, moments
from bms_flows.invoices.finance.run import write_report
from bms_flows.runtime.step_log import Step
from tests.bms_flows.invoices.listed import Company, days, invoice
from tests.support.days import today
from tests.support.sql import execute, scalar

BACKDATED = (
    "update bms.client_invoice set _changed_at = _changed_at - interval '2 days', _first_seen_at = _first_seen_at - interval '2 days'",
    """update bms.step_run set started_at = started_at - interval '2 days', finished_at = finished_at - interval '2 days',
        details = details || jsonb_build_object('seen_at', cast(details->>'seen_at' as timestamptz) - interval '2 days')""",
    "update bms.client_invoice_day set read_at = read_at - interval '2 days'",
    "update bms.client_invoice_missing_number set found_at = found_at - interval '2 days'",
)


def tables(company: Company, as_of: date | None = None) -> dict[str, pd.DataFrame]:
    """Return the tables of a report."""
    with company.warehouse.connect() as connection:
        moment = moments.moment(connection, as_of, company.settings.time_zone, "")
        return figures.read(connection, moment)


def lacked(company: Company) -> list[str]:
    """Return the numbers that the report of yesterday lists."""
    found = tables(company, today() - timedelta(days=1))["missing_numbers"]
    return [*found["reference_number"]]


def backdate(company: Company) -> None:
    """Let all reads be two days older."""
    for statement in BACKDATED:
        execute(company.warehouse, statement)


def test_a_past_report_lists_no_numbers_of_days_that_were_read_later(company: Company) -> None:
    """Until then no run knew whether their numbers were missing."""
    listed = days(today() - timedelta(days=40), 40)
    company.service.rows = [
        invoice(n, day, reference_number=f"{n:05}") for n, day in enumerate(listed, 1) if n != 10
    ]
    company.read(listed[0], listed[24])
    company.read(listed[30], listed[39])
    backdate(company)
    company.read(listed[25], listed[29])
    assert lacked(company) == ["00010"]


def test_a_past_report_lists_the_numbers_that_the_series_lacked_then(company: Company) -> None:
    """Also many that were found one by one, and one that arrived since; none that an invoice had then."""
    listed = days(today() - timedelta(days=60), 40)
    rows = [invoice(n, day, reference_number=f"{n:05}") for n, day in enumerate(listed, 1)]
    earlier, later = today() - timedelta(days=500), today() + timedelta(days=9)
    rows[18]["invoice_date"], rows[19]["invoice_date"] = f"{earlier}", f"{later}"

    def read(first: date, last: date, lost: Iterable[int]) -> None:
        company.service.rows = [row for row in rows if row["id_invoice"] not in lost]
        company.read(first, last)

    read(earlier, earlier, ())
    read(later, later, ())
    read(listed[0], listed[29], {5, 9, 13, 16})
    read(listed[30], listed[39], {5, 9, 13, 16, 33, 36})
    others = {"total_excl_vat": 200, "total_incl_vat": 220}
    company.service.rows = [row | others for row in company.service.rows]
    company.read(listed[0], listed[39], entity=2)  # where these holes are usual
    backdate(company)
    rows[10]["reference_number"] = "00009"  # until now "00011"
    read(listed[0], listed[39], {5, 9, 13, 16, 33, 36})
    assert lacked(company) == ["00005", "00009", "00013", "00016", "00033", "00036"]


def test_values_that_all_open_invoices_lack_are_empty(company: Company) -> None:
    """A service may have no client numbers, or not for the few invoices that are open."""
    company.service.rows = [
        invoice(n, date(2026, 3, 2), total_due=n, currency=None) for n in (1, 2)
    ]
    company.read(date(2026, 3, 2))
    (line,) = tables(company)["ageing"].to_dict("records")
    assert [line[each] for each in ("id_client", "client_name", "currency")] == [None] * 3
    assert line["not_due"] == line["total_due"] == Decimal(3)


def test_the_report_says_what_was_read_last_of_each_entity(company: Company) -> None:
    """Its own time is later: a load may have failed for weeks, or hold days for review."""
    first, last = date(2026, 3, 2), date(2026, 3, 3)
    company.service.rows = [invoice(1, first), invoice(2, last, total_vat=7)]
    for entity in (1, 2):
        assert company.held(first, last, entity=entity)
    company.service.rows = [invoice(2, last)]
    company.read(last, entity=2)
    step = Step(moments.FLOW, "run", moments.STEP)
    manifest = write_report(company._flow(), step, as_of=None, language="EN")
    sheet = load_workbook(company.data_root / manifest["report"] / manifest["workbook"])["Report"]
    said: dict[str, Any] = {
        str(name.value): value.value for name, value in sheet.iter_rows(max_col=2)
    }
    zone = company.settings.time_zone
    read = f"select max(read_at at time zone '{zone}') from bms.client_invoice_day where id_entity = :entity"
    for entity, latest, held in ((1, first, 1), (2, last, None)):
        time = scalar(company.warehouse, read, entity=entity)
        assert abs(said[f"Entity {entity}: last read"] - time) < timedelta(seconds=1)
        assert said[f"Entity {entity}: latest day read"].date() == latest
        assert said.get(f"Entity {entity}: days held for review") == held
