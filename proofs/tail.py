"""The tail of a drop in virtual time: when its last row is settled, after a kill and in an outage.

    python -m proofs.tail --seeds 20

A file of 150 rows with the default settings. Of the creates, 5 % are answered 503, 15 % lose their
response and 3 % are reset; created records show at once or up to a settle time later. In `kill` the
process dies when 30 records exist, and another one begins 20 seconds later, as a restarted stack does.
In `outage` the service answers every create with 503 for ten minutes from that moment on. Other users
create a record every minute, or no user does (`quiet`): then only the drop's own creates show that lists are
up to date, and a row without a later create waits for more lookups, or for a reviewer.

A row with ambiguous attempts waits for each: the time in which its POST may still end, and two settle
times. The bound of a run is the sum of these waits for the row with the most such attempts, from the
moment at which the processing continues: the restart and the lease of the dead process, or the end
of the outage.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from random import Random
from statistics import median

from bms_flows.onboarding.ledger.entry import State
from bms_flows.onboarding.sending.breaker import CreatesPaused
from bms_flows.onboarding.settings import OnboardingSettings
from bms_warehouse.locks import Busy
from proofs.page import command, heading, show
from proofs.simulation.clock import now, play
from proofs.simulation.creation import ENDED, applier, retry_delay
from proofs.simulation.ledger import MemoryLedger
from proofs.simulation.process import Killed, Process
from proofs.simulation.recorder import draws
from proofs.simulation.service import SimulatedService, drawn, person

ROWS, AT, NINE_TENTHS = 150, 30, 137
FATES = {"good": 77, "unavailable": 5, "lost": 15, "broken_off": 3}
RESTART_S, OUTAGE_S = 20.0, 600.0
SETTINGS = OnboardingSettings()
WITHIN_S = 15.0
"""Allowed seconds after the bound."""
SCENARIOS = ("kill", "kill, quiet", "outage", "outage, quiet", "neither", "neither, quiet")
OTHERS_S = 60.0


@dataclass(frozen=True)
class Timeline:
    """When what happened, in seconds after the event; the event is the kill or the start of the outage."""

    continued: float
    """The first create afterwards."""
    nine_tenths: float
    """137 records exist."""
    ended: float
    """The last row has its outcome; the report and the receipt follow."""
    bound: float
    attempts: int
    """Ambiguous attempts of the row with the most."""
    doubles: int
    review: int
    """Rows that wait for a reviewer."""


def timeline(scenario: str, seed: int) -> Timeline:
    """Play a run."""
    return play(_run(scenario, draws(seed)))


async def _run(scenario: str, random: Random) -> Timeline:
    until = [now()]
    fates = drawn(random, FATES)
    service = SimulatedService(
        lambda: "unavailable" if now() < until[0] else fates(),
        lag=lambda: random.choice((0.0, random.uniform(0, SETTINGS.settle_s))),
        latency=0.3,
    )
    event_kind, _, quiet = scenario.partition(", ")
    others = None if quiet else asyncio.create_task(service.stay_busy(OTHERS_S))
    ledger = MemoryLedger()
    snapshot = service.snapshot([1], now())
    for n in range(ROWS):
        ledger.add(person(n), snapshot=snapshot)
    process = Process(ledger, service)
    working = asyncio.create_task(_to_the_end(process))
    while sum(not each.typed for each in service.records) < AT and not working.done():  # noqa: ASYNC110 - virtual time
        await asyncio.sleep(0.05)
    event = free = now()
    if event_kind == "kill":
        process.dead = True
        free = event + timedelta(seconds=RESTART_S)
        await asyncio.sleep(RESTART_S)
        await _to_the_end(Process(ledger, service, boot="another boot"))
    elif event_kind == "outage":
        until[0] = free = event + timedelta(seconds=OUTAGE_S)
    if event_kind != "kill":
        await working
    else:
        await asyncio.gather(working, return_exceptions=True)
    if others:
        others.cancel()
    kill = event_kind == "kill"
    return _timeline(ledger, service, event, free + kill * SETTINGS.lease)


async def _to_the_end(process: Process) -> None:
    """Apply as the task's tries would; a killed process ends."""
    for tried in count():
        try:
            await applier(process, SETTINGS).apply([*range(1, ROWS + 1)])
        except Busy as busy:
            await asyncio.sleep(busy.retry_after)
            continue
        except CreatesPaused as paused:
            await asyncio.sleep(retry_delay(paused, tried))
            continue
        except Killed:
            pass
        return


def _timeline(
    ledger: MemoryLedger, service: SimulatedService, event: datetime, free: datetime
) -> Timeline:
    unfinished = [row for row, each in ledger.rows.items() if each.state not in ENDED]
    assert not unfinished, unfinished
    ambiguous = Counter(
        row for _, row, what, _ in ledger.history if what in ("unknown", "abandoned")
    )
    most = max(ambiguous.values(), default=0)
    bound = free + most * (SETTINGS.in_flight + 2 * SETTINGS.settle)
    created = sorted(record.exists_from for record in service.records if not record.typed)
    sent = min((at for at, _ in service.sent if at > free), default=free)
    last = max(at for at, _, what, _ in ledger.history if what)
    most_rows = created[min(NINE_TENTHS, len(created)) - 1]
    return Timeline(
        (sent - event).total_seconds(),
        (most_rows - event).total_seconds(),
        (last - event).total_seconds(),
        (bound - event).total_seconds(),
        most,
        len(service.doubles()),
        sum(each.state is State.REVIEW for each in ledger.rows.values()),
    )


def row(scenario: str, runs: Sequence[Timeline]) -> Sequence[object]:
    """Return a line of the table: medians, and the largest values in parentheses."""

    def spread(values: Sequence[float]) -> str:
        return f"{median(values):.0f} ({max(values):.0f})"

    return (
        scenario,
        f"{len(runs):,}",
        *(
            spread([getattr(each, name) for each in runs])
            for name in ("continued", "nine_tenths", "ended", "attempts", "bound")
        ),
        sum(each.ended > each.bound + WITHIN_S for each in runs),
        sum(each.review for each in runs),
        sum(each.doubles for each in runs),
    )


def main(*, seeds: int = 20, scenario: Sequence[str] = SCENARIOS) -> bool:
    """Print the timelines; return whether no row was created twice."""
    heading("The tail of a drop")
    runs = {name: [timeline(name, seed) for seed in range(seeds)] for name in scenario}
    head = (
        "scenario",
        "runs",
        "continued, s",
        "137 rows, s",
        "last row, s",
        "attempts",
        "bound, s",
        "over",
        "rows in review",
        "doubled",
    )
    show(head, (row(name, found) for name, found in runs.items()))
    return not any(each.doubles for found in runs.values() for each in found)


if __name__ == "__main__":
    command(main)
