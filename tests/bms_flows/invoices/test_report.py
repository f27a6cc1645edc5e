"""Files for finance: amounts that French Excel reads, and no formula that Excel runs."""

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy import text as sql
from upath import UPath

from bms_flows.invoices import report
from bms_flows.runtime import excel_csv
from bms_flows.runtime.step_log import AMOUNTS, CurrencyTotal
from bms_sandbox.serve import Sandbox
from tests.bms_flows.conftest import Extract
from tests.support.excel import formulas, opened


def test_the_totals_are_numbers_in_french_excel_and_nothing_in_them_runs(tmp_path: Path) -> None:
    path = UPath(tmp_path / "totals.csv")
    total = CurrencyTotal(2, dict.fromkeys(AMOUNTS, Decimal("-1234.50")))
    totals = {"EUR": total, "x,=cmd|'/C calc'!A0": total}
    report.write_totals(path, 1, ("2026-01-01", "2026-01-31"), totals)
    text = path.read_bytes().decode("utf-8-sig")
    assert formulas(text) == []
    header, euros, _ = opened(text, ";")
    assert header == list(report.TOTALS)
    days = ["2026-01-01", "2026-01-31"]
    assert euros == ["1", *days, "EUR", "2", *["-1234,5"] * len(AMOUNTS)]


DAY = date(2026, 3, 3)
FORMULA = "=HYPERLINK(\"http://x\");x,=cmd|' /C calc'!A0"


@pytest.fixture
def history_of(
    tmp_path: Path, extract: Extract, warehouse: Engine
) -> Callable[[], list[list[str]]]:
    """Load the day; return the rows of its history as French Excel shows them."""

    def load() -> list[list[str]]:
        extract(DAY.isoformat(), DAY.isoformat())
        with warehouse.connect() as connection:
            latest = "select details ->> 'report' from bms.step_run order by id desc limit 1"
            folder = tmp_path / str(connection.scalar(sql(latest)))
        text = (folder / "history.csv").read_bytes().decode("utf-8-sig")
        assert formulas(text) == []
        header, *rows = opened(text, ";")
        assert header == [*report.HISTORY, *report.HISTORY_AMOUNTS]
        return rows

    return load


def issue(sandbox: Sandbox, **given: Any) -> dict[str, Any]:
    """Issue an invoice of 120 EUR that nothing has happened to."""
    untouched: dict[str, Any] = {
        "sent_on": None,
        "canceled_on": None,
        "id_credit": None,
        "payments": [],
    }
    amounts = {"total_excl_vat": "100", "total_vat": "20", "currency": "EUR"}
    fields = {"id_entity": 1, "invoice_date": DAY.isoformat(), **amounts, **untouched, **given}
    return sandbox.insert_invoice(**fields)


def test_the_history_lists_the_events_of_each_invoice(
    sandbox: Sandbox, history_of: Callable[[], list[list[str]]]
) -> None:
    paid, partly, sent, canceled, deleted, formula, edited, raised, refunded, _ = (
        issue(sandbox, reference_number=f"F-{number}") for number in range(10)
    )
    assert history_of() == [], "new invoices have no history"
    sandbox.pay(1, paid["id_invoice"])
    sandbox.pay(1, partly["id_invoice"], "20.50")
    sandbox.send(1, sent["id_invoice"])
    sandbox.cancel(1, canceled["id_invoice"])
    sandbox.delete_invoice(1, deleted["id_invoice"])
    sandbox.pay(1, formula["id_invoice"])
    sandbox.edit_invoice(1, formula["id_invoice"], reference_number=FORMULA)
    sandbox.edit_invoice(1, edited["id_invoice"], reference_number="F-6b")
    sandbox.edit_invoice(1, raised["id_invoice"], total_excl_vat="110")
    sandbox.edit_invoice(1, refunded["id_invoice"], payments=[["2026-03-04T10:00:00Z", "-40"]])
    rows = history_of()
    (moment,) = {row[0] for row in rows}
    assert re.fullmatch(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d", moment)
    found = {row[3]: row[1:] for row in rows}
    assert len(found) == len(rows)

    def line(
        what: str, row: dict[str, Any], before: str, due: str, reference: str = ""
    ) -> list[str]:
        number = reference or row["reference_number"]
        total = "130" if row is raised else "120"
        return [what, "1", str(row["id_invoice"]), number, "EUR", total, before, due]

    assert [*found.values()] == [
        line("paid", paid, "120", "0"),
        line("partly paid", partly, "120", "99,5"),
        line("sent", sent, "120", "120"),
        line("canceled", canceled, "120", "0"),
        line("missing", deleted, "120", "120"),
        line("paid", formula, "120", "0", excel_csv.escape(FORMULA)),
        line("changed", raised, "120", "130"),
        line("changed", refunded, "120", "160"),
    ]
    again = {name: deleted[name] for name in ("id_invoice", "reference_number")}
    issue(sandbox, **again)
    assert [row[1:] for row in history_of()] == [line("came back", deleted, "120", "120")]
    assert history_of() == []
