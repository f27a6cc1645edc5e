"""Creation beyond its guarantee: duplicates and losses as the commit lag exceeds the settle time."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from itertools import groupby
from typing import Final

from bms.errors import AmbiguousWrite
from bms_flows.onboarding.reporting.duplicates import compare
from bms_flows.onboarding.settings import OnboardingSettings
from proofs.page import table
from proofs.plots import PICTURES, Axis, plot
from proofs.simulation.clock import play
from proofs.simulation.creation import to_the_end
from proofs.simulation.ledger import IDENTITY, MemoryLedger
from proofs.simulation.recorder import draws
from proofs.simulation.service import SimulatedService, drawn, person

RATIOS: Final = (0, 1, 2, 3, 3.9, 4.1, 5, 10, 20, 22, 24)
SETTLE_S: Final = 30
CREATE_TIMEOUT_S: Final = 60
ROWS: Final = 100
ATTEMPTS: Final = 5
EARLIER: Final = 900
FATES: Final = {"good": 16, "failed_after": 2, "unavailable": 2}
"""Of twenty creates two are made and answered 500, two are answered 503 and not made."""

Work = Callable[[SimulatedService, MemoryLedger], Awaitable[None]]


async def ours(service: SimulatedService, ledger: MemoryLedger) -> None:
    """Apply with the project's own engine."""
    settings = OnboardingSettings(settle_s=SETTLE_S, create_timeout_s=CREATE_TIMEOUT_S, lease_s=60)
    await to_the_end(ledger, service, settings)


def others(wait: float | None, attempts: int = ATTEMPTS) -> Work:
    """Return what others do on an error: look after `wait` seconds and send again what isn't there.

    None: send again without looking. With one attempt, they send each row once, whatever becomes of it.
    """

    async def work(service: SimulatedService, ledger: MemoryLedger) -> None:
        for body in ledger.body.values():
            for _ in range(attempts):
                try:
                    await service.create(body)
                except AmbiguousWrite:
                    if wait is None:
                        continue
                    await asyncio.sleep(wait)
                    key = IDENTITY.key(body)
                    if any(record.known.key == key for record in service.listed()):
                        break
                else:
                    break

    return work


OURS: Final = "ours"
ALONE: Final = "ours, one row per file"
QUIET: Final = "ours, one row per file, nobody else creates records"
OTHERS_EVERY_S: Final = 20.0
"""Seconds between the records that other users create on a busy service."""

POLICIES: Final[dict[str, Work]] = {
    OURS: ours,
    ALONE: ours,
    QUIET: ours,
    "sent again at once": others(None),
    "sent again if not listed at once": others(0),
    "sent again if not listed after the settle time": others(SETTLE_S),
    "never sent again": others(None, attempts=1),
}


def creation(policy: str, ratio: float, rounds: int) -> Counter[str]:
    """Create `rounds` times a hundred rows whose records all show `ratio` settle times late.

    Return the rows, the duplicates, those of them that the audit names, the lost rows and those to review.
    """
    found: Counter[str] = Counter()
    size = 1 if policy in (ALONE, QUIET) else ROWS

    async def once(seed: int) -> None:
        ledger = MemoryLedger()
        service = SimulatedService(lambda: "good", lag=lambda: ratio * SETTLE_S)
        others = None
        if policy != QUIET:
            # An earlier create shows the offset of `created_on`.
            ledger.add(person(EARLIER))
            await POLICIES[policy](service, ledger)
            others = asyncio.create_task(service.stay_busy(OTHERS_EVERY_S))
            await asyncio.sleep((ratio + 1) * SETTLE_S)
            if POLICIES[policy] is not ours:
                ledger.rows.clear()
                ledger.body.clear()
        service.fates = drawn(draws(seed), FATES)
        for n in range(size):
            ledger.add(person(n))
        await POLICIES[policy](service, ledger)
        if others is not None:
            others.cancel()
        made = Counter(record.known.key for record in service.records if not record.typed)
        entries = {entry.key: entry for entry in ledger.rows.values()}
        asked = {key for key, entry in entries.items() if entry.state == "review"}
        found.update(
            rows=size,
            doubles=sum(times - 1 for times in made.values()),
            asked=len(asked),
            lost=len({key for key in entries if not made[key]} - asked),
        )
        await asyncio.sleep((ratio + 4) * SETTLE_S)
        named = compare(entries, [record.known for record in service.listed()])
        found.update(found=sum(len(each.remote_ids) - 1 for each in named if each.what == "double"))

    for seed in range(rounds * ROWS // size):
        play(once(seed))
    return found


def spans(of: Mapping[float, object]) -> list[tuple[str, float]]:
    """Return neighbours with equal values, each by a name and the first of them."""
    alike = [[*ratios] for _, ratios in groupby(of, of.__getitem__)]
    return [(f"{each[0]:g}" + f" to {each[-1]:g}" * (len(each) > 1), each[0]) for each in alike]


def creations(rounds: int) -> str:
    """Return the tables of creation, and draw its picture."""
    every = {
        policy: [
            creation(policy, r, rounds if policy == OURS else max(rounds // 3, 1)) for r in RATIOS
        ]
        for policy in POLICIES
    }

    def share(each: Counter[str], what: str) -> float:
        return 1000 * each[what] / each["rows"]

    lines = {
        name: [(ratio, share(each, "doubles")) for ratio, each in zip(RATIOS, found, strict=True)]
        for name, found in every.items()
        if name != "never sent again"
    }
    marks = (0, 30, 60, 90, 120, 150)
    picture = plot(
        Axis("commit lag, in settle times", (0, 4, 8, 12, 16, 20, 24)),
        Axis("duplicates per 1,000 creates", marks),
        lines,
    )
    (PICTURES / "creation-lag.svg").write_text(picture)
    cells = {
        ratio: (f"{each['rows']:,}", *(f"{share(each, what):.1f}" for what in ("doubles", "lost", "asked")), f"{each['found']} of {each['doubles']}")
        for ratio, each in zip(RATIOS, every[OURS], strict=True)
    }  # fmt: skip
    first = table(
        ["lag / settle time", "rows of each lag", "duplicates per 1,000", "lost per 1,000", "left to review", "duplicates the audit named"],
        ([name, *cells[ratio]] for name, ratio in spans(cells)),
    )  # fmt: skip
    doubles = {
        ratio: [f"{share(found[number], 'doubles'):.1f}" for found in every.values()]
        for number, ratio in enumerate(RATIOS)
    }
    shown = spans(doubles)
    lost = [f"{share(found[0], 'lost'):.1f}" for found in every.values()]
    second = table(
        ["policy", *(f"lag {name}" for name, _ in shown), "lost per 1,000"],
        zip(every, *(doubles[ratio] for _, ratio in shown), lost, strict=True),
    )
    return f"{first}\n\nDuplicates per 1,000 creates, compared with other policies:\n\n{second}"
