"""Tests of concurrent paging over a changing list."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from bms.endpoints import BY_NAME
from bms.errors import MalformedResponse, NotFound, ServiceUnavailable
from bms.paging import AHEAD, all_pages
from bms.responses import Page

LIST = BY_NAME["list_contacts"]


class Listing:
    """A paged list of numbers whose length changes at given requests."""

    def __init__(self, total: int, *, past_end: str = "empty") -> None:
        self.total = total
        self.past_end = past_end
        self.requests: list[int] = []
        self.concurrent = self.max_concurrent = 0
        self.changes: dict[int, int] = {}  # page number -> total from then on

    async def __call__(self, number: int) -> Page[int]:
        self.requests.append(number)
        self.concurrent += 1
        self.max_concurrent = max(self.max_concurrent, self.concurrent)
        await asyncio.sleep(0)
        self.concurrent -= 1
        self.total = self.changes.pop(number, self.total)
        records = [number]
        if not 0 < number <= max(self.total, 1):
            if self.past_end == "not_found":
                raise NotFound(LIST, "x", status=404)
            records = [] if self.past_end == "empty" else [self.total]
        return Page(
            endpoint=LIST,
            records=records if self.total else [],
            body=b"",
            number=number,
            size=2,  # no page is full: the last page proves the end
            total_pages=self.total,
        )


async def read(fetch: Any) -> list[int]:
    return [page.number async for page in all_pages(fetch)]


@pytest.mark.parametrize("total", [0, 1, 2, 3, AHEAD, AHEAD + 1, 5 * AHEAD + 3])
async def test_every_page_is_yielded_once_in_order(total: int) -> None:
    """An empty list has one page."""
    listing, pages = Listing(total), [*range(1, max(total, 1) + 1)]
    assert await read(listing) == pages
    assert sorted(listing.requests) == pages


async def test_a_limited_number_of_pages_is_fetched_ahead() -> None:
    listing = Listing(10 * AHEAD)
    await read(listing)
    assert 1 < listing.max_concurrent <= AHEAD


async def test_pages_added_during_the_read_are_fetched() -> None:
    listing = Listing(3)
    listing.changes = {3: 5}
    assert await read(listing) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("past_end", ["empty", "not_found", "last_page"])
async def test_a_list_that_shrinks_ends_at_its_new_last_page(past_end: str) -> None:
    listing = Listing(6, past_end=past_end)
    listing.changes = {4: 4}
    assert await read(listing) == [1, 2, 3, 4]


async def test_the_refusal_of_an_existing_page_raises() -> None:
    listing = Listing(4)

    async def fetch(number: int) -> Page[int]:
        if number == 3:
            raise NotFound(LIST, "x", status=404)
        return await listing(number)

    with pytest.raises(NotFound):
        await read(fetch)


async def test_a_refused_page_is_requested_again_when_the_list_grows_again() -> None:
    listing = Listing(4, past_end="not_found")
    shrunk = False

    async def fetch(number: int) -> Page[int]:
        nonlocal shrunk
        if number == 4 and not shrunk:
            shrunk = True
            raise NotFound(LIST, "x", status=404)  # the list has three pages for a moment
        return await listing(number)

    assert await read(fetch) == [1, 2, 3, 4]


async def test_an_error_cancels_all_fetches() -> None:
    listing = Listing(40)
    before = asyncio.all_tasks()

    async def fetch(number: int) -> Page[int]:
        if number == 5:
            raise ServiceUnavailable(LIST, "x", status=503, retry_after=None)
        return await listing(number)

    with pytest.raises(ServiceUnavailable):
        await read(fetch)
    assert asyncio.all_tasks() == before


async def test_closing_the_iterator_cancels_all_fetches() -> None:
    listing = Listing(40)
    never = asyncio.Event()
    before = asyncio.all_tasks()

    async def fetch(number: int) -> Page[int]:
        if number > 2:
            await never.wait()
        return await listing(number)

    async with aclosing(all_pages(fetch)) as pages:
        await anext(pages)
        await anext(pages)
        assert asyncio.all_tasks() > before
    assert asyncio.all_tasks() == before


def served(rows: int, size: int, total: int, past_end: str) -> Any:
    """Return a function that gives pages of a list, all with the same `total`."""

    async def fetch(number: int) -> Page[int]:
        shown = range((number - 1) * size, min(number * size, rows))
        if not shown and past_end == "not_found":
            raise NotFound(LIST, "x", status=404)
        if not shown and past_end == "unavailable":
            raise ServiceUnavailable(LIST, "x", status=500, retry_after=None)
        if not shown and past_end == "last_page":
            shown = range((rows - 1) // size * size, rows)
        return Page(
            endpoint=LIST,
            records=[*shown],
            body=b"",
            number=number,
            size=size,
            total_pages=total,
        )

    return fetch


@pytest.mark.parametrize("past_end", ["empty", "not_found", "unavailable", "last_page"])
@pytest.mark.parametrize(("rows", "total"), [(50, 5), (55, 5), (40, 0), (61, 1), (50, 4)])
async def test_a_full_last_page_does_not_end_a_list_that_has_more(
    rows: int, total: int, past_end: str
) -> None:
    """`total_pages` is right, rounded down, or the same for every list."""
    pages = [page async for page in all_pages(served(rows, 10, total, past_end))]
    assert [row for page in pages for row in page] == [*range(rows)]
    ends = [page.number for page in pages if page.number >= page.total_pages]
    assert ends == [pages[-1].number]


@pytest.mark.parametrize("past_end", ["empty", "not_found", "last_page"])
@pytest.mark.parametrize("behind", [0, 1], ids=["from here", "after"])
@pytest.mark.parametrize("rows", range(1, 75, 6))
async def test_a_total_of_the_remaining_pages_ends_no_list(
    rows: int, behind: int, past_end: str
) -> None:
    pages, first = -(-rows // 10), served(rows, 10, 0, past_end)

    async def fetch(number: int) -> Page[int]:
        return replace(await first(number), total_pages=max(pages + 1 - behind - number, 0))

    assert [row async for page in all_pages(fetch) for row in page] == [*range(rows)]


async def test_the_reading_ends_where_the_last_page_is_another_with_each_response() -> None:
    """The list has no order, and a page past the end is answered with the last page."""
    random = Random(1)
    requests = 0

    async def fetch(number: int) -> Page[int]:
        nonlocal requests
        requests += 1
        assert requests < 10
        page = await served(20, 10, 2, "last_page")(number)
        return replace(page, records=random.sample(range(20), 10))

    await read(fetch)


async def test_a_service_that_ignores_the_page_number_is_named() -> None:
    first = served(55, 10, 6, "empty")

    async def fetch(number: int) -> Page[int]:
        return replace(await first(1), number=number)

    with pytest.raises(MalformedResponse, match="page 2 repeats page 1"):
        await read(fetch)


async def test_a_repeated_last_page_with_other_rows_each_time_ends_the_list() -> None:
    first, changes = served(20, 10, 2, "last_page"), iter(range(100, 200))

    async def fetch(number: int) -> Page[int]:
        page = await first(number)
        return replace(page, records=[*page.records[:-1], next(changes)])

    assert await read(fetch) == [1, 2]


@pytest.mark.parametrize("past_end", ["empty", "last_page"])
async def test_a_total_of_a_billion_pages_is_not_followed(past_end: str) -> None:
    with pytest.raises(MalformedResponse, match="no page after page 6 has other rows"):
        await read(served(55, 10, 10**9, past_end))


@pytest.mark.parametrize("past_end", ["empty", "last_page"])
async def test_a_service_that_counts_pages_from_0_is_refused(past_end: str) -> None:
    pages = served(55, 10, 6, past_end)

    async def fetch(number: int) -> Page[int]:
        return replace(await pages(number + 1), number=number)

    with pytest.raises(MalformedResponse, match="counts pages from 0"):
        await read(fetch)


@pytest.mark.parametrize("answer", ["refused", "first page", "all rows"])
async def test_page_0_of_a_service_that_counts_from_1_means_nothing(answer: str) -> None:
    """The total is too high, so that the reader requests page 0."""
    pages = served(55, 10, 7, "empty")

    async def fetch(number: int) -> Page[int]:
        if number:
            return await pages(number)
        if answer == "refused":
            raise ServiceUnavailable(LIST, "x", status=500, retry_after=None)
        page = await served(55, 55, 7, "empty")(1)
        return await pages(1) if answer == "first page" else replace(page, size=10)

    assert await read(fetch) == [1, 2, 3, 4, 5, 6, 7]
