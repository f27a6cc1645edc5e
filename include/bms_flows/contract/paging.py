"""What pages tell: how large they may be, what is past the last, in which order rows come.

Each judgement is pure; the questions below ask and hand what came to it.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from bms_flows.contract.asking import Reply
from bms_flows.contract.finding import Finding, cannot_tell

PageOf = Callable[[int, int], Awaitable[Reply]]
"""Asks for a page by its number and size."""

Keys = Sequence[object]

LARGE: Final = 1000
"""Rows of the largest page that is asked for."""
FEW: Final = 20
"""Rows of a small page."""
ENOUGH: Final = 8
"""Rows that are in order by chance once in 40,000 times."""
PAGE_SIZE: Final = "page_size of the connection"


def keys(reply: Reply) -> list[object]:
    """Return the ids of a page's rows, in their order."""
    return [row.get("id") for row in reply.rows()]


# The largest page


async def ask_page_size_limit(page_of: PageOf, page_size: int) -> Finding:
    """Ask for ever smaller pages until one is served; `page_size` is the connection's."""
    large = await page_of(1, LARGE)
    if large.ok:
        return served_limit(len(large.rows()), large.total_pages)
    if not large.refused or not (await page_of(1, 1)).ok:
        return cannot_tell("page_size_limit", f"pages are answered {large.status}.")
    served, refused = 1, LARGE
    while refused - served > 1:
        middle = (served + refused) // 2
        if (await page_of(1, middle)).ok:
            served = middle
        else:
            refused = middle
    return Finding(
        name="page_size_limit",
        value={"rows": served, "beyond": "refused"},
        told=f"A page holds {served} rows at most; a larger page_size is refused.",
        setting=PAGE_SIZE,
        advice=f"It says {page_size}: set page_size to {served}." if page_size > served else None,
    )


def served_limit(rows: int, total_pages: int | None) -> Finding:
    """Judge a page of `LARGE` that was served with `rows`: a first page of several is a full one."""
    name = "page_size_limit"
    if rows == 0 or total_pages is None:
        return cannot_tell(name, "the list is empty.", setting=PAGE_SIZE)
    if total_pages <= 1 or rows >= LARGE:
        why = f"{rows} rows came on one page; larger ones there are not, or were not asked for."
        return cannot_tell(name, why, setting=PAGE_SIZE)
    return Finding(
        name=name,
        value={"rows": rows, "beyond": "clamped"},
        told=f"A page holds {rows} rows at most; a larger page_size is served with as many.",
        setting=PAGE_SIZE,
    )


# Past the end


async def ask_past_end(page_of: PageOf, size: int = FEW) -> Finding:
    """Ask for the last page of `size` rows and for the one after it."""
    pages = (await page_of(1, size)).total_pages or 0
    if pages < 1:
        return cannot_tell("past_end", "the list is empty.")
    last, past = await page_of(pages, size), await page_of(pages + 1, size)
    if past.total_pages not in (None, pages):
        return cannot_tell("past_end", "the list grew while it was asked.")
    return past_end(keys(last), past.status, keys(past))


def past_end(last: Keys, status: int, past: Keys) -> Finding:
    """Judge what a page past the last holds."""
    name = "past_end"
    if not last:
        return cannot_tell(name, "the last page is empty.")
    if 400 <= status < 500:  # noqa: PLR2004 -- HTTP's refusals
        told = f"A page past the last is refused ({status})."
        return Finding(name=name, value={"answer": "refused", "status": status}, told=told)
    if not past:
        told = "A page past the last is empty."
        return Finding(name=name, value={"answer": "empty"}, told=told)
    if list(past) == list(last):
        told = "A page past the last is the last one again."
        return Finding(name=name, value={"answer": "last_page"}, told=told)
    return cannot_tell(name, "it holds rows that the last page does not.")


# Order


async def ask_order(page_of: PageOf, size: int = 2 * FEW) -> list[Finding]:
    """Ask for the same rows three times, once on a smaller page; once more if they moved."""
    for _ in range(2):
        first = keys(await page_of(1, size))
        small = keys(await page_of(1, max(1, size // 2)))
        again = keys(await page_of(1, size))
        stable = sort_stability(first, again, small)
        if stable.known:
            break
    return [stable, list_order(first)]


def sort_stability(first: Keys, again: Keys, small: Keys) -> Finding:
    """Judge whether the same question brings the same order."""
    name = "sort_stability"
    if len(first) < ENOUGH:
        return cannot_tell(name, f"the list has fewer than {ENOUGH} rows.")
    if list(first) == list(again) and list(first[: len(small)]) == list(small):
        told = "The same list came in the same order three times, on pages of two sizes."
        return Finding(name=name, value="stable", told=told)
    if list(first) != list(again) and sorted(map(str, first)) == sorted(map(str, again)):
        told = "The same rows came in another order: a list read in pages may lack some."
        return Finding(name=name, value="unstable", told=told)
    return cannot_tell(name, "rows came and went while the list was asked.")


def list_order(found: Keys) -> Finding:
    """Judge whether a list is in the order of its ids."""
    name = "list_order"
    ids = [key for key in found if isinstance(key, int)]
    if len(ids) < ENOUGH:
        return cannot_tell(name, f"the list has fewer than {ENOUGH} rows.")
    ups = sorted(set(ids))
    if ids == ups:
        return Finding(name=name, value="id", told="Lists come by id, the lowest first.")
    if ids == ups[::-1]:
        return Finding(name=name, value="id_desc", told="Lists come by id, the highest first.")
    return Finding(name=name, value="not_by_id", told="Lists come in an order that is not by id.")
