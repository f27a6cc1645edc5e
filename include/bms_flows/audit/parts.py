"""Parts of a list: the next part to compare, and the rows that stay open. Pure."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from bms_flows.audit.compare import PENDING, UNSETTLED, Key, OpenRows


@dataclass(frozen=True)
class Part:
    """State of one part of a list, or of one day of invoices, after its latest comparison."""

    number: int
    """From 1; a short list has one part."""
    rows: OpenRows
    checked_at: datetime
    """Time of the last comparison."""
    tried_at: datetime | None
    """Start of the last attempt to compare, successful or not."""

    def due(self, loaded_at: datetime | None) -> bool:
        """Return whether the part should be compared again soon.

        It should if it has a fault, or a difference that the load at `loaded_at` has not resolved.
        """
        if self.rows.keys() - {*PENDING}:
            return True
        if loaded_at is None:
            return False
        return any(
            difference is not None and difference.seen_at < loaded_at.timestamp()
            for code in UNSETTLED
            for difference in self.rows.get(code, {}).values()
        )


def next_part(
    parts: int,
    known: Sequence[Part],
    *,
    due: Collection[int] = (),
    without: Collection[int] = (),
) -> int:
    """Return the number of the part to compare: among the `due` parts, otherwise among all.

    Selects the part whose last attempt is oldest or missing, except parts in `without`. If the list has
    fewer parts than before, its last part replaces the former ones.
    """
    tried = {min(each.number, parts): each.tried_at.timestamp() for each in known if each.tried_at}
    numbers = [n for n in range(1, parts + 1) if n not in without] or [*range(1, parts + 1)]
    first = [n for n in numbers if n in {min(number, parts) for number in due}]
    return min(first or numbers, key=lambda number: (tried.get(number, 0.0), number))


def carried(
    known: Sequence[Part], number: int, parts: int, *, closed: Callable[[str, Key], bool]
) -> dict[int, OpenRows]:
    """Return the open rows of every part after the comparison of part `number` of `parts`.

    `closed` returns whether an open row of a code was compared again or no longer exists. Other rows of
    the compared part have moved; they are expected in the next part.
    """
    left: dict[int, OpenRows] = {}
    for part in known:
        here = min(part.number, parts)
        there = here % parts + 1 if here == number else here
        for code, rows in part.rows.items():
            for key, difference in rows.items():
                if not closed(code, key):
                    left.setdefault(there, {}).setdefault(code, {})[key] = difference
    return left
