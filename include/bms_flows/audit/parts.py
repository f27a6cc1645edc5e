"""Parts of a list: which part an audit compares, and what stays open after it; pure."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from bms_flows.audit.compare import PENDING, UNSETTLED, Key, OpenRows


@dataclass(frozen=True)
class Part:
    """State of one part of a list, or of one day of invoices, after its latest comparison."""

    number: int
    """From 1; a list that is short enough has one part."""
    rows: OpenRows
    checked_at: datetime
    """When the part was last compared."""
    tried_at: datetime | None
    """When an audit last began to compare the part, whether it could or not."""

    def due(self, loaded_at: datetime | None) -> bool:
        """Return whether the part is worth comparing again soon.

        That is a part with a contradiction, or with a difference from the warehouse that the load
        at `loaded_at` has not settled.
        """
        if self.rows.keys() - {*PENDING}:
            return True
        if loaded_at is None:
            return False
        return any(
            mark is not None and mark.seen_at < loaded_at.timestamp()
            for code in UNSETTLED
            for mark in self.rows.get(code, {}).values()
        )


def next_part(
    parts: int,
    known: Sequence[Part],
    *,
    due: Collection[int] = (),
    without: Collection[int] = (),
) -> int:
    """Return the number of the part to compare: among those that are `due`, else among all.

    The part that was never tried, or not for the longest time, has its turn; parts in `without`
    have had it. A list may have fewer parts than before: its last one stands for those.
    """
    tried = {min(each.number, parts): each.tried_at.timestamp() for each in known if each.tried_at}
    numbers = [n for n in range(1, parts + 1) if n not in without] or [*range(1, parts + 1)]
    first = [n for n in numbers if n in {min(number, parts) for number in due}]
    return min(first or numbers, key=lambda number: (tried.get(number, 0.0), number))


def carried(
    known: Sequence[Part], number: int, parts: int, *, closed: Callable[[str, Key], bool]
) -> dict[int, OpenRows]:
    """Return the rows that are left open in every part once part `number` of `parts` was compared.

    `closed` returns whether a row that was open under a code has been compared again, or is gone.
    Other rows of the compared part have moved: they are looked for in the next part.
    """
    left: dict[int, OpenRows] = {}
    for part in known:
        here = min(part.number, parts)
        there = here % parts + 1 if here == number else here
        for code, rows in part.rows.items():
            for key, mark in rows.items():
                if not closed(code, key):
                    left.setdefault(there, {}).setdefault(code, {})[key] = mark
    return left
