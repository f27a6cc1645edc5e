"""Values of fields: each type with its described, its mistyped and its invalid values, and the limits between them."""

from decimal import Decimal
from typing import Annotated, Any

import msgspec
import numpy as np
import pandas as pd
import pendulum
import pytest

from bms.field_values import JSON, LONGEST, UUID, NoJson, field_value, without_noise

Number = Annotated[int, msgspec.Meta(ge=1)]
MOST = 10**LONGEST - 1


@pytest.mark.parametrize(
    ("type_", "value", "read"),
    [
        (int, 12, 12),
        (int, Decimal("12.0"), 12),
        (int | None, Decimal("-9.99999999999999999E17"), -MOST),
        (int | None, Decimal(MOST), MOST),
        (int | None, None, None),
        (int, 10**LONGEST, 10**LONGEST),
        (Number, 1, 1),
        (Decimal, Decimal("1.10"), Decimal("1.10")),
        (Decimal | None, 3, Decimal(3)),
        (bool | None, True, True),
        (str | None, "12", "12"),
        (list[int] | None, [2, 3], [2, 3]),
    ],
    ids=repr,
)
def test_a_value_of_the_described_type_is_not_coerced(type_: Any, value: Any, read: Any) -> None:
    found, coerced = field_value(value, type_)
    assert (found, coerced) == (read, False)
    assert type(found) is type(read)


@pytest.mark.parametrize(
    ("type_", "value", "read"),
    [
        (bool, 0, False),
        (bool | None, 1, True),
        (bool | None, Decimal("0.0"), False),
        (bool | None, Decimal("1.0"), True),
        (bool | None, "0", False),
        (bool | None, "1", True),
        (bool | None, "False", False),
        (bool | None, "TRUE", True),
        (int, "0", 0),
        (int | None, "-12", -12),
        (int | None, str(MOST), MOST),
        (Decimal, "-0.5", Decimal("-0.5")),
        (Decimal | None, "12.50", Decimal("12.50")),
        (Decimal | None, "0.1234", Decimal("0.1234")),
        (Decimal | None, "1.123456789", Decimal("1.123456789")),
        (Decimal | None, str(MOST), Decimal(MOST)),
        (str, 0, "0"),
        (str | None, MOST, str(MOST)),
        (str | None, -MOST, str(-MOST)),
    ],
    ids=repr,
)
def test_a_mistyped_value_with_one_interpretation_is_coerced(
    type_: Any, value: Any, read: Any
) -> None:
    found, coerced = field_value(value, type_)
    assert (found, coerced) == (read, True)
    assert type(found) is type(read)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        *((bool | None, value) for value in (2, -1, Decimal("0.5"), "", "yes", "01", list[int]())),
        *((int | None, value) for value in ("", "-0", "007", " 1", "1.0", "1" * (LONGEST + 1))),
        *((int | None, value) for value in (True, Decimal("1.5"), Decimal("NaN"), [1])),
        *(
            (int | None, value)
            for value in (Decimal("1E18"), Decimal("-1E18"), Decimal("1E999999"))
        ),
        *((Number, value) for value in (0, "1", Decimal(1), None)),
        *(
            (Decimal | None, value)
            for value in (True, None, list[int](), "", ".5", "1.", "1.250", "01.5")
        ),
        *((Decimal | None, value) for value in ("1,5", "1e3", "NaN", "1.1234567890", "1 000")),
        *((Decimal | None, value) for value in ("1" * (LONGEST + 1), "Infinity", "--1", "1.50 ")),
        *(
            (str | None, value)
            for value in (True, Decimal(1), Decimal("1.5"), list[int](), {"a": "b"})
        ),
        *((str | None, value) for value in (MOST + 1, -MOST - 1)),
        (Annotated[str, msgspec.Meta(description="a date")], 20260331),
        (list[int] | None, "12"),
    ],
    ids=repr,
)
def test_a_value_with_no_or_several_interpretations_raises(type_: Any, value: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the caller reads no text
        field_value(value, type_)


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("7d4b9f1e-3c52-4a86-9b0d-5e2f8a6c1d37", True),
        ("7D4B9F1E3C524A869B0D5E2F8A6C1D37", True),
        ("7d4b9f1e-3c524a86-9b0d-5e2f8a6c1d37", False),
        ("7d4b9f1e-3c52-4a86-9b0d-5e2f8a6c1d3", False),
        ("7d4b9f1e-3c52-4a86-9b0d-5e2f8a6c1d3g", False),
    ],
)
def test_a_uuid_has_all_its_hyphens_or_none(text: str, valid: bool) -> None:
    assert bool(UUID.fullmatch(text)) == valid


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        (repr(0.1 + 0.2), "0.3"),
        (repr(1.1 * 1.1), "1.21"),
        (repr(4.35 * 100 / 100 - 4.35 + 5.684341886080802e-14), "0"),
        (repr(-100 / 3), "-33.333333333"),
        ("1234567.5700000001", "1234567.57"),
        ("0.1234567891", "0.1234567891"),
        ("0.12345678901234567890", "0.12345678901234567890"),
        ("123456789012345.67", "123456789012345.67"),
        ("1E-99999", "1E-99999"),
    ],
)
def test_only_the_noise_of_binary_numbers_is_rounded(written: str, amount: str) -> None:
    assert without_noise(Decimal(written)) == Decimal(amount)


@pytest.mark.parametrize(
    "exact", ["12345678901234567", "12345678.123456789", "1.5E-10", "NaN", "-Infinity", "1E+40"]
)
def test_an_amount_without_noise_keeps_its_notation(exact: str) -> None:
    assert str(without_noise(Decimal(exact))) == exact


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (np.int64(12), "12"),
        (np.float64(0.1), "0.1"),
        (np.bool_(True), "true"),
        (pd.NA, "null"),
        (pd.NaT, "null"),
        (pd.Timestamp("2026-03-02T08:00:00Z"), '"2026-03-02T08:00:00+00:00"'),
        (pendulum.date(2026, 3, 2), '"2026-03-02"'),
        (Decimal("612.50"), "612.50"),
    ],
)
def test_values_of_pandas_and_airflow_are_written_as_json(value: object, written: str) -> None:
    assert JSON.encode(value).decode() == written


def test_a_value_that_json_does_not_have_is_named_by_its_type() -> None:
    with pytest.raises(NoJson, match="JSON has no ndarray"):
        JSON.encode({"skills": np.array(["canary"])})
