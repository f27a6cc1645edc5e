"""BackgroundWriter: one item of work at a time, in order; errors are raised by the next call, or at the end."""

import asyncio
import threading

import pytest

from bms_flows.runtime.background import BackgroundWriter


async def test_work_is_done_in_order_in_one_thread() -> None:
    done: list[tuple[int, str]] = []
    with BackgroundWriter() as writer:
        for number in range(5):
            await writer.put(lambda n: done.append((n, threading.current_thread().name)), number)
        await writer.done()
    assert [number for number, _ in done] == [0, 1, 2, 3, 4]
    assert len({name for _, name in done}) == 1


@pytest.mark.parametrize("waiting", [0, 1, 2])
async def test_a_full_queue_blocks_the_next_item(waiting: int) -> None:
    go = threading.Event()
    with BackgroundWriter(waiting) as writer:
        for _ in range(1 + waiting):
            await writer.put(go.wait)
        second = asyncio.create_task(writer.put(lambda: None))
        await asyncio.sleep(0)
        assert not second.done()
        go.set()
        await second


async def test_an_error_is_raised_with_the_next_item() -> None:
    with BackgroundWriter() as writer:
        await writer.put(int, "no number")
        with pytest.raises(ValueError, match="no number"):
            await writer.put(print)


async def test_leaving_raises_the_error_of_queued_work() -> None:
    with pytest.raises(ValueError, match="no number"), BackgroundWriter(waiting=1) as writer:
        await writer.put(int, "no number")


async def test_leaving_waits_for_all_that_was_put() -> None:
    done = list[int]()
    with BackgroundWriter(waiting=1) as writer:
        await writer.put(done.append, 1)
        await writer.put(done.append, 2)
    assert done == [1, 2]


async def test_queued_work_is_dropped_if_the_block_fails() -> None:
    begun, go, done = threading.Event(), threading.Event(), []

    def first() -> None:
        begun.set()
        go.wait()
        done.append(1)

    with pytest.raises(RuntimeError), BackgroundWriter(waiting=1) as writer:  # noqa: PT012 - what fails is the block
        await writer.put(first)
        await writer.put(done.append, 2)
        begun.wait()
        threading.Timer(0.05, go.set).start()
        raise RuntimeError
    assert done == [1]
