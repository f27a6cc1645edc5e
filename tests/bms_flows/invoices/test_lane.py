"""Lane: one piece of work at a time, in the order it was put, errors with the next one."""

import asyncio
import threading

import pytest

from bms_flows.invoices.lane import Lane


async def test_work_is_done_in_order_in_one_thread() -> None:
    done: list[tuple[int, str]] = []
    with Lane() as lane:
        for number in range(5):
            await lane.put(lambda n: done.append((n, threading.current_thread().name)), number)
        await lane.done()
    assert [number for number, _ in done] == [0, 1, 2, 3, 4]
    assert len({name for _, name in done}) == 1


async def test_only_one_piece_waits() -> None:
    go = threading.Event()
    with Lane() as lane:
        await lane.put(go.wait)
        second = asyncio.create_task(lane.put(lambda: None))
        await asyncio.sleep(0)
        assert not second.done()
        go.set()
        await second


async def test_an_error_comes_with_the_next_piece() -> None:
    with Lane() as lane:
        await lane.put(int, "no number")
        with pytest.raises(ValueError, match="no number"):
            await lane.put(print)


async def test_leaving_waits_for_what_is_under_way() -> None:
    done = []
    with Lane() as lane:
        await lane.put(done.append, 1)
    assert done == [1]
