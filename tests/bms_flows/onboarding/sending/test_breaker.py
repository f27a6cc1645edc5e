"""The circuit breaker alone, in virtual time."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from bms_flows.onboarding.sending.breaker import (
    FIRST_WAIT_S,
    LONGEST_WAIT_S,
    CircuitBreaker,
    CreatesPaused,
)

pytestmark = pytest.mark.virtual_time


def breaker(**given: Any) -> CircuitBreaker:
    defaults: dict[str, Any] = {
        "longest_wait": 600,
        "ticks": lambda: 5000 + now(),
        "sleep": asyncio.sleep,
    }
    return CircuitBreaker(**defaults | given)


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_one_row_probes_after_retry_after_and_the_rest_follow_its_success() -> None:
    circuit = breaker()
    circuit.refused(await circuit.permit(), 600, throttled=False)
    waiting = [asyncio.create_task(circuit.permit()) for _ in range(5)]
    await asyncio.sleep(599)
    assert not any(task.done() for task in waiting)
    await asyncio.sleep(2)
    [probe] = [task.result() for task in waiting if task.done()]
    assert circuit.allows(probe)
    circuit.accepted(probe)
    circuit.done(probe)
    permits = await asyncio.gather(*waiting)
    assert all(circuit.allows(permit) for permit in permits)
    assert now() < 602


async def test_the_first_create_after_an_outage_is_a_probe() -> None:
    circuit = breaker(suspected=True)
    probe = await circuit.permit()
    other = asyncio.create_task(circuit.permit())
    await asyncio.sleep(5)
    assert not other.done()
    circuit.refused(probe, 10, throttled=False)
    circuit.done(probe)
    await other
    assert now() == 15


async def test_the_wait_doubles_with_each_probe_up_to_the_maximum() -> None:
    circuit = breaker(longest_wait=10_000)
    circuit.refused(await circuit.permit(), None, throttled=False)
    waits = []
    for _ in range(10):
        since = now()
        probe = await circuit.permit()
        waits.append(round(now() - since))
        circuit.refused(probe, None, throttled=False)
        circuit.done(probe)
    assert waits == [FIRST_WAIT_S * 2**n for n in range(7)] + [LONGEST_WAIT_S] * 3
    await accept(circuit)
    circuit.refused(await circuit.permit(), None, throttled=False)
    since = now()
    await circuit.permit()
    assert (now() - since, circuit.refusals) == (FIRST_WAIT_S, 12)


async def test_a_probe_without_a_response_lets_another_row_probe() -> None:
    circuit = breaker()
    circuit.refused(await circuit.permit(), 1, throttled=False)
    probe = await circuit.permit()
    other = asyncio.create_task(circuit.permit())
    await asyncio.sleep(5)
    assert not other.done()
    circuit.done(probe)
    assert circuit.allows(await other)
    assert not circuit.allows(probe)


@pytest.mark.parametrize("asked", [3600, 601])
async def test_a_wait_longer_than_the_task_limit_is_left_to_the_retry(asked: float) -> None:
    circuit = breaker()
    circuit.refused(await circuit.permit(), asked, throttled=False)
    with pytest.raises(CreatesPaused) as paused:
        await circuit.permit()
    assert paused.value.retry_after == asked
    assert str(paused.value) == (
        "the service accepts no creates (429, 502, 503, 504 or no connection). Rows that were not "
        "sent are unchanged; the retry continues with them"
    )
    assert paused.value.retriable
    assert paused.value.retry_for_hours
    assert now() == 0, "nothing is waited for that can't be waited out"


async def test_failed_probes_end_the_task_after_the_longest_wait() -> None:
    circuit = breaker()
    circuit.refused(await circuit.permit(), None, throttled=False)

    async def probe_for_ever() -> None:
        while True:
            probe = await circuit.permit()
            circuit.refused(probe, None, throttled=False)
            circuit.done(probe)

    with pytest.raises(CreatesPaused) as paused:
        await probe_for_ever()
    assert paused.value.retry_after is None
    assert 600 - LONGEST_WAIT_S <= now() <= 600


@pytest.mark.parametrize(
    ("asked", "until"), [([None] * 8, 1), ([10, None], 10), ([None, 10], 10.1), ([10, 10], 10.1)]
)
async def test_a_refusal_of_an_earlier_request_only_extends_the_wait(
    asked: list[float | None], until: float
) -> None:
    """Eight refusals are one, and not a wait doubled seven times."""
    circuit = breaker()
    permits = [await circuit.permit() for _ in asked]
    for permit, each in zip(permits, asked, strict=True):
        circuit.refused(permit, each, throttled=False)
        await asyncio.sleep(0.1)
    await circuit.permit()
    assert now() == pytest.approx(until)


async def test_a_success_of_an_earlier_request_does_not_close_the_circuit() -> None:
    circuit = breaker()
    early, refused = await circuit.permit(), await circuit.permit()
    circuit.refused(refused, 30, throttled=False)
    circuit.accepted(early)
    assert not circuit.allows(early)
    await circuit.permit()
    assert now() >= 30


async def accept(circuit: CircuitBreaker) -> None:
    permit = await circuit.permit()
    circuit.accepted(permit)
    circuit.done(permit)


async def rate(circuit: CircuitBreaker) -> float:
    """Return the creates per second of the next two."""
    await accept(circuit)
    since = now()
    await accept(circuit)
    return 1 / max(now() - since, 1e-6)


async def limited(accepted: int, throttled: Sequence[bool]) -> CircuitBreaker:
    """Return a closed circuit after accepted creates, ten per second, and later refusals."""
    circuit = breaker()
    for _ in range(accepted):
        await accept(circuit)
        await asyncio.sleep(0.1)
    for permit, each in zip([await circuit.permit() for _ in throttled], throttled, strict=True):
        circuit.refused(permit, 1, throttled=each)
        await asyncio.sleep(0.5)
    await accept(circuit)
    return circuit


@pytest.mark.parametrize(
    ("accepted", "throttled", "limit"),
    [
        (20, [True], 8),
        (20, [True, False], 8),
        (20, [False] * 7, 8),
        (20, [False] * 4, None),
        (20, [False], None),
        (100, [False] * 10, 8),  # the last 40 outcomes decide
        (5, [False] * 3, 4),
        (5, [False] * 2, None),
        (0, [True], None),
    ],
)
async def test_creates_continue_below_the_accepted_rate_after_429_or_frequent_refusals(
    accepted: int, throttled: list[bool], limit: float | None
) -> None:
    found = await rate(await limited(accepted, throttled))
    assert found == pytest.approx(limit, rel=0.01) if limit else found > 1000


async def test_a_limited_rate_rises_and_a_single_fault_does_not_take_it_back() -> None:
    circuit = await limited(20, [True])
    await asyncio.sleep(35)
    assert await rate(circuit) == pytest.approx(16, rel=0.03)
    circuit.refused(await circuit.permit(), 1, throttled=False)
    assert await rate(circuit) == pytest.approx(16, rel=0.06)


async def test_a_rate_limit_without_accepted_creates_restores_the_measured_rate() -> None:
    circuit = await limited(20, [True])
    await asyncio.sleep(35)
    circuit.refused(await circuit.permit(), 1, throttled=True)
    assert await rate(circuit) == pytest.approx(8, rel=0.01)
