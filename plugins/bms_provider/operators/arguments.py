"""An operator's arguments: a template makes text of them, the client wants its own types."""

from __future__ import annotations

from datetime import date
from typing import Any, get_args
from uuid import UUID

import msgspec

WORDS = {
    int: "a whole number",
    bool: "true or false",
    str: "text",
    date: "a day as 2026-11-21",
    UUID: "a UUID",
    type(None): "nothing",
}


class BadArgument(ValueError):
    """An operator's argument can't be read; names it and what it takes."""

    retriable = False


def argument(name: str, given: object, kind: Any) -> Any:
    """Return an argument as `kind`, the client's own type of it; raise `BadArgument`.

    Empty text, and None as a template writes it, mean that nothing is given.
    """
    if isinstance(given, str) and given.strip() in ("", "None"):
        given = None
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError:
        raise BadArgument(f"{name} takes {_words(kind)}") from None


def _words(kind: Any) -> str:
    """Return what a type takes, in words: `int | None` as "a whole number or nothing"."""
    if isinstance(kind, str):  # a value of a Literal
        return kind
    return WORDS.get(kind) or " or ".join(map(_words, get_args(kind)))
