"""Rows of simulated drops, and the worker that applies them."""

from collections.abc import Mapping

from bms_flows.onboarding.ledger.entry import State
from bms_flows.onboarding.settings import OnboardingSettings
from proofs.simulation.creation import applier
from proofs.simulation.ledger import MemoryLedger
from proofs.simulation.process import Process
from proofs.simulation.service import SimulatedService, person

SETTINGS = OnboardingSettings(settle_s=30, create_timeout_s=60, lease_s=60)


def ledger_of(rows: int) -> MemoryLedger:
    """Return a ledger with the rows of some persons."""
    ledger = MemoryLedger()
    for n in range(rows):
        ledger.add(person(n))
    return ledger


async def applied(
    ledger: MemoryLedger,
    service: SimulatedService,
    *rows: int,
    settings: OnboardingSettings = SETTINGS,
) -> Mapping[State, int]:
    """Apply rows, or all, once; return how many are in each state."""
    worker = applier(Process(ledger, service), settings)
    return await worker.apply(list(rows or ledger.rows))
