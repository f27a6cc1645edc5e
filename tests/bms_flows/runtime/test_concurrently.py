"""Work on many items, a bounded number at once."""

import asyncio
from collections.abc import Iterator

import pytest

from bms_flows.runtime.concurrently import gather_bounded


async def test_results_come_in_order_with_no_more_at_once_than_allowed() -> None:
    under_way, most, taken = 0, 0, 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield number

    async def work(number: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        assert taken <= number + 8, "items are taken only when a worker is free"
        await asyncio.sleep(0.001 * (number % 3))
        under_way -= 1
        return number * number

    assert await gather_bounded(work, items(), at_once=8) == [n * n for n in range(100)]
    assert most == 8
    assert await gather_bounded(work, (), at_once=8) == []


async def test_the_first_error_ends_all() -> None:
    begun, ended = [], []

    async def work(number: int) -> None:
        begun.append(number)
        if number == 3:
            raise ValueError(number)
        await asyncio.sleep(1)
        ended.append(number)

    with pytest.raises(ValueError, match="3"):
        await gather_bounded(work, range(100), at_once=4)
    assert (begun, ended) == ([0, 1, 2, 3], [])
    assert len(asyncio.all_tasks()) == 1
