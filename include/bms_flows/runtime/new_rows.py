"""Rows of a list that are new since a snapshot, read from the end at which new rows appear.

The interface has no filter by time, but lists have an order: if ids or creation times only rise or
only fall in a full read, new rows appear at one end. The read requests the last page to compute the
number of rows, then reads from that end until all new rows are found. If the numbers do not add up, the
whole list must be read again.
"""

from dataclasses import replace
from typing import Any, Final

from bms.errors import Forbidden, Refused
from bms.responses import Page
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.list_reader import FetchPage, ProcessPage
from bms_flows.runtime.list_snapshot import ListSnapshot

READS: Final = 2
"""Number of reads, because one response may lack a row of the other."""
EDITED_PAGES: Final = 5
"""Maximum number of pages with only edited rows, after which the whole list must be read."""


async def new_rows(
    fetch: FetchPage, take: ProcessPage, before: ListSnapshot
) -> dict[Key, Any] | None:
    """Return the digests of the rows that are new or changed since `before`.

    None if the ends of the list do not explain the number of rows.
    """
    found: dict[Key, Any] = {}
    for _ in range(READS):
        try:
            last = await _last_page(fetch, before)
            rows = None if last is None else await _from_the_end(fetch, take, before, last)
        except Refused as error:
            if isinstance(error, Forbidden):
                raise
            return None  # the list became shorter in the meantime
        if rows is None:
            return None
        found |= rows
    return found


async def _last_page(fetch: FetchPage, before: ListSnapshot) -> Page[Any] | None:
    """Return the last page, None if the number of pages keeps changing."""
    size = before.page_size
    number = max(-(-len(before.rows) // size), 1)
    page = await fetch(number, size)
    if max(page.total_pages, 1) != number:
        number = max(page.total_pages, 1)
        page = await fetch(number, size)
    if max(page.total_pages, 1) != number:
        return None
    # A service may round total_pages down, so a full last page doesn't prove the end.
    while len(page) >= size:
        try:
            after = await fetch(number + 1, size)
        except Refused as error:
            if isinstance(error, Forbidden):
                raise
            return page
        if {item.key for item in after} <= {item.key for item in page}:
            return page
        number += 1
        page = replace(after, number=number, total_pages=number)
    return page


async def _from_the_end(
    fetch: FetchPage, take: ProcessPage, before: ListSnapshot, last: Page[Any]
) -> dict[Key, Any] | None:
    size, pages = before.page_size, max(last.total_pages, 1)
    more = (pages - 1) * size + len(last.records) - len(before.rows)
    if more < 0 or (before.newest is None and pages > 1):
        return None
    found: dict[Key, Any] = {}
    most = min(pages, more // size + EDITED_PAGES)
    numbers = range(1, most + 1) if before.newest == "start" else range(pages, pages - most, -1)
    for number in numbers:
        page = last if number == pages else await fetch(number, size)
        unseen = {key: digest for key, digest in await take(page) if not before.shows(key, digest)}
        found |= unseen
        if not unseen:
            break
    else:
        if most < pages:
            return None  # edited rows at this end may hide a new one behind them
    return found if len(found.keys() - before.rows.keys()) == more else None
