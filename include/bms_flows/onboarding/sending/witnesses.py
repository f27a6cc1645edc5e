"""Order of sending that leaves rows to show later that the lists are up to date. Pure.

A record of an ambiguous create counts as absent only once the same list shows a later record (see
`absence`). On a quiet service only a drop's own creates can be such records. Each list's last rows are
therefore sent after the other rows of the list, and after the ambiguous attempts are over.
"""

from collections.abc import Collection, Mapping
from typing import Final

WITNESSES: Final = 2
"""Rows of each list that are sent last; the second one in case the first one fails."""


def next_rows(
    ready: Mapping[int, str], ended: Collection[str], in_flight: Collection[str]
) -> list[int]:
    """Return the rows to send now, in order.

    `ready` has the list of each row that may be sent; `ended` are the lists with ambiguous attempts
    that are over, `in_flight` those with ambiguous attempts that may still be executed.
    """
    rows = dict[str, list[int]]()
    for row, name in ready.items():
        rows.setdefault(name, []).append(row)
    chosen = set[int]()
    for name, waiting in rows.items():
        if len(waiting) > WITNESSES:
            chosen.update(waiting[:-WITNESSES])
        elif name not in in_flight:
            chosen.update(waiting[:1] if name in ended else waiting)
    return [row for row in ready if row in chosen]
