from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

import numpy as np
import pendulum
import pytest

from bms.arguments import BadArgument, argument

DAY = (
    "a date without a time, for example 2026-11-21 or"
    " {{ data_interval_start.in_tz('Europe/Paris') | ds }}"
)


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        ("12", int, 12),
        (13, int, 13),
        ("None", int | None, None),
        ("", int | None, None),
        (None, str | None, None),
        ("True", bool | None, True),
        ("false", bool | None, False),
        ("2026-03-31", date, date(2026, 3, 31)),
        (date(2026, 3, 31), date, date(2026, 3, 31)),
        ("EN", Literal["EN", "FR"] | None, "EN"),
        (pendulum.date(2026, 3, 31), date, date(2026, 3, 31)),
        (np.int64(12), int, 12),
        ([np.int64(12), "13"], list[int] | None, [12, 13]),
        (np.array([12, 13]), list[int], [12, 13]),
        (range(12, 14), list[int], [12, 13]),
        (12, str | None, "12"),
    ],
)
def test_text_of_a_template_becomes_the_type_of_the_client(
    value: object, type_: Any, expected: object
) -> None:
    assert argument("name", value, type_) == expected


@pytest.mark.parametrize(
    ("value", "type_", "words"),
    [
        ("12.5", int, "a whole number"),
        (None, int, "a whole number"),
        ("maybe", bool | None, "true or false or nothing"),
        (
            "secret-text",
            date,
            DAY,
        ),
        (datetime(2026, 3, 31), date, DAY),  # noqa: DTZ001
        ({"a": 1}, str | None, "text or nothing"),
        ("DE", Literal["EN", "FR"] | None, "EN or FR or nothing"),
        ("secret-text", UUID, "a UUID"),
    ],
)
def test_an_error_names_the_accepted_values_and_not_the_value(
    value: object, type_: Any, words: str
) -> None:
    with pytest.raises(BadArgument) as raised:
        argument("name", value, type_)
    assert str(raised.value) == f"name takes {words}"
