"""Simulated creation: rows, workers that die or pause, every outcome of a create, lags."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from bms_flows.onboarding.ledger.entry import EXISTING, State
from bms_flows.onboarding.sending.apply import Applier
from bms_flows.onboarding.sending.breaker import CreatesPaused
from bms_flows.onboarding.sending.send import CreatesRefused
from bms_flows.onboarding.sending.service_check import CheckTooSlow
from bms_flows.onboarding.settings import OnboardingSettings
from bms_warehouse.locks import Busy
from proofs.simulation.actors import RESTORED, Actors
from proofs.simulation.clock import EPOCH, now, play
from proofs.simulation.ledger import MemoryLedger
from proofs.simulation.process import Killed, Process
from proofs.simulation.recorder import Recorder, draws
from proofs.simulation.service import SimulatedService, drawn

FATES: Final = {
    "good": 6,
    "lost": 2,
    "broken_off": 1,
    "failed_after": 1,
    "early_id": 1,
    "slow_read_back": 1,
    "gateway": 1,
    "unavailable": 2,
    "throttled": 1,
    "failed": 1,
    "refused": 1,
    "forbidden": 1,
    "no_connection": 1,
    "slow": 1,
}
ENDED: Final = {State.CREATED, State.ADOPTED, State.REJECTED, State.REVIEW, State.GIVEN_UP}
PATIENCE = 20
"""Tries until a run counts as stuck."""


def applier(process: Process, settings: OnboardingSettings) -> Applier:
    """Return the engine in virtual time, for one worker."""
    both: Any = process  # the ledger and the service, as this process sees them
    return Applier(both, both, settings, sleep=process.sleep, clock=process.clock)


def retry_delay(paused: CreatesPaused, tried: int) -> float:
    """Return the seconds after which Airflow retries a task with `tried` earlier retries."""
    return paused.retry_after or min(60 * 2**tried, 1800)


async def to_the_end(
    ledger: MemoryLedger, service: SimulatedService, settings: OnboardingSettings
) -> bool:
    """Apply until nothing is left to do, as retries would; return whether that came about."""
    for tried in range(PATIENCE):
        try:
            await applier(Process(ledger, service), settings).apply(list(ledger.rows))
        except CreatesPaused as paused:
            await asyncio.sleep(retry_delay(paused, tried))
            continue
        except (Busy, CreatesRefused, CheckTooSlow):
            await asyncio.sleep(settings.lease_s)
            continue
        return True
    return False


def broken(seed: int, recorder: Recorder, *, lag: float = 1.0) -> list[str]:
    """Play the run of `seed`; return the laws it broke.

    A created record appears after at most `lag` settle times; the laws must hold for 1.
    """
    return play(_run(draws(seed), recorder, lag))


async def _run(random: Random, recorder: Recorder, lag: float) -> list[str]:
    settle = random.choice((3, 30))
    settings = OnboardingSettings(
        settle_s=settle,
        create_timeout_s=60,
        lease_s=random.choice((10, 60)),
        check_max_age_s=random.choice((20, 600)),
    )
    ledger = MemoryLedger()
    service = SimulatedService(
        drawn(random, FATES),
        lag=lambda: random.uniform(0, lag * settle),
        latency=random.choice((0.01, 0.5, 25.0)),
        retry_after=random.choice((None, 1.0, 90.0)),
        stored=random.choice((str, str, lambda number: number.lstrip("0"))),
    )
    actors = Actors(random, ledger, service, range(random.randint(1, 4)))
    for _ in range(random.choice((0, 0, 1, 2))):
        actors.type_in()
    every = random.choice((None, 5.0, 40.0))
    others = every and asyncio.create_task(service.stay_busy(every))
    for _ in range(random.randint(1, 3)):
        await actors.drop()
        await _between(actors, settings)
        await _workers(actors, settings, recorder)
    ended = await _decided(actors, settings)
    if others:
        others.cancel()
    _report(actors, recorder)
    return [*_wrong(actors, settings)] if ended else ["a row is stuck"]


async def _between(actors: Actors, settings: OnboardingSettings) -> None:
    """Let HR users and operators act while no worker is alive."""
    random = actors.random
    for act in (actors.type_in, actors.edit):
        if actors.happens(0.3):
            act()
    if actors.happens(0.5):
        await actors.decide()
    if actors.happens(0.3):
        if not actors.backup:
            actors.back_up()
        else:
            await asyncio.sleep(settings.create_timeout_s + 2 * settings.settle_s)
            actors.restore_ledger()
    await asyncio.sleep(random.choice((0, 60, 2000)))
    if actors.happens(0.1):
        actors.restore_service(now() - timedelta(seconds=random.choice((0, 100, 5000))))


async def _decided(actors: Actors, settings: OnboardingSettings) -> bool:
    """Apply and decide until nothing is left to do; return whether that came about."""
    for _ in range(PATIENCE):
        if not await to_the_end(actors.ledger, actors.service, settings):
            return False
        if not await actors.decide():
            return True
    return False


async def _workers(actors: Actors, settings: OnboardingSettings, recorder: Recorder) -> None:
    """Let workers begin one after the other, each at whatever moment; wait for their ends."""
    random, ledger, service = actors.random, actors.ledger, actors.service
    tasks = []
    for _ in range(random.randint(1, 3)):
        process = Process(
            ledger,
            service,
            kill_at=random.choice((None, random.randint(1, 40))),
            stop_at=random.choice((None, random.randint(1, 30))),
            stop_for=random.uniform(0, 500),
            boot=random.choice(("boot", "boot", "another boot")),
            clock_stops=random.random() < 0.5,  # noqa: PLR2004 - half of the pauses are the machine's
        )
        work = applier(process, settings).apply(list(ledger.rows))
        tasks.append(asyncio.create_task(work))
        await asyncio.sleep(random.choice((0, random.uniform(0, 200))))
        for act in (actors.type_in, actors.edit, actors.delete, actors.step_clock):
            if actors.happens(0.2):
                act()
        if actors.happens(0.2):
            await actors.decide()
    for task in tasks:
        try:
            await task
        except (Killed, Busy, CreatesPaused, CreatesRefused, CheckTooSlow) as end:
            recorder.counts[f"workers ended by {type(end).__name__}"] += 1


def _wrong(actors: Actors, settings: OnboardingSettings) -> Iterator[str]:
    service = actors.service
    if doubles := set(service.doubles()) - _asked(actors):
        yield f"{len(doubles)} created twice"
    if service.overlaps:
        yield f"{len(service.overlaps)} POSTs while another of the same key was in flight"
    yield from _unchecked(actors, settings)
    yield from _unseen(actors, settings)
    for number in actors.ledger.rows:
        yield from _wrong_row(actors, number)
    yield from hurried(actors.ledger, settings)


def _age(actors: Actors, settings: OnboardingSettings) -> timedelta:
    """Return the largest age of a check of the service when its record appears."""
    seconds = settings.check_max_age_s + settings.send_within_s + actors.service.latency
    return timedelta(seconds=seconds)


def _unchecked(actors: Actors, settings: OnboardingSettings) -> Iterator[str]:
    """Yield each record that was created although an HR user's had been listed for long enough."""
    records = actors.service.records
    age = _age(actors, settings)
    for record in records:
        before = record.exists_from - age
        typed = (r for r in records if r.typed and r.who == record.who)
        if not record.typed and any(r.listed_from < before for r in typed):
            yield f"person {record.who} was typed in and created all the same"


