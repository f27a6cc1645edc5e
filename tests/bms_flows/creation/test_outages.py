"""Outages and rate limits of creates, in virtual time: nothing is left to a reviewer, nothing is sent twice."""

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from bench.simulation.clock import play
from bench.simulation.creation import applier
from bench.simulation.ledger import MemoryLedger
from bench.simulation.process import Process
from bench.simulation.service import SimulatedService, person
from bms_flows.creation.breaker import CreatesPaused
from bms_flows.creation.entry import State
from bms_flows.creation.settings import Settings

SETTINGS = Settings()
AIRFLOW_RETRIES = 12
MINUTE = 60.0


def ledger_of(rows: int) -> MemoryLedger:
    ledger = MemoryLedger()
    for n in range(rows):
        ledger.add(person(n))
    return ledger


def since() -> float:
    return asyncio.get_running_loop().time()


async def retried(
    ledger: MemoryLedger, service: SimulatedService, settings: Settings = SETTINGS
) -> None:
    """Apply as Airflow would: again after the wait that a retriable error names."""
    for _ in range(AIRFLOW_RETRIES + 1):
        try:
            await applier(Process(ledger, service), settings).apply(list(ledger.rows))
        except CreatesPaused as paused:
            await asyncio.sleep(paused.retry_after)
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
def test_an_outage_leaves_no_row_to_a_reviewer(minutes: float) -> None:
    async def main() -> None:
        ledger, service = ledger_of(200), SimulatedService(outage(minutes * MINUTE))
        await retried(ledger, service)
        assert ended(ledger) == {State.CREATED: 200}
        assert not service.doubles()

    play(main())


@pytest.mark.parametrize("per_second", [1, 20, 100])
def test_a_rate_limit_leaves_no_row_to_a_reviewer(per_second: float) -> None:
    async def main() -> None:
        ledger, service = ledger_of(200), SimulatedService(rate_limit(per_second))
        await retried(ledger, service)
        assert ended(ledger) == {State.CREATED: 200}
        assert not service.doubles()
        assert service.fired["throttled"] <= 40

    play(main())
