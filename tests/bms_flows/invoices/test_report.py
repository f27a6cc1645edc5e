"""Files for finance: amounts as French Excel reads them, and nothing that Excel would run."""

from decimal import Decimal
from pathlib import Path

from upath import UPath

from bms_flows.invoices import report
from bms_flows.runs import AMOUNTS, Total
from tests.support.excel import formulas, opened


def test_the_totals_are_numbers_in_french_excel_and_nothing_in_them_runs(tmp_path: Path) -> None:
    path = UPath(tmp_path / "totals.csv")
    total = Total(2, dict.fromkeys(AMOUNTS, Decimal("-1234.50")))
    totals = {"EUR": total, "x,=cmd|'/C calc'!A0": total}
    report.keep_totals(path, 1, ("2026-01-01", "2026-01-31"), totals)
    text = path.read_bytes().decode("utf-8-sig")
    assert formulas(text) == []
    header, euros, _ = opened(text, ";")
    assert header == list(report.TOTALS)
    days = ["2026-01-01", "2026-01-31"]
    assert euros == ["1", *days, "EUR", "2", *["-1234,5"] * len(AMOUNTS)]
