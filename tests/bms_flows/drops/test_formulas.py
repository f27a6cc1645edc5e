"""Cells Excel would run: made harmless, and given back as they were."""

# ruff: noqa: RUF001 - typographic signs are part of the corpus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bms_flows.drops.formulas import neutral, restored

SIGNS = "=+-@\t\r\n '\"aé5,.＝＋"


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "+33 6 00",
        "-1+1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        " =1",
        "\n=1",
        "-A1",
        "＝1",
        "--1",
        "+1",
    ],
)
def test_a_formula_is_led_by_an_apostrophe(cell: str) -> None:
    assert neutral(cell) == f"'{cell}"
    assert restored(neutral(cell)) == cell


@pytest.mark.parametrize("cell", ["", "a", "-5", "-12,50", "'t Hooft", "1=1", "L'Hôpital", "'a"])
def test_other_cells_stay_as_they_are(cell: str) -> None:
    assert neutral(cell) == cell
    assert restored(cell) == cell


@given(st.text(SIGNS, max_size=8))
def test_nothing_neutral_is_run_and_everything_comes_back(cell: str) -> None:
    harmless = neutral(cell)
    assert neutral(harmless) == harmless
    # What came with Excel's own apostrophe means the same without it.
    assert restored(harmless) == restored(cell)
