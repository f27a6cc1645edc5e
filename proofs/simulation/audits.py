"""Simulated audits of a long list: faults come and go, rows move, loads run; no alarm closes too early."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from bms.errors import NotFound
from bms.records import Contact, ContactItem
from bms.responses import Detail, Page
from bms_flows.audit.compare import PENDING, UNSETTLED, Comparison, Key, StoredRow, still_open
from bms_flows.audit.lists import ListComparison
from bms_flows.audit.mirrors import PartAudit
from bms_flows.audit.parts import Part
from bms_flows.audit.warehouse import digests
from bms_flows.mirror.resources import CONTACTS
from proofs.simulation.clock import EPOCH, play
from proofs.simulation.moving_list import LISTS, MovingList
from proofs.simulation.recorder import Recorder, draws

SIZE: Final = 6
"""Rows of a large page."""
MOST: Final = 7
"""Requests of one part, pages of both sizes; two large pages and four small ones."""
ORDERS: Final = ("id", "id_desc", "name", "modified_on_desc")
LASTING: Final = ("lost", "wrong", "hidden")
"""Faults that a load does not repair: a row missing here, a row that differs, a row that small pages lack."""

WAREHOUSE: Final = ("warehouse_differs", *UNSETTLED)
CODES: Final = {
    "lost": WAREHOUSE,
    "wrong": WAREHOUSE,
    "hidden": ("page_sizes_differ",),
    "stale": ("detail_differs",),
}
"""The codes of each fault."""


@dataclass
class World:
    """A service, its mirror, and the faults of single rows, by key."""

    listed: MovingList
    faults: dict[int, str] = field(default_factory=dict)
    mirror: dict[Key, StoredRow] = field(default_factory=dict)
    loaded_at: datetime | None = None
    ended: set[int] = field(default_factory=set)
    """Rows whose fault ended since the latest load: the mirror is still wrong."""

    async def page(self, number: int, size: int) -> Page[Any]:
        """Answer a page; hidden rows are left out of small pages."""
        found = await self.listed.fetch(number, size)
        if size < SIZE:
            found.records = [r for r in found.records if self.faults.get(r.id) != "hidden"]
        return found

    async def detail(self, key: int) -> Detail[Contact]:
        """Answer a detail; a stale one has another value than the list."""
        if key not in self.listed.states:
            raise NotFound(LISTS, "no such row", status=404)
        signal = "stale" if self.faults.get(key) == "stale" else str(self.listed.states[key])
        record = Contact(id=key, signal=signal, deleted=False)
        return Detail(record=record, extra={}, body=b"")

    def load(self, now: datetime) -> None:
        """Run the mirror: it stores what the list has, except where a lasting fault stops it."""
        records = [
            ContactItem(id=key, signal=str(state)) for key, state in self.listed.states.items()
        ]
        fresh = digests(records, CONTACTS.listed, "UTC")
        for key, said in fresh.items():
            before = self.mirror.get(key)
            fault = self.faults.get(int(key))
            digest = b"wrong" if fault == "wrong" else said
            if fault == "lost":
                self.mirror.pop(key, None)
            elif before is None:
                self.mirror[key] = StoredRow(digest, 1)
            elif (before.digest, before.gone) != (digest, None):
                self.mirror[key] = StoredRow(digest, before.version + 1)
        for key, row in self.mirror.items():
            if key not in fresh and row.gone is None:
                self.mirror[key] = replace(row, version=row.version + 1, gone="missing")
        self.loaded_at = now
        self.ended.clear()

    # What PartAudit asks of the warehouse.

    def held(self, keys: Any) -> dict[Key, StoredRow]:
        """Return rows of the mirror."""
        return {key: row for key, row in self.mirror.items() if keys is None or key in keys}

    def quarantined(self, _keys: Any) -> set[Key]:
        """Return nothing: every row can be loaded."""
        return set()


@dataclass
class Ledger:
    """Results of the audits by part, as `bms.reconciliation` stores them."""

    parts: dict[int, Part] = field(default_factory=dict)

    def settle(self, world: World) -> None:
        """Close what a load has repaired."""
        for number, part in self.parts.items():
            self.parts[number] = replace(part, rows=still_open(part.rows, world.mirror, ()))

    def save(self, audit: PartAudit, now: datetime) -> None:
        """Store the result of one part, and what is left open of the others."""
        plan, comparison = audit.listing.plan, audit.listing.comparison
        left = audit.left()
        for code, rows in left.get(plan.part, {}).items():
            comparison.rows[code] = rows | comparison.rows.get(code, {})
        for number in (self.parts.keys() | left.keys()) - {plan.part}:
            part = self.parts.get(number, Part(number, {}, now, None))
            self.parts[number] = replace(part, rows=left.get(number, {}))
        self.parts[plan.part] = Part(plan.part, comparison.rows, now, now)
        self.parts = {n: each for n, each in self.parts.items() if n <= plan.parts}

    def open(self, *, confirmed: bool = False, codes: Collection[str] = ()) -> set[Key]:
        """Return the rows that are open, or those that keep the alarm open; of `codes`, if any."""
        return {
            key
            for part in self.parts.values()
            for code, rows in part.rows.items()
            if not (confirmed and code in PENDING) and (not codes or code in codes)
            for key in rows
        }


def broken(seed: int, recorder: Recorder) -> list[str]:
    """Play the run of `seed`; return the laws it broke."""
    return play(_run(draws(seed), recorder))


async def _run(random: Random, recorder: Recorder) -> list[str]:
    listed = MovingList(random, rows=random.randrange(20, 70), order=random.choice(ORDERS))
    world, ledger = World(listed), Ledger()
    chance = random.choice((0.0, 0.0, 0.05, 0.2))
    laws: list[str] = []
    now = EPOCH
    world.load(now)
    for day in range(random.randrange(5, 25)):
        now += timedelta(days=1)
        _happen(random, world, ledger)
        if random.random() < 0.7:  # noqa: PLR2004 - a share of the days
            world.load(now - timedelta(hours=1))
        listed.inserted = listed.deleted = listed.edited = chance
        laws += await _audit(world, ledger, now, day, recorder, still=not chance)
        listed.inserted = listed.deleted = listed.edited = 0.0
    return laws + await _at_rest(world, ledger, now, recorder)


async def _at_rest(world: World, ledger: Ledger, now: datetime, recorder: Recorder) -> list[str]:
    """Audit while nothing changes: every fault is found; once repaired, every alarm closes."""
    laws = []
    days = 2 * (len(world.listed.states) // (2 * SIZE) + 2)
    for repaired in (False, True):
        if repaired:
            world.faults.clear()
        for day in range(days + days * repaired):
            now += timedelta(days=1)
            world.load(now - timedelta(hours=1))
            laws += await _audit(world, ledger, now, day, recorder, still=True)
        lasting = {k for k, f in world.faults.items() if f in LASTING and k in world.listed.states}
        if missed := lasting - ledger.open(confirmed=True):
            laws.append(f"{len(missed)} faults were not found by two cycles of audits")
    if left := ledger.open():
        laws.append(f"{len(left)} rows stay open though nothing is wrong")
    return laws


def _happen(random: Random, world: World, ledger: Ledger) -> None:
    """Let faults come and go, and rows change, between two audits."""
    keys = sorted(world.listed.states.keys() - world.faults.keys() - ledger.open())
    if keys and random.random() < 0.4:  # noqa: PLR2004 - a share of the days
        key = random.choice(keys)
        fault = world.faults[key] = random.choice((*LASTING, "stale", "healed"))
        if fault in ("lost", "healed"):
            world.mirror.pop(key, None)
        elif fault == "wrong" and key in world.mirror:
            world.mirror[key] = replace(world.mirror[key], digest=b"wrong")
        if fault == "healed":
            del world.faults[key]  # the next load brings the row back
    if world.faults and random.random() < 0.2:  # noqa: PLR2004 - likewise
        world.ended.add(key := random.choice(sorted(world.faults)))
        del world.faults[key]
    world.listed.inserted = world.listed.deleted = world.listed.edited = 0.2
    world.listed.move()


async def _audit(
    world: World, ledger: Ledger, now: datetime, day: int, recorder: Recorder, *, still: bool
) -> list[str]:
    """Audit one part; return the laws broken. `still`: the list is at rest."""
    ledger.settle(world)
    before = ledger.open(confirmed=True)
    alarms = {f: ledger.open(confirmed=True, codes=codes) for f, codes in CODES.items()}
    known = [ledger.parts[number] for number in sorted(ledger.parts)]
    listing = ListComparison(CONTACTS, world.page, world.detail, "UTC", Comparison())
    audit = PartAudit(
        listing, world.held, world.quarantined, known, world.loaded_at, now=lambda: now
    )
    await audit.compare_pages(SIZE, MOST, 2, turn=day, again=day % 2 == 1, without=())
    ledger.save(audit, now)
    after, open_rows = ledger.open(confirmed=True), ledger.open()
    recorder.counts["audits"] += 1
    recorder.counts["faults found"] += len(after - before)
    plan = listing.plan
    recorder.note(
        f"day {day}: part {plan.part} of {plan.parts}; {listing.comparison.state}; "
        f"open {sorted(map(str, open_rows))}; faults {world.faults}"
    )
    laws = []
    for fault, codes in CODES.items():
        there = {k for k, f in world.faults.items() if f == fault and k in world.listed.states}
        if closed := (alarms[fault] & there) - ledger.open(codes=codes):
            rows = sorted(map(str, closed))
            laws.append(f"day {day}: the alarm of {rows} closed, the fault is there")
    if still and (false := after - before - world.faults.keys() - world.ended):
        laws.append(f"day {day}: an alarm of {sorted(map(str, false))}, without a fault")
    if still and listing.comparison.state == "reconciled":
        lost = {k for k in audit.compared if world.faults.get(int(k)) == "lost"}
        if lost:
            laws.append(f"day {day}: a part that lacks {len(lost)} rows is reconciled")
    return laws
