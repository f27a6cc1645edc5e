"""The circuit breaker alone, in virtual time."""

import asyncio
from typing import Any

import pytest

from bms_flows.onboarding.sending.breaker import (
    CAUTION,
    FIRST_WAIT_S,
    LONGEST_WAIT_S,
    CircuitBreaker,
    CreatesPaused,
)
from proofs.simulation.clock import play

pytestmark = pytest.mark.virtual_time


def breaker(**given: Any) -> CircuitBreaker:
    ticks = asyncio.get_running_loop().time
    defaults: dict[str, Any] = {"longest_wait": 600, "ticks": ticks, "sleep": asyncio.sleep}
    return CircuitBreaker(**defaults | given)


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_one_row_probes_after_retry_after_and_the_rest_follow_its_success() -> None:
    circuit = breaker()
    circuit.refused(await circuit.permit(), 40, throttled=False)
    waiting = [asyncio.create_task(circuit.permit()) for _ in range(5)]
    await asyncio.sleep(39)
    assert not any(task.done() for task in waiting)
    await asyncio.sleep(2)
    [probe] = [task.result() for task in waiting if task.done()]
    assert circuit.allows(probe)
    circuit.accepted(probe)
    circuit.done(probe)
    permits = await asyncio.gather(*waiting)
    assert all(circuit.allows(permit) for permit in permits)
    assert now() < 42


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


async def test_a_refusal_of_an_earlier_request_only_extends_the_wait() -> None:
    circuit = breaker()
    permits = [await circuit.permit() for _ in range(8)]
    for permit in permits:
        circuit.refused(permit, 10, throttled=False)
    await circuit.permit()
    assert 10 <= now() < 11, "eight refusals at once are one, and not a wait doubled seven times"


async def test_a_success_of_an_earlier_request_does_not_close_the_circuit() -> None:
    circuit = breaker()
    early, refused = await circuit.permit(), await circuit.permit()
    circuit.refused(refused, 30, throttled=False)
    circuit.accepted(early)
    assert not circuit.allows(early)
    await circuit.permit()
    assert now() >= 30


async def rate_after(refusals: int, *, throttled: bool) -> float:
    """Return the creates per second after 20 accepted creates and some refusals at once."""
    circuit = breaker()
    for _ in range(20):
        circuit.accepted(await circuit.permit())
    for permit in [await circuit.permit() for _ in range(refusals)]:
        circuit.refused(permit, 1, throttled=throttled)
    probe = await circuit.permit()
    circuit.accepted(probe)
    circuit.done(probe)
    since = now()
    for _ in range(160):
        await circuit.permit()
    return 160 / max(now() - since, 0.001)


@pytest.mark.parametrize(("refusals", "throttled"), [(1, True), (7, False)])
def test_creates_continue_below_the_accepted_rate(refusals: int, throttled: bool) -> None:
    rate = play(rate_after(refusals, throttled=throttled))
    assert rate == pytest.approx(CAUTION * 20, rel=0.15)


def test_a_single_refusal_other_than_429_is_no_rate_limit() -> None:
    assert play(rate_after(1, throttled=False)) > 1000
