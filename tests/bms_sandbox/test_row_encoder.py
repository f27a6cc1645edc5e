import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from bms_sandbox.dialect import Dialect
from bms_sandbox.row_encoder import RowEncoder

ROW = {
    "id": 1,
    "day": date(2026, 3, 31),
    "at": datetime(2026, 3, 31, 7, 15, 30, 123456, tzinfo=UTC),
    "money": Decimal("1200.50"),
    "none": None,
}


def written(names: tuple[str, ...], **readings: Any) -> bytes:
    return RowEncoder(Dialect().changed(readings)).row(ROW, names)


@pytest.mark.parametrize(
    ("field", "dialect", "form", "expected"),
    [
        ("day", "date_format", "date", "2026-03-31"),
        ("day", "date_format", "datetime", "2026-03-31T00:00:00"),
        ("day", "date_format", "zone", "2026-03-31T00:00:00+02:00"),
        ("day", "date_format", "ms", "2026-03-31T00:00:00.000"),
        ("day", "date_format", "utc", "2026-03-30T22:00:00Z"),
        ("at", "datetime_format", "datetime", "2026-03-31T09:15:30"),
        ("at", "datetime_format", "zone", "2026-03-31T09:15:30+02:00"),
        ("at", "datetime_format", "ms", "2026-03-31T09:15:30.123"),
        ("at", "datetime_format", "utc_ms", "2026-03-31T07:15:30.123Z"),
    ],
)
def test_dates_and_times(field: str, dialect: str, form: str, expected: str) -> None:
    assert json.loads(written((field,), **{dialect: form})) == {field: expected}


def test_money_is_written_digit_by_digit() -> None:
    assert written(("money",)) == b'{"money":1200.50}'


def test_nulls_are_written_or_left_out() -> None:
    assert written(("id", "none")) == b'{"id":1,"none":null}'
    assert written(("id", "none"), nulls="absent") == b'{"id":1}'


def test_nulls_within_a_list_are_written_or_left_out_too() -> None:
    row = {"skills": [{"id": 1, "level": None}]}
    for reading, expected in (("null", row), ("absent", {"skills": [{"id": 1}]})):
        encoder = RowEncoder(Dialect().changed({"nulls": reading}))
        assert json.loads(encoder.row(row, ("skills",))) == expected


def test_extra_fields_are_added_to_known_ones() -> None:
    fields = json.loads(written(("id",), extra_fields=True))
    assert fields["id"] == 1
    assert len(fields) > 1
