"""Outages and rate limits of creates, in virtual time: no row goes to review, no row is sent twice."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from bms_flows.onboarding.ledger.entry import State
from bms_flows.onboarding.sending.breaker import CreatesPaused
from bms_flows.onboarding.settings import OnboardingSettings
from proofs.simulation.clock import EPOCH
from proofs.simulation.creation import applier, retry_delay
from proofs.simulation.ledger import MemoryLedger
from proofs.simulation.process import Process
from proofs.simulation.service import SimulatedService
from tests.bms_flows.onboarding.sending.simulated import applied, ledger_of

pytestmark = pytest.mark.virtual_time

SETTINGS = OnboardingSettings()
AIRFLOW_RETRIES = 12
MINUTE = 60.0


def since() -> float:
    return asyncio.get_running_loop().time()


async def retried(
    ledger: MemoryLedger, service: SimulatedService, settings: OnboardingSettings = SETTINGS
) -> None:
    """Apply as Airflow would: again after the wait that a retriable error names."""
    for tried in range(AIRFLOW_RETRIES + 1):
        try:
            await applier(Process(ledger, service), settings).apply(list(ledger.rows))
        except CreatesPaused as paused:
            await asyncio.sleep(retry_delay(paused, tried))
            continue
        return
    raise AssertionError("the retries didn't suffice")


def outage(seconds: float, fate: str = "unavailable") -> Callable[[], str]:
    return lambda: fate if since() < seconds else "good"


def rate_limit(per_second: float) -> Callable[[], str]:
    """A bucket with room for one second's requests."""
    level, at = per_second, 0.0

    def fate() -> str:
        nonlocal level, at
        level, at = min(per_second, level + (since() - at) * per_second), since()
        if level < 1:
            return "throttled"
        level -= 1
        return "good"

    return fate


def ended(ledger: MemoryLedger) -> Counter[State]:
    return Counter(entry.state for entry in ledger.rows.values())


@pytest.mark.parametrize("minutes", [5, 30, 240])
async def test_an_outage_leaves_no_row_to_a_reviewer(minutes: float) -> None:
    ledger, service = ledger_of(200), SimulatedService(outage(minutes * MINUTE))
    await retried(ledger, service)
    assert ended(ledger) == {State.CREATED: 200}
    assert not service.doubles()


@pytest.mark.parametrize(
    ("per_second", "refusals", "attempts"),
    [(1, 40, 5), (20, SETTINGS.create_concurrency, 3), (100, 40, 5)],
)
async def test_a_rate_limit_leaves_no_row_to_a_reviewer(
    per_second: float, refusals: int, attempts: int
) -> None:
    ledger, service = ledger_of(200), SimulatedService(rate_limit(per_second))
    others = asyncio.create_task(service.stay_busy(10))
    await retried(ledger, service)
    others.cancel()
    assert ended(ledger) == {State.CREATED: 200}
    assert not service.doubles()
    assert service.fired["throttled"] <= refusals
    assert max(entry.attempt for entry in ledger.rows.values()) <= attempts


@pytest.mark.parametrize("fate", ["unavailable", "throttled", "gateway", "no_connection"])
async def test_no_row_is_sent_while_the_service_refuses_creates(fate: str) -> None:
    ledger = ledger_of(200)
    service = SimulatedService(lambda: fate, retry_after=3600)
    with pytest.raises(CreatesPaused):
        await applied(ledger, service, settings=SETTINGS)
    probes = 11 if fate in ("gateway", "no_connection") else 0  # these name no time to wait
    assert service.fired[fate] <= SETTINGS.create_concurrency + probes
    assert {entry.state for entry in ledger.rows.values()} <= {State.READY, State.UNKNOWN}


async def test_the_retry_after_of_the_service_delays_the_retry_of_the_task() -> None:
    ledger = ledger_of(20)
    service = SimulatedService(outage(3000), retry_after=3600)
    with pytest.raises(CreatesPaused) as paused:
        await applied(ledger, service, settings=SETTINGS)
    assert paused.value.retry_after == pytest.approx(3600, abs=1)
    service.sent.clear()
    await asyncio.sleep(retry_delay(paused.value, 0))
    await retried(ledger, service)
    assert min(at for at, _ in service.sent) >= EPOCH + timedelta(seconds=3600)
    assert ended(ledger) == {State.CREATED: 20}


async def test_a_retry_during_the_outage_sends_one_probe() -> None:
    ledger, service = ledger_of(200), SimulatedService(outage(1e9), retry_after=3600)
    for sent in (SETTINGS.create_concurrency, 1, 1):
        service.fired.clear()
        with pytest.raises(CreatesPaused):
            await applied(ledger, service, settings=SETTINGS)
        assert service.fired["unavailable"] <= sent
        await asyncio.sleep(1800)


async def test_a_row_refused_repeatedly_goes_to_review() -> None:
    ledger, service = ledger_of(2), SimulatedService(lambda: "good")
    await applied(ledger, service, 1, settings=SETTINGS)
    service.fates = lambda: "unavailable"
    others = asyncio.create_task(service.stay_busy(10))
    for tried in range(100):
        try:
            await applied(ledger, service, 2, settings=SETTINGS)
        except CreatesPaused as paused:
            await asyncio.sleep(retry_delay(paused, tried))
        else:
            break
    others.cancel()
    entry = ledger.rows[2]
    assert (entry.state, entry.reason) == (State.REVIEW, "attempts_used")
    assert SETTINGS.outage_hours <= since() / 3600 <= 2 * SETTINGS.outage_hours
    assert len(service.sent) <= 30
