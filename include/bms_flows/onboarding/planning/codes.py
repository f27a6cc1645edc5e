"""Codes of dropped rows compared with those that mirrored records have: nothing can be corrected later. Pure."""

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bms_flows.onboarding.resources.description import normalize_header

CODE_NOT_IN_USE: Final = "code_not_in_use"
"""Reason of a review: no mirrored record has one of the row's codes."""
_SHOWN: Final = 3


@dataclass(frozen=True)
class NewCode:
    """A code that no mirrored record has; `same` is the known code in another form, `near` the nearest ones."""

    same: str
    near: str


def new_codes(
    values: Mapping[str, Any], known: Mapping[str, Collection[str]]
) -> dict[str, NewCode]:
    """Return the codes of a row that are not `known` by field, by field; a field without known codes has none."""
    return {
        name: _new(str(values[name]), codes)
        for name, codes in known.items()
        if codes and values.get(name) not in (None, "") and str(values[name]) not in codes
    }


def _new(code: str, known: Collection[str]) -> NewCode:
    form = normalize_header(code)
    same = next((each for each in sorted(known) if form and normalize_header(each) == form), "")
    likeness = difflib.SequenceMatcher(None, b=code.casefold())

    def distance(each: str) -> tuple[float, str]:
        likeness.set_seq1(each.casefold())
        return -likeness.ratio(), each

    return NewCode(same, ", ".join(sorted(known, key=distance)[:_SHOWN]))
