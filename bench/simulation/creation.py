"""Creation from one seed: rows, workers that die or stand still, every fate of a create, lags."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from random import Random
from typing import Final

from bench.simulation.clock import EPOCH, play
from bench.simulation.ledger import MemoryLedger
from bench.simulation.process import Killed, Process
from bench.simulation.service import SimulatedService, drawn, person
from bench.simulation.witness import Witness, draws
from bms.errors import ConnectionFailed
from bms_flows.creation.apply import Applier, RowsHeld
from bms_flows.creation.entry import HERE, Entry, State
from bms_flows.creation.send import CreatesRefused
from bms_flows.creation.settings import Settings
from bms_flows.creation.states import reopen

FATES: Final = {
    "good": 6,
    "lost": 2,
    "broken_off": 1,
    "failed_after": 1,
    "gateway": 1,
    "unavailable": 2,
    "refused": 1,
    "forbidden": 1,
    "no_connection": 1,
    "slow": 1,
}
ENDED: Final = {State.CREATED, State.ADOPTED, State.REJECTED, State.REVIEW, State.GIVEN_UP}
PATIENCE = 20
"""Tries until a run counts as stuck."""


def applier(process: Process, settings: Settings) -> Applier:
    """Return the engine in virtual time, for one worker."""
    return Applier(process, process, settings, sleep=process.sleep, ticks=process.ticks)


async def to_the_end(ledger: MemoryLedger, service: SimulatedService, settings: Settings) -> bool:
    """Apply until nothing is left to do, as retries would; return whether that came about."""
    for _ in range(PATIENCE):
        try:
            await applier(Process(ledger, service), settings).apply(list(ledger.rows))
        except (RowsHeld, ConnectionFailed, CreatesRefused):
            await asyncio.sleep(settings.lease_s)
            continue
        return True
    return False


def broken(seed: int, witness: Witness, *, lag: float = 1.0) -> list[str]:
    """Play the run of `seed`; return the laws it broke.

    A created record shows after `lag` settle times at most; the laws are promised for 1.
    """
    return play(_run(draws(seed), witness, lag))


async def _run(random: Random, witness: Witness, lag: float) -> list[str]:
    settle = random.choice((3, 30))
    settings = Settings(settle_s=settle, create_timeout_s=60, lease_s=random.choice((10, 60)))
    ledger = MemoryLedger()
    service = SimulatedService(
        drawn(random, FATES),
        lag=lambda: random.uniform(0, lag * settle),
        skew=random.uniform(-200, 200),
        latency=random.choice((0.01, 0.5, 25.0)),
    )
    for n in range(random.randint(1, 4)):
        boss = ledger.rows[random.randint(1, n)].key if n and random.random() < 0.4 else None  # noqa: PLR2004 - a share
        ledger.add(person(n), manager=boss)
    await _workers(random, ledger, service, settings, witness)
    ended = await to_the_end(ledger, service, settings)
    if ended and await _dropped_again(random, ledger):
        await _workers(random, ledger, service, settings, witness)
        ended = await to_the_end(ledger, service, settings)
    _report(ledger, service, witness)
    return [*_wrong(ledger, service, settings)] if ended else ["a row is stuck"]


async def _dropped_again(random: Random, ledger: MemoryLedger) -> bool:
    """Enter refused rows again, below other managers; return whether there are any."""
    refused = [entry for entry in ledger.rows.values() if entry.state is State.REJECTED]
    for entry in refused:
        below = random.randint(0, entry.id - 1)
        boss = ledger.rows[below].key if below else None
        await ledger.change(
            [entry.id],
            lambda e, now, boss=boss: reopen(  # type: ignore[misc]  # mypy knows no defaults here
                e, now=now, digest=e.digest, manager_key=boss, attempts=5
            ),
        )
    return bool(refused)


async def _workers(
    random: Random,
    ledger: MemoryLedger,
    service: SimulatedService,
    settings: Settings,
    witness: Witness,
) -> None:
    """Let workers begin one after the other, each at whatever moment; wait for their ends."""
    tasks = []
    for _ in range(random.randint(1, 3)):
        process = Process(
            ledger,
            service,
            kill_at=random.choice((None, random.randint(1, 40))),
            stop_at=random.choice((None, random.randint(1, 30))),
            stop_for=random.uniform(0, 500),
            clock_stops=random.random() < 0.5,  # noqa: PLR2004 - half of the pauses are the machine's
        )
        work = applier(process, settings).apply(list(ledger.rows))
        tasks.append(asyncio.create_task(work))
        await asyncio.sleep(random.choice((0, random.uniform(0, 200))))
    for task in tasks:
        try:
            await task
        except (Killed, RowsHeld, ConnectionFailed, CreatesRefused) as end:
            witness.counts[f"workers ended by {type(end).__name__}"] += 1


def _wrong(ledger: MemoryLedger, service: SimulatedService, settings: Settings) -> Iterator[str]:
    if doubles := service.doubles():
        yield f"{len(doubles)} created twice"
    if service.overlaps:
        yield f"{len(service.overlaps)} POSTs while another of the same key was in flight"
    made = defaultdict(list)
    for record in service.records:
        made[record.known.key].append(record.known.remote_id)
    for entry in ledger.rows.values():
        if entry.state not in ENDED and not _waits_for_a_person(ledger, entry):
            yield f"row {entry.id} ended as {entry.state}"
        if entry.state in HERE and entry.remote_id not in made[entry.key]:
            yield f"row {entry.id} is {entry.state} without a record"
        if entry.state not in HERE and made[entry.key]:
            yield f"row {entry.id} has a record and is {entry.state}"
    yield from hurried(ledger, settings)


def hurried(ledger: MemoryLedger, settings: Settings) -> Iterator[str]:
    """Yield each POST after one in doubt that came before two settle times of quiet."""
    quiet = {}
    for at, row, what, entry in ledger.history:
        since = quiet.get(row)
        if what == "intended" and since is not None and at < since + 2 * settings.settle:
            yield f"row {row} was sent again after {at - since}"
        if what in ("unknown", "abandoned"):
            quiet[row] = entry.quiet_at
        elif what in ("withdrawn", "rejected"):
            quiet[row] = None


def _waits_for_a_person(ledger: MemoryLedger, entry: Entry) -> bool:
    """Whether an unsent row stands below a manager that a person has to decide on."""
    managers = [each for each in ledger.rows.values() if each.key == entry.manager_key]
    return entry.state is State.READY and any(
        each.state is State.REVIEW or _waits_for_a_person(ledger, each) for each in managers
    )


def _report(ledger: MemoryLedger, service: SimulatedService, witness: Witness) -> None:
    witness.counts["rows"] += len(ledger.rows)
    witness.counts["POSTs"] += len(service.sent)
    for fate, times in service.fired.items():
        witness.counts[f"POSTs that went {fate}"] += times
    for entry in ledger.rows.values():
        witness.counts[f"rows that ended {entry.state}"] += 1
    if witness.story is not None:
        posts = [(at, f"POST of {key[:6]}") for at, key in service.sent]
        moves = [
            (at, f"row {row} {what}, {e.state}") for at, row, what, e in ledger.history if what
        ]
        for at, line in sorted(posts + moves):
            witness.tell(f"{(at - EPOCH).total_seconds():9.2f} s  {line}")
