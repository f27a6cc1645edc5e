"""Pages of a long list: as large as the service gives, otherwise as configured."""

import asyncio
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from bms.errors import Refused, ServiceUnavailable, TooLarge
from bms.responses import Page
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.list_reader import FetchPage, ListReader
from proofs.simulation.moving_list import LISTS, MovingList, take

ROWS = 130


def read(largest_given: int, error: Exception | None = None, rows: int = ROWS) -> ListReader:
    """Read a list whose service gives pages of at most `largest_given` rows, or raises `error`."""
    moving = MovingList(Random(1), rows=rows)

    async def fetch(number: int, size: int) -> Page[Any]:
        if size > largest_given and error is not None:
            raise error
        return await moving.fetch(number, min(size, largest_given))

    return asyncio.run(once(fetch))


async def once(fetch: FetchPage) -> ListReader:
    """Read a list with pages of ten rows, or of fifty if the service gives them."""
    reading = ListReader(fetch, take, 10, largest=50)
    await reading.until_agreed(3)
    return reading


@pytest.mark.parametrize(("given", "sizes", "calls"), [(50, [50, 49], 7), (25, [25, 24], 14)])
def test_a_long_list_is_read_with_pages_as_large_as_the_service_gives(
    given: int, sizes: list[int], calls: int
) -> None:
    reading = read(given)
    assert [each.page_size for each in reading.passes] == sizes
    assert reading.coverage.complete
    assert {len(each.rows) for each in reading.passes} == {ROWS}
    assert reading.calls == calls


@pytest.mark.parametrize(
    "error",
    [
        Refused(LISTS, "too large", status=422),
        TooLarge(LISTS, "too large"),
        ServiceUnavailable(LISTS, "took too long", status=503, retry_after=None),
        None,
    ],
    ids=["refused", "too large", "unavailable", "shortened"],
)
def test_a_service_without_large_pages_is_read_with_the_configured_size(
    error: Exception | None,
) -> None:
    reading = read(10, error)
    assert [each.page_size for each in reading.passes] == [10, 9]
    assert reading.coverage.complete


def test_a_list_that_fits_on_a_large_page_costs_no_additional_request() -> None:
    reading = read(50, rows=48)
    assert reading.passes[0].page_size == 10
    assert reading.calls == 5 + 6


@pytest.mark.parametrize(
    "error",
    [
        ServiceUnavailable(LISTS, "took too long", status=503, retry_after=None),
        TooLarge(LISTS, "too large"),
        Refused(LISTS, "content too large", status=413),
        Refused(LISTS, "too many rows", status=400),
        Refused(LISTS, "too many rows", status=422),
    ],
    ids=["unavailable", "too large", "413", "400", "422"],
)
@pytest.mark.parametrize(("failing", "sizes"), [(50, [10, 9]), (49, [50, 9])])
def test_a_pass_whose_later_large_page_fails_begins_again_with_the_configured_size(
    error: Exception, failing: int, sizes: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    moving = MovingList(Random(1), rows=ROWS)

    async def fetch(number: int, size: int) -> Page[Any]:
        if number > 1 and size == failing:
            raise error
        return await moving.fetch(number, size)

    with caplog.at_level("WARNING"):
        reading = asyncio.run(once(fetch))
    assert [each.page_size for each in reading.passes] == sizes
    assert {len(each.rows) for each in reading.passes} == {ROWS}
    assert reading.coverage.complete
    # A refused page is requested once more, and so is the page after a full last page.
    assert reading.calls <= 3 + 13 + 15 + 4 + 1
    [line] = caplog.messages
    assert line.endswith("page of about 50 rows; these rows are read again with pages of 10 rows")


def test_a_small_page_that_fails_fails_the_reading() -> None:
    moving = MovingList(Random(1), rows=ROWS)

    async def fetch(number: int, size: int) -> Page[Any]:
        if number > 1:
            raise ServiceUnavailable(LISTS, "took too long", status=503, retry_after=None)
        return await moving.fetch(number, size)

    with pytest.raises(ServiceUnavailable):
        asyncio.run(once(fetch))


@pytest.mark.parametrize("given", [50, 10], ids=["page size honoured", "page size ignored"])
@pytest.mark.parametrize("least", [2, 1])
def test_a_list_whose_later_pages_are_refused_is_not_taken_for_a_shorter_list(
    given: int, least: int
) -> None:
    moving = MovingList(Random(1), rows=ROWS)

    async def fetch(number: int, size: int) -> Page[Any]:
        size = min(size, given) if given > 10 else 10
        if number * size > 100:
            raise Refused(LISTS, "page too deep", status=400)
        return await moving.fetch(number, size)

    reading = ListReader(fetch, take, 10, largest=50, least=least)
    asyncio.run(reading.until_agreed(3))
    assert not reading.agreed


@pytest.mark.parametrize("order", ["id", "modified_on"])
def test_no_row_is_missed_if_the_service_rounds_the_number_of_pages_down(order: str) -> None:
    for seed in range(20):
        moving = MovingList(Random(seed), rows=ROWS, order=order)
        moving.inserted = moving.deleted = moving.edited = 0.05
        seen: set[Key] = set()
        reading = asyncio.run(once(rounded_down(moving, seen)))
        assert seen >= moving.stayed or not reading.agreed


def rounded_down(moving: MovingList, seen: set[Key]) -> FetchPage:
    """Return a function that gives pages of the list, without counting a last page that is not full."""

    async def fetch(number: int, size: int) -> Page[Any]:
        page = await moving.fetch(number, size)
        seen.update(record.id for record in page.records)
        return replace(page, total_pages=len(moving.states) // size)

    return fetch


@pytest.mark.parametrize("order", ["id", "modified_on", "name"])
def test_a_moving_list_whose_large_pages_fail_is_read_completely(order: str) -> None:
    """Any large page may fail, while rows are inserted, deleted and edited."""
    restarted = 0
    for seed in range(40):
        random = Random(seed)
        moving = MovingList(random, rows=ROWS, order=order)
        moving.inserted = moving.deleted = moving.edited = 0.05
        seen: set[Key] = set()
        reading = asyncio.run(once(failing_at_random(moving, seen)))
        restarted += reading.abandoned > 0
        assert reading.calls <= 2.5 * 15 + 2 * 3 + 15
        if reading.agreed:
            assert seen >= moving.stayed
    assert restarted > 10


def failing_at_random(moving: MovingList, seen: set[Key]) -> FetchPage:
    """Return a function that gives pages of the list; one in four large pages fails."""

    async def fetch(number: int, size: int) -> Page[Any]:
        if size > 10 and number > 1 and moving.random.random() < 0.25:
            raise ServiceUnavailable(LISTS, "took too long", status=503, retry_after=None)
        page = await moving.fetch(number, size)
        seen.update(record.id for record in page.records)
        return page

    return fetch
