from datetime import date
from typing import Any, Literal
from uuid import UUID

import pytest

from bms_provider.operators.arguments import BadArgument, argument


@pytest.mark.parametrize(
    ("given", "kind", "meant"),
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
    ],
)
def test_a_template_s_text_becomes_what_the_client_takes(
    given: object, kind: Any, meant: object
) -> None:
    assert argument("name", given, kind) == meant


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ("12.5", int, "a whole number"),
        (None, int, "a whole number"),
        ("maybe", bool | None, "true or false or nothing"),
        ("secret-text", date, "a day as 2026-11-21"),
        ("DE", Literal["EN", "FR"] | None, "EN or FR or nothing"),
        ("secret-text", UUID, "a UUID"),
    ],
)
def test_what_is_taken_is_said_and_what_was_given_is_not(
    given: object, kind: Any, words: str
) -> None:
    with pytest.raises(BadArgument) as raised:
        argument("name", given, kind)
    assert str(raised.value) == f"name takes {words}"
