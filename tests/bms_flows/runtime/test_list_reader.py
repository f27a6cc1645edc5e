"""Pages of a long list: as large as the service gives, otherwise as configured."""

import asyncio
from random import Random
from typing import Any

import pytest

from bms.errors import Refused, ServiceUnavailable, TooLarge
from bms.responses import Page
from bms_flows.runtime.list_reader import ListReader
from proofs.simulation.moving_list import LISTS, MovingList, take

ROWS = 130


def read(largest_given: int, error: Exception | None = None, rows: int = ROWS) -> ListReader:
    """Read a list whose service gives pages of at most `largest_given` rows, or raises `error`."""
    moving = MovingList(Random(1), rows=rows)

    async def fetch(number: int, size: int) -> Page[Any]:
        if size > largest_given and error is not None:
            raise error
        return await moving.fetch(number, min(size, largest_given))

    async def once() -> ListReader:
        reading = ListReader(fetch, take, 10, largest=50)
        await reading.until_agreed(3)
        return reading

    return asyncio.run(once())


@pytest.mark.parametrize(("given", "sizes", "calls"), [(50, [50, 49], 7), (25, [25, 24], 14)])
def test_a_long_list_is_read_with_pages_as_large_as_the_service_gives(
    given: int, sizes: list[int], calls: int
) -> None:
    reading = read(given)
    assert [each.size for each in reading.passes] == sizes
    assert reading.coverage.complete
    assert {len(each.keys) for each in reading.passes} == {ROWS}
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
    assert [each.size for each in reading.passes] == [10, 9]
    assert reading.coverage.complete


def test_a_list_that_fits_on_a_large_page_costs_no_additional_request() -> None:
    reading = read(50, rows=50)
    assert reading.passes[0].size == 10
    assert reading.passes[0].calls == 5
