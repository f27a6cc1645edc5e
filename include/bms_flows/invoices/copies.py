"""Which of several rows with one identifier is loaded; pure."""

from collections.abc import Collection, Sequence
from datetime import date


def duplicate_rows(
    ids: Sequence[int],
    days: Sequence[date | None],
    digests: Sequence[bytes],
    loaded: Collection[int],
) -> list[int]:
    """Return the places of rows that repeat an identifier, of the answer or of `loaded` ones.

    The row of the earliest day stays, of several the one with the smallest digest: a choice by
    content alone, since the order of rows may differ from answer to answer.
    """
    taken = {*loaded}
    repeated = []
    order = sorted(range(len(ids)), key=lambda place: (days[place] or date.max, digests[place]))
    for place in order:
        if ids[place] in taken:
            repeated.append(place)
        taken.add(ids[place])
    return sorted(repeated)
