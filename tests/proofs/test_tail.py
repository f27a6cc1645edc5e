"""The tail of a drop in virtual time: nobody is created twice, and the restarted task continues at once."""

import asyncio
from datetime import datetime, timedelta
from random import Random

import pytest

from bms_flows.onboarding.ledger.entry import State
from bms_flows.onboarding.settings import OnboardingSettings
from proofs.simulation.clock import now, play
from proofs.simulation.creation import ENDED, applier, to_the_end
from proofs.simulation.ledger import MemoryLedger
from proofs.simulation.process import Process
from proofs.simulation.service import SimulatedService, drawn, person

ROWS, KILLED_AT, RESTART_S = 150, 30, 20.0
FATES = {"good": 77, "unavailable": 5, "lost": 15, "broken_off": 3}
SETTINGS = OnboardingSettings()


async def killed(ledger: MemoryLedger, service: SimulatedService) -> datetime:
    """Apply until 30 records exist, then kill the process; return after its restart."""
    process = Process(ledger, service)
    working = asyncio.create_task(applier(process, SETTINGS).apply([*ledger.rows]))
    while sum(not each.typed for each in service.records) < KILLED_AT:  # noqa: ASYNC110 - virtual time
        await asyncio.sleep(0.05)
    process.dead = True
    await asyncio.gather(working, return_exceptions=True)
    died = now()
    await asyncio.sleep(RESTART_S)
    return died


@pytest.mark.parametrize("kill", [True, False])
def test_a_drop_with_faults_ends_and_creates_nobody_twice(*, kill: bool) -> None:
    random, ledger = Random(3), MemoryLedger()
    service = SimulatedService(
        drawn(random, FATES),
        lag=lambda: random.choice((0.0, random.uniform(0, SETTINGS.settle_s))),
        latency=0.3,
    )

    async def drop() -> datetime:
        others = asyncio.create_task(service.stay_busy(60))
        snapshot = service.snapshot([1], now())
        for n in range(ROWS):
            ledger.add(person(n), snapshot=snapshot)
        since = await killed(ledger, service) if kill else now()
        assert await to_the_end(ledger, service, SETTINGS)
        others.cancel()
        return since

    since = play(drop())
    assert service.doubles() == []
    assert {each.state for each in ledger.rows.values()} <= ENDED - {State.REVIEW}
    restarted = since + timedelta(seconds=RESTART_S) * kill
    assert min(at for at, _ in service.sent if at >= restarted) - since <= timedelta(seconds=90)
    assert max(at for at, _, what, _ in ledger.history if what) - since <= timedelta(minutes=15)
