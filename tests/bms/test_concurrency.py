"""Tests of the adaptive limit of concurrent requests."""

import asyncio
import copy
from concurrent.futures import ThreadPoolExecutor

import pytest

from bms.concurrency import QUEUEING_S, RISE_AFTER, WARM_UP, ConcurrencyLimiter

FAST = 0.05


def respond(
    limiter: ConcurrencyLimiter, count: int, *, seconds: float = FAST, now: float = 0.0
) -> None:
    for _ in range(count):
        limiter.record_response("list_contacts", 200, seconds, now)


@pytest.mark.parametrize(
    "responses",
    [
        [(10_000, FAST)],
        [(1000, 0.002), (1000, 0.05)],
        [(1000, FAST), (1, 0.5), (100, FAST)],
        [(1, 0.001), (WARM_UP - 1, 0.5)],
    ],
    ids=["steady", "a rise of a few milliseconds", "one slow response", "warm-up"],
)
def test_latency_without_a_lasting_rise_keeps_the_maximum(
    responses: list[tuple[int, float]],
) -> None:
    limiter = ConcurrencyLimiter(16)
    for count, seconds in responses:
        respond(limiter, count, seconds=seconds)
    assert limiter.limit == 16


@pytest.mark.parametrize("status", [429, 503])
def test_distress_halves_the_limit_once_for_all_requests_in_flight(status: int) -> None:
    limiter = ConcurrencyLimiter(16)
    for _ in range(16):
        limiter.record_response("list_contacts", status, FAST, 0.0)
    assert limiter.limit == 8
    limiter.record_response("list_contacts", status, FAST, 0.0)
    assert limiter.limit == 4


@pytest.mark.parametrize("status", [200, 404, 422, 500])
def test_other_statuses_keep_the_limit(status: int) -> None:
    limiter = ConcurrencyLimiter(8)
    for _ in range(100):
        limiter.record_response("read_contact", status, FAST, 0.0)
    assert limiter.limit == 8


def test_endless_distress_leaves_one_request() -> None:
    limiter = ConcurrencyLimiter(16)
    for _ in range(100):
        limiter.record_failure(0.0)
    assert limiter.limit == 1


def test_the_limit_rises_by_one_after_each_quiet_period_up_to_the_maximum() -> None:
    limiter = ConcurrencyLimiter(4)
    limiter.record_failure(0.0)
    respond(limiter, 100, now=0.9 * RISE_AFTER)
    assert limiter.limit == 2
    respond(limiter, 100, now=RISE_AFTER)
    assert limiter.limit == 3
    respond(limiter, 100, now=2 * RISE_AFTER)
    respond(limiter, 100, now=9 * RISE_AFTER)
    assert limiter.limit == 4


def test_rising_latency_cuts_the_limit_to_a_quarter_at_most() -> None:
    limiter = ConcurrencyLimiter(16)
    respond(limiter, 1000)
    respond(limiter, 100, seconds=5 * FAST + QUEUEING_S)
    assert limiter.limit == 4


def test_a_service_that_stays_slow_gets_the_maximum_again() -> None:
    limiter = ConcurrencyLimiter(16)
    respond(limiter, 1000)
    for second in range(180):
        respond(limiter, 50, seconds=0.5, now=float(second))
    assert limiter.limit == 16


def test_each_endpoint_has_a_separate_latency() -> None:
    limiter = ConcurrencyLimiter(16)
    for _ in range(1000):
        limiter.record_response("read_contact", 200, FAST, 0.0)
        limiter.record_response("list_client_invoices", 200, 20 * FAST, 0.0)
    assert limiter.limit == 16


def test_the_limit_approaches_the_capacity_of_the_service() -> None:
    """The service handles 6 requests at once and queues the rest, which raises latency."""
    limiter, now, limits = ConcurrencyLimiter(32), 0.0, []
    respond(limiter, 100, seconds=0.1)  # before the load
    for _ in range(3000):
        queued = max(1.0, limiter.limit / 6)
        now += 0.1 * queued / limiter.limit
        limiter.record_response("list_contacts", 200, 0.1 * queued, now)
        limits.append(limiter.limit)
    median = sorted(limits[200:1000])[400]
    assert 6 <= median <= 16


async def highest_concurrency(limiter: ConcurrencyLimiter, tasks: int = 40) -> int:
    current = highest = 0

    async def request() -> None:
        nonlocal current, highest
        async with limiter:
            current += 1
            highest = max(highest, current)
            await asyncio.sleep(0)
            current -= 1

    await asyncio.gather(*(request() for _ in range(tasks)))
    return highest


async def test_fewer_requests_run_after_a_cut() -> None:
    limiter = ConcurrencyLimiter(8)
    async with limiter:
        limiter.record_failure(0.0)
    await highest_concurrency(limiter)  # returns the permits that were granted before the cut
    assert await highest_concurrency(limiter) == 4


async def test_more_requests_run_after_the_limit_rises() -> None:
    limiter = ConcurrencyLimiter(4)
    limiter.record_failure(0.0)
    await highest_concurrency(limiter)
    for moment in range(1, 10):
        async with limiter:
            respond(limiter, 1, now=moment * RISE_AFTER)
    assert await highest_concurrency(limiter) == 4


async def test_failed_and_cancelled_requests_return_their_permit() -> None:
    limiter = ConcurrencyLimiter(2)
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            async with limiter:
                raise ZeroDivisionError
    async with limiter, limiter:
        waiting = asyncio.ensure_future(highest_concurrency(limiter, 1))
        await asyncio.sleep(0)
        waiting.cancel()
    assert await highest_concurrency(limiter) == 2


def test_event_loops_one_after_another_and_in_threads_share_a_limiter() -> None:
    limiter = copy.deepcopy(ConcurrencyLimiter(2))
    limiter.record_failure(0.0)

    async def request() -> None:
        async with limiter:
            respond(limiter, 1, now=RISE_AFTER)
            await asyncio.sleep(0.01)

    async def requests() -> int:
        return len(await asyncio.gather(*(request() for _ in range(6))))

    assert [asyncio.run(requests()) for _ in range(2)] == [6, 6]
    with ThreadPoolExecutor() as threads:
        assert [*threads.map(lambda _: asyncio.run(requests()), range(3))] == [6, 6, 6]
