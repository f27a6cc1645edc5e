"""Exact arrays: a value that does not fit is refused at once, whatever its size."""

from decimal import Decimal

import pyarrow as pa
import pytest

from bms.arrays import MISFITS, exact_array, misfits

AMOUNT = pa.decimal128(30, 9)


@pytest.mark.parametrize("amount", ["1E99999999", "1E-99999999", "-1E-99999999", "1E21", "1E-10"])
def test_an_amount_that_does_not_fit_is_refused(amount: str) -> None:
    """Arrow would write out all its digits; 1E-99999999 ended the process."""
    values = [Decimal(1), Decimal(amount), None]
    with pytest.raises(MISFITS):
        exact_array(values, AMOUNT)
    assert [*misfits(values, lambda each: exact_array(each, AMOUNT))] == [1]


@pytest.mark.parametrize("zero", ["0", "-0", "0E-99999999", "0E99999999"])
def test_zero_fits_with_any_exponent(zero: str) -> None:
    assert exact_array([Decimal(zero)], AMOUNT).to_pylist() == [0]


def test_noise_of_binary_floating_point_is_removed() -> None:
    found = exact_array([Decimal("0.30000000000000004")], AMOUNT).to_pylist()
    assert found == [Decimal("0.3")]
