"""Behaviour of paged lists: maximum page size, pages past the last one, and order of rows.

The `probe_...` functions send the requests; the other functions are pure.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from bms_flows.contract.finding import ContractFinding, Question
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

PAGE_LIMIT: Final = Question("page_size_limit", "page_size of the connection")
PAST_END: Final = Question("past_end")
SORT_STABILITY: Final = Question("sort_stability")
LIST_ORDER: Final = Question("list_order")


def keys(reply: Reply) -> list[object]:
    """Return the ids of a page's rows, in their order."""
    return [row.get("id") for row in reply.rows()]


# Maximum page size


async def probe_page_size_limit(read_page: ReadPage, page_size: int) -> ContractFinding:
    """Search for the largest page that the service serves; `page_size` is the connection's."""
    large = await read_page(1, LARGE)
    if large.ok:
        return served_limit(len(large.rows()), large.total_pages)
    if not large.refused or not (await read_page(1, 1)).ok:
        return PAGE_LIMIT.undetermined(f"the service responds {large.status} to pages.")
    served, refused = 1, LARGE
    while refused - served > 1:
        middle = (served + refused) // 2
        if (await read_page(1, middle)).ok:
            served = middle
        else:
            refused = middle
    return PAGE_LIMIT.answered(
        {"rows": served, "beyond": "refused"},
        f"A page has at most {served} rows; the service refuses a larger page_size.",
        f"It is {page_size}: set page_size to {served}." if page_size > served else None,
    )


def served_limit(rows: int, total_pages: int | None) -> ContractFinding:
    """Return the limit that a first page of `rows` shows if `LARGE` rows were requested."""
    if rows == 0 or total_pages is None:
        return PAGE_LIMIT.undetermined("the list is empty.")
    if total_pages <= 1 or rows >= LARGE:
        why = f"the service served {rows} rows on one page; the probe saw no limit."
        return PAGE_LIMIT.undetermined(why)
    summary = f"A page has at most {rows} rows; a larger page_size returns as many."
    return PAGE_LIMIT.answered({"rows": rows, "beyond": "clamped"}, summary)


# Pages past the last one


async def probe_past_end(read_page: ReadPage, size: int = SMALL) -> ContractFinding:
    """Request the last page of `size` rows and the page after it."""
    first = await read_page(1, size)
    pages = first.total_pages or 0
    if not first.rows() or pages < 1:
        return PAST_END.undetermined("the list is empty.")
    last, past = await read_page(pages, size), await read_page(pages + 1, size)
    if past.total_pages not in (None, pages):
        return PAST_END.undetermined("the list grew during the probe.")
    return past_end(keys(last), past.status, () if past.refused else keys(past))


def past_end(last: Keys, status: int, past: Keys) -> ContractFinding:
    """Return what the service responds for a page past the last one."""
    if not last:
        return PAST_END.undetermined("the last page is empty.")
    if 400 <= status < 500:  # noqa: PLR2004 - HTTP's status classes
        summary = f"The service refuses a page past the last one ({status})."
        return PAST_END.answered({"answer": "refused", "status": status}, summary)
    if not past:
        return PAST_END.answered({"answer": "empty"}, "A page past the last one is empty.")
    if list(past) == list(last):
        summary = "A page past the last one repeats the last one."
        return PAST_END.answered({"answer": "last_page"}, summary)
    return PAST_END.undetermined("the page past the last one has rows that the last one lacks.")


# Order of rows


async def probe_order(read_page: ReadPage, size: int = 2 * SMALL) -> list[ContractFinding]:
    """Read the same rows three times, once on a smaller page; repeat once if the order changed."""
    for _ in range(2):
        first = keys(await read_page(1, size))
        small = keys(await read_page(1, max(1, size // 2)))
        again = keys(await read_page(1, size))
        stability = sort_stability(first, again, small)
        if stability.known:
            break
    return [stability, list_order(first)]


def sort_stability(first: Keys, again: Keys, small: Keys) -> ContractFinding:
    """Return whether repeated requests return the same order."""
    if len(first) < MIN_ROWS:
        return SORT_STABILITY.undetermined(f"the list has fewer than {MIN_ROWS} rows.")
    if list(first) == list(again) and list(first[: len(small)]) == list(small):
        summary = "Three reads of a list, on pages of two sizes, return the same order."
        return SORT_STABILITY.answered("stable", summary)
    if list(first) != list(again) and sorted(map(str, first)) == sorted(map(str, again)):
        summary = "Two reads return the same rows in a different order; pages may miss rows."
        return SORT_STABILITY.answered("unstable", summary)
    return SORT_STABILITY.undetermined("the list changed during the probe.")


def list_order(found: Keys) -> ContractFinding:
    """Return whether a list is sorted by id."""
    ids = [key for key in found if isinstance(key, int)]
    if len(ids) < MIN_ROWS:
        return LIST_ORDER.undetermined(f"the list has fewer than {MIN_ROWS} rows.")
    ascending = sorted(set(ids))
    if ids == ascending:
        return LIST_ORDER.answered("id", "Lists are sorted by ascending id.")
    if ids == ascending[::-1]:
        return LIST_ORDER.answered("id_desc", "Lists are sorted by descending id.")
    return LIST_ORDER.answered("not_by_id", "Lists are not sorted by id.")
