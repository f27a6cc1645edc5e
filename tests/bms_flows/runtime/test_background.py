"""Lane: one piece of work at a time, in the order it was put, errors with the next one."""

import asyncio
import threading

import pytest

from bms_flows.runtime.background import BackgroundWriter


async def test_work_is_done_in_order_in_one_thread() -> None:
    done: list[tuple[int, str]] = []
    with BackgroundWriter() as lane:
        for number in range(5):
            await lane.put(lambda n: done.append((n, threading.current_thread().name)), number)
        await lane.done()
    assert [number for number, _ in done] == [0, 1, 2, 3, 4]
    assert len({name for _, name in done}) == 1


@pytest.mark.parametrize("waiting", [0, 1, 2])
async def test_so_many_pieces_wait_and_no_more(waiting: int) -> None:
    go = threading.Event()
    with BackgroundWriter(waiting) as lane:
        for _ in range(1 + waiting):
            await lane.put(go.wait)
        second = asyncio.create_task(lane.put(lambda: None))
        await asyncio.sleep(0)
        assert not second.done()
        go.set()
        await second


async def test_an_error_comes_with_the_next_piece() -> None:
    with BackgroundWriter() as lane:
        await lane.put(int, "no number")
        with pytest.raises(ValueError, match="no number"):
            await lane.put(print)


async def test_leaving_waits_for_all_that_was_put() -> None:
    done = []
    with BackgroundWriter(waiting=1) as lane:
        await lane.put(done.append, 1)
        await lane.put(done.append, 2)
    assert done == [1, 2]


async def test_what_was_not_begun_is_dropped_where_the_block_fails() -> None:
    begun, go, done = threading.Event(), threading.Event(), []

    def first() -> None:
        begun.set()
        go.wait()
        done.append(1)

    with pytest.raises(RuntimeError), BackgroundWriter(waiting=1) as lane:  # noqa: PT012 - what fails is the block
        await lane.put(first)
        await lane.put(done.append, 2)
        begun.wait()
        threading.Timer(0.05, go.set).start()
        raise RuntimeError
    assert done == [1]
