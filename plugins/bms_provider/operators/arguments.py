"""Arguments of operators: a template renders text, and the client takes other types."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from numbers import Number
from typing import Any, get_args, get_origin
from uuid import UUID

import msgspec

WORDS = {
    int: "a whole number",
    bool: "true or false",
    str: "text",
    date: "a date without a time, for example 2026-11-21 or {{ data_interval_start | ds }}",
    UUID: "a UUID",
    type(None): "nothing",
}


class BadArgument(ValueError):
    """An operator's argument has another type; the text names the argument and the accepted values."""

    retriable = False


def argument(name: str, value: object, type_: Any) -> Any:
    """Return an argument as the type that the client takes; raise `BadArgument`.

    Empty text, and the text ``None`` that a template renders, count as None. Numbers and dates of
    other libraries, such as pendulum and numpy, count as their texts.
    """
    if isinstance(value, str) and value.strip() in ("", "None"):
        value = None
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
