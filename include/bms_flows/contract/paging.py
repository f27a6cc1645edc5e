"""Behaviour of paged lists: maximum page size, pages past the last one, and order of rows.

The `probe_...` functions send the requests; the other functions are pure.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from bms_flows.contract.finding import Finding, undetermined
from bms_flows.contract.replies import Reply

ReadPage = Callable[[int, int], Awaitable[Reply]]
"""Requests a page by its number and size."""

Keys = Sequence[object]

LARGE: Final = 1000
"""Rows of the largest page that the probe requests."""
SMALL: Final = 20
"""Rows of a small page."""
MIN_ROWS: Final = 8
"""Rows that a decision needs: by chance, they are sorted once in 40,000 times."""
PAGE_SIZE: Final = "page_size of the connection"


def keys(reply: Reply) -> list[object]:
    """Return the ids of a page's rows, in their order."""
    return [row.get("id") for row in reply.rows()]


# Maximum page size


async def probe_page_size_limit(read_page: ReadPage, page_size: int) -> Finding:
    """Search for the largest page that the service serves; `page_size` is the connection's."""
    large = await read_page(1, LARGE)
    if large.ok:
        return served_limit(len(large.rows()), large.total_pages)
    if not large.refused or not (await read_page(1, 1)).ok:
        return undetermined("page_size_limit", f"the service responds {large.status} to pages.")
    served, refused = 1, LARGE
    while refused - served > 1:
        middle = (served + refused) // 2
        if (await read_page(1, middle)).ok:
            served = middle
        else:
            refused = middle
    return Finding(
        name="page_size_limit",
        value={"rows": served, "beyond": "refused"},
        summary=f"A page has at most {served} rows; the service refuses a larger page_size.",
        setting=PAGE_SIZE,
        advice=f"It is {page_size}: set page_size to {served}." if page_size > served else None,
    )


def served_limit(rows: int, total_pages: int | None) -> Finding:
    """Return the limit that a first page of `rows` shows if `LARGE` rows were requested."""
    name = "page_size_limit"
    if rows == 0 or total_pages is None:
        return undetermined(name, "the list is empty.", setting=PAGE_SIZE)
    if total_pages <= 1 or rows >= LARGE:
        why = f"the service served {rows} rows on one page; the probe saw no limit."
        return undetermined(name, why, setting=PAGE_SIZE)
    return Finding(
        name=name,
        value={"rows": rows, "beyond": "clamped"},
        summary=f"A page has at most {rows} rows; a larger page_size returns as many.",
        setting=PAGE_SIZE,
    )


# Pages past the last one


async def probe_past_end(read_page: ReadPage, size: int = SMALL) -> Finding:
    """Request the last page of `size` rows and the page after it."""
    pages = (await read_page(1, size)).total_pages or 0
    if pages < 1:
        return undetermined("past_end", "the list is empty.")
    last, past = await read_page(pages, size), await read_page(pages + 1, size)
    if past.total_pages not in (None, pages):
        return undetermined("past_end", "the list grew during the probe.")
    return past_end(keys(last), past.status, keys(past))


def past_end(last: Keys, status: int, past: Keys) -> Finding:
    """Return what the service responds for a page past the last one."""
    name = "past_end"
    if not last:
        return undetermined(name, "the last page is empty.")
    if 400 <= status < 500:  # noqa: PLR2004 - HTTP's status classes
        summary = f"The service refuses a page past the last one ({status})."
        return Finding(name=name, value={"answer": "refused", "status": status}, summary=summary)
    if not past:
        summary = "A page past the last one is empty."
        return Finding(name=name, value={"answer": "empty"}, summary=summary)
    if list(past) == list(last):
        summary = "A page past the last one repeats the last one."
        return Finding(name=name, value={"answer": "last_page"}, summary=summary)
    return undetermined(name, "the page past the last one has rows that the last one lacks.")


# Order of rows


async def probe_order(read_page: ReadPage, size: int = 2 * SMALL) -> list[Finding]:
    """Read the same rows three times, once on a smaller page; repeat once if the order changed."""
    for _ in range(2):
        first = keys(await read_page(1, size))
        small = keys(await read_page(1, max(1, size // 2)))
        again = keys(await read_page(1, size))
        stability = sort_stability(first, again, small)
        if stability.known:
            break
    return [stability, list_order(first)]


def sort_stability(first: Keys, again: Keys, small: Keys) -> Finding:
    """Return whether repeated requests return the same order."""
    name = "sort_stability"
    if len(first) < MIN_ROWS:
        return undetermined(name, f"the list has fewer than {MIN_ROWS} rows.")
    if list(first) == list(again) and list(first[: len(small)]) == list(small):
        summary = "Three reads of a list, on pages of two sizes, return the same order."
        return Finding(name=name, value="stable", summary=summary)
    if list(first) != list(again) and sorted(map(str, first)) == sorted(map(str, again)):
        summary = "Two reads return the same rows in a different order; pages may miss rows."
        return Finding(name=name, value="unstable", summary=summary)
    return undetermined(name, "the list changed during the probe.")


def list_order(found: Keys) -> Finding:
    """Return whether a list is sorted by id."""
    name = "list_order"
    ids = [key for key in found if isinstance(key, int)]
    if len(ids) < MIN_ROWS:
        return undetermined(name, f"the list has fewer than {MIN_ROWS} rows.")
    ascending = sorted(set(ids))
    if ids == ascending:
        return Finding(name=name, value="id", summary="Lists are sorted by ascending id.")
    if ids == ascending[::-1]:
        return Finding(name=name, value="id_desc", summary="Lists are sorted by descending id.")
    return Finding(name=name, value="not_by_id", summary="Lists are not sorted by id.")
