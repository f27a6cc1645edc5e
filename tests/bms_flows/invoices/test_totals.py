"""Control totals are exact for all amounts."""

from datetime import date
from decimal import Context, Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from bms_flows.invoices.totals import ControlTotals, facts_by_day
from bms_flows.runtime.columns import MONEY_DIGITS, MONEY_SCALE
from bms_flows.runtime.step_log import AMOUNTS
from bms_flows.runtime.windows import Window

EXACT = Context(prec=100)
DAY = date(2026, 3, 2)
UNITS = st.integers(-(10**MONEY_DIGITS) + 1, 10**MONEY_DIGITS - 1)
"""Amounts in the smallest unit that a column holds."""


def answer(amounts: list[tuple[str | None, int]]) -> pa.Table:
    units = [Decimal(unit).scaleb(-MONEY_SCALE, EXACT) for _, unit in amounts]
    column = pa.array(units, pa.decimal128(MONEY_DIGITS, MONEY_SCALE))
    count = len(amounts)
    return pa.table(
        {
            "id_invoice": range(count),
            "currency": pa.array([currency for currency, _ in amounts], pa.string()),
            "canceled": pa.array([False] * count, pa.bool_()),
            "sent": pa.array([True] * count, pa.bool_()),
            "_day": pa.array([DAY] * count, pa.date32()),
            "_counted_day": pa.array([DAY] * count, pa.date32()),
            **dict.fromkeys(AMOUNTS, column),
        }
    )


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(["EUR", "USD", None]), UNITS), max_size=5), max_size=5
    )
)
def test_totals_are_exact_over_responses_of_any_amounts(
    answers: list[list[tuple[str | None, int]]],
) -> None:
    totals = ControlTotals()
    expected: dict[str, int] = {}
    for amounts in answers:
        totals.add(facts_by_day(answer(amounts)), Window(DAY, DAY))
        for currency, unit in amounts:
            expected[currency or ""] = expected.get(currency or "", 0) + unit
    assert totals.by_currency.keys() == expected.keys()
    for currency, units in expected.items():
        total = totals.by_currency[currency]
        for name in AMOUNTS:
            assert units_of(total.exact()[name]) == units
            assert units_of(Decimal(str(total.as_dict()[name]))) == units


def units_of(amount: Decimal) -> int:
    """Return an amount in the smallest unit, by its digits: no context rounds these."""
    sign, digits, exponent = amount.as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits))) * 10 ** (MONEY_SCALE + exponent)
    return -number if sign else number