def _asked(actors: Actors) -> set[str]:
    """Return the persons of deleted records that a reviewer decided to create again."""
    rows = {row for _, row, what, _ in actors.ledger.history if what == "decided_create"}
    asked = {int(actors.ledger.body[row]["payroll_number"]) for row in rows}
    return {str(r.who) for r in actors.service.records if r.deleted_from and r.who in asked}


def _unseen(actors: Actors, settings: OnboardingSettings) -> Iterator[str]:
    """Yield what was done without a reviewer although lists showed a record that only a reviewer can judge.

    These are a record with the row's key, also one that another row has, and a deleted record.
    """
    ledger, records = actors.ledger, actors.service.records
    age = _age(actors, settings)
    history = sorted(ledger.history, key=lambda each: each[0], reverse=True)
    decided = {row: at for at, row, what, _ in history if what == "decided_create"}  # the first
    deleted = {r.known.remote_id: r.deleted_from for r in records if r.deleted_from}
    for at, row, what, entry in ledger.history:
        if what == "intended" and decided.get(row, at) >= at:
            before = at - age
            if any(r.showed(entry.key, before, at) and not r.known.deleted for r in records):
                yield f"row {row} was sent although a record has its key"
        if what == "adopted" and (gone := deleted.get(entry.remote_id or "")) and gone < at - age:
            yield f"row {row} adopted a deleted record"


def _wrong_row(actors: Actors, number: int) -> Iterator[str]:
    entry, who = actors.ledger.rows[number], int(actors.ledger.body[number]["payroll_number"])
    made = {r.known.remote_id: r for r in actors.service.records}
    record = made.get(entry.remote_id or "")
    if entry.state not in ENDED:
        yield f"row {number} ended as {entry.state}"
    if entry.state in EXISTING and record is None and entry.remote_id not in actors.lost:
        yield f"row {number} is {entry.state} without a record"
    if record is not None and record.who != who:
        yield f"row {number} is another person's record"
    if entry.state not in EXISTING and any(r.who == who and not r.typed for r in made.values()):
        yield f"row {number} has a record and is {entry.state}"


def hurried(ledger: MemoryLedger, settings: OnboardingSettings) -> Iterator[str]:
    """Yield each POST that followed an ambiguous one before two settle times."""
    quiet: dict[int, datetime | None] = {}
    over: dict[int, datetime] = {}
    for at, row, what, _ in ledger.history:
        since = quiet.get(row)
        if what == "intended" and since is not None and at < since + 2 * settings.settle:
            yield f"row {row} was sent again after {at - since}"
        if what == "intended":
            over[row] = at + settings.in_flight
        if what in ("unknown", "abandoned"):
            quiet[row] = max(at, over[row]) if what == "unknown" else over[row]
        elif what in ("withdrawn", "rejected", "decided_create", RESTORED):
            quiet[row] = None


def _report(actors: Actors, recorder: Recorder) -> None:
    ledger, service = actors.ledger, actors.service
    recorder.counts.update(act for _, act in actors.acts)
    recorder.counts["rows"] += len(ledger.rows)
    recorder.counts["POSTs"] += len(service.sent)
    for fate, times in service.fired.items():
        recorder.counts[f"POSTs that went {fate}"] += times
    for entry in ledger.rows.values():
        recorder.counts[f"rows that ended {entry.state}"] += 1
    if recorder.story is not None:
        posts = [(at, f"POST of {key[:6]}") for at, key in service.sent]
        moves = [
            (at, f"row {row} {what}, {e.state}") for at, row, what, e in ledger.history if what
        ]
        for at, line in sorted(posts + moves + actors.acts):
            recorder.note(f"{(at - EPOCH).total_seconds():9.2f} s  {line}")
