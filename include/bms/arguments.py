"""Arguments of operations: Airflow's templates and pandas have other types than a request."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import date
from numbers import Number
from typing import Annotated, Any, get_args, get_origin
from uuid import UUID

import msgspec

Value = str | int | bool
Query = Mapping[str, Value | Sequence[Value] | None]
"""Parameters of a request; one with several values is repeated."""

Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]

WORDS: dict[Any, str] = {
    int: "a whole number",
    Positive: "a whole number from 1",
    NotNegative: "a whole number from 0",
    bool: "true or false",
    str: "text",
    date: "a date without a time, for example 2026-11-21 or"
    " {{ data_interval_start.in_tz('Europe/Paris') | ds }}",
    UUID: "a UUID",
    type(None): "nothing",
}


class BadArgument(ValueError):
    """An argument has another type; the text names the argument and the accepted values."""

    retriable = False


def argument(name: str, value: object, type_: Any) -> Any:
    """Return an argument as the type that a request takes; raise `BadArgument`.

    Empty text, and the text ``None`` that a template renders, count as None. Numbers and dates of
    other libraries, such as pendulum and numpy, count as their texts, and so do those of a list.
    """
    if isinstance(value, str) and value.strip() in ("", "None"):
        value = None
    if isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping):
        value = [str(each) if isinstance(each, Number) else each for each in value]
    for each in (value, str(value)) if isinstance(value, Number | date) else (value,):
        with suppress(msgspec.DecodeError):
            is_list = isinstance(each, str) and each.lstrip().startswith("[")
            given = msgspec.json.decode(str(each)) if is_list else each
            found = msgspec.convert(given, type_, strict=False)
            return str(found) if isinstance(found, UUID) else found
    raise BadArgument(f"{name} takes {_words(type_)}")


def _words(type_: Any) -> str:
    """Return the accepted values in words: `int | None` as "a whole number or nothing"."""
    if isinstance(type_, str):  # a value of a Literal
        return type_
    if get_origin(type_) is list:
        return f"a list, each item {_words(get_args(type_)[0])}"
    return WORDS.get(type_) or " or ".join(map(_words, get_args(type_)))


def wire_query(query: Query | None) -> dict[str, str | list[str]]:
    """Return a query with its values as text, without those that are None."""
    return {
        name: [*map(_wire_text, each)] if isinstance(each, list | tuple) else _wire_text(each)
        for name, each in (query or {}).items()
        if each is not None
    }


def _wire_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
