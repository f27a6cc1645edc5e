"""Formulas in CSV cells: escaped wherever Excel could begin a formula, and unescaped exactly."""

# ruff: noqa: RUF001 - typographic signs are part of the corpus

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bms_flows.runtime.excel_csv import csv_file, escape, unescape, unescape_start
from tests.support.excel import formulas, opened

SIGNS = "=+-@\t\r\n '\"aé5,;.＝＋\xa0"


@pytest.mark.parametrize(
    "cell",
    ["=1+1", "+33 6 00", "-1+1", "@SUM(A1)", " =1", "-A1", "＝1", "--1", "+1", '"=1', "-12,x"],
)
def test_a_formula_is_escaped_with_an_apostrophe(cell: str) -> None:
    assert escape(cell) == f"'{cell}"
    assert unescape(escape(cell)) == unescape_start(escape(cell)) == cell


@pytest.mark.parametrize(
    ("cell", "escaped"),
    [
        ("x,=1", "x,'=1"),
        ("x;+1;@y", "x;'+1;'@y"),
        ('x,"=1"', 'x,\'"=1"'),
        ("x, =1", "x,' =1"),
        ("-5;-5", "'-5;'-5"),
        ("- a\n- b", "'- a\n'- b"),
        ("\t=1", "'\t'=1"),
        ("x,'=1", "x,''=1"),
        ("'=1", "''=1"),
    ],
)
def test_a_formula_after_another_separator_is_escaped(cell: str, escaped: str) -> None:
    assert escape(cell) == escaped
    assert unescape(escaped) == cell


@pytest.mark.parametrize(
    "cell", ["", "a", "-5", "-12,50", "'t Hooft", "1=1", "L'Hôpital", "'a", "a,b"]
)
def test_other_cells_stay_as_they_are(cell: str) -> None:
    assert escape(cell) == cell
    assert unescape(cell) == cell


@settings(max_examples=1_000)
@given(st.lists(st.lists(st.text(SIGNS, max_size=8), min_size=1, max_size=3), max_size=3))
def test_excel_runs_nothing_and_every_cell_comes_back(rows: list[list[str]]) -> None:
    header = rows[0] if rows else ["a"]
    text = csv_file(header, rows).decode("utf-8-sig")
    assert formulas(text) == []
    assert all(unescape(escape(cell)) == cell for row in rows for cell in row)


def test_french_excel_reads_the_amounts() -> None:
    text = csv_file(["id", "montant"], [(7, Decimal("-1234.50")), (None, "=1")])
    assert text.startswith(b"\xef\xbb\xbf")
    assert list(opened(text.decode("utf-8-sig"), ";")) == [
        ["id", "montant"], ["7", "-1234,50"], ["", "'=1"]
    ]  # fmt: skip
