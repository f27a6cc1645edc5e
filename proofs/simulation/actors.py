"""HR users and operators during a simulated onboarding: they type records, decide, drop again, restore."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from dataclasses import replace as plain
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from bms_flows.onboarding.ledger import decisions
from bms_flows.onboarding.ledger.entry import Entry, NewRow, State, Transition
from bms_flows.onboarding.planning.managers import reject_by_hierarchy
from bms_flows.onboarding.planning.matching import by_rules
from bms_flows.onboarding.planning.plan import Action, PlannedRow
from bms_flows.onboarding.resources.evidence import ServiceRecord
from proofs.simulation.clock import now
from proofs.simulation.ledger import IDENTITY, MemoryLedger
from proofs.simulation.service import SimulatedService, person

FORMS: Final[Mapping[str, tuple[int, Callable[[int, int], dict[str, Any]]]]] = {
    "same": (4, lambda _n, _: {}),
    "other_number": (2, lambda n, stranger: {"payroll_number": f"9{n:05}{stranger}"}),
    "other_form": (2, lambda n, _: {"payroll_number": f"{n:08}"}),
    "no_number": (1, lambda _n, _: {"payroll_number": None}),
    "namesake": (2, lambda n, stranger: {"payroll_number": f"8{n:05}{stranger}"}),
    "mistyped": (1, lambda _n, stranger: {"last_name": f"Autre{stranger}"}),
}
"""Forms in which an HR user types a row's record, by frequency; the last two are of other persons."""
RESTORED: Final = "restored"
STRANGER: Final = 1000
"""From this number on no person is in a dropped file."""


@dataclass
class Actors:
    """HR users, reviewers and operators around one ledger and one service."""

    random: Random
    ledger: MemoryLedger
    service: SimulatedService
    people: Sequence[int]
    strangers: int = 0
    backup: Mapping[int, Entry] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    """Records that a restore of the service took away."""
    acts: list[tuple[datetime, str]] = field(default_factory=list)

    def happens(self, share: float) -> bool:
        """Draw whether something happens that does so in a share of all runs."""
        return self.random.random() < share

    def type_in(self) -> None:
        """Type one record into the service by hand."""
        n = self.random.choice(self.people)
        [form] = self.random.choices(list(FORMS), [share for share, _ in FORMS.values()])
        given = FORMS[form][1](n, self.strangers)
        who = STRANGER + self.strangers if form in ("namesake", "mistyped") else n
        self.strangers += 1
        self.service.type_in(person(n, **given), who)
        self._note(f"typed {form}")

    def edit(self) -> None:
        """Change the number of a record, also to that of another person of the file."""
        records = [r for r in self.service.listed() if r.who < STRANGER]
        if not records:
            return
        record = self.random.choice(records)
        forms = (f"{record.who:06}", f"{record.who}", f"7{record.who:05}")
        number = self.random.choice((*forms, f"{self.random.choice(self.people):06}"))
        self.service.change(record, person(record.who, payroll_number=number))
        self._note("edited a number")

    async def drop(self) -> None:
        """Drop the file with any managers: enter each row as the planner would, unsent rows again."""
        taken = self.service.snapshot([1], now())
        by_digest: dict[str, list[ServiceRecord]] = defaultdict(list)
        for known in taken.records.values():
            for digest in {known.key, *known.other_digests} - {None}:
                by_digest[digest or ""].append(known)
        number = self.ledger.keep(taken)
        entries = {entry.key: entry for entry in self.ledger.rows.values()}
        bodies = {IDENTITY.key(person(n)) or "": person(n) for n in self.people}
        rows = [
            row
            for line, (key, body) in enumerate(bodies.items(), 2)
            if (row := self._planned(line, key, body, entries.get(key), by_digest)) is not None
        ]
        bosses = [None, *entries.keys(), *(row.key for row in rows)]
        rows = [plain(row, manager_key=self.random.choice(bosses)) for row in rows]
        for row in reject_by_hierarchy(rows, entries):
            if row.action in (Action.CREATE, Action.REVIEW):
                await self._enter(row, entries.get(row.key or ""), number)
        self._note("dropped the file")

    def _planned(
        self,
        line: int,
        key: str,
        body: Mapping[str, Any],
        entry: Entry | None,
        by_digest: Mapping[str, Sequence[ServiceRecord]],
    ) -> PlannedRow | None:
        """Return a row as the planner decides, None for a row that is finished or in the service already."""
        row = PlannedRow(line=line, action=Action.CREATE, key=key, body=body)
        if entry is not None and entry.state is State.REVIEW:
            return plain(row, action=Action.REVIEW)
        if entry is not None and entry.state is not State.REJECTED:
            if entry.state is not State.READY or not entry.unsent:
                return None
            if self.happens(0.5):
                return plain(row, action=Action.RESUME)
        match = by_rules(
            by_digest, IDENTITY.rules_by_digest(body), IDENTITY.comparison_digests(body), but=()
        )
        if match.known is not None or match.several:
            return None
        action = Action.CREATE if match.reason is None else Action.REVIEW
        return plain(row, action=action, reason=match.reason, candidates=match.candidates)

    async def _enter(self, row: PlannedRow, entry: Entry | None, snapshot: int) -> None:
        """Enter a row in the ledger; a row in any state that can't be reopened stays unchanged."""
        if entry is None:
            entry = self.ledger.rows[self.ledger.add(row.body)]
            self.ledger.rows[entry.id] = replace(entry, state=State.REJECTED)
        given = NewRow(
            line=row.line,
            key=entry.key,
            digest=entry.digest,
            body=row.body,
            manager_key=row.manager_key,
            reason=row.reason,
            candidates=row.candidates,
        )
        entered = partial(decisions.reopen, row=given, attempts=5, snapshot_id=snapshot)
        await self.ledger.change([entry.id], lambda e, at: entered(e, now=at))

    async def decide(self) -> bool:
        """Decide on every row in review like a reviewer who sees the service; return whether there was one."""
        waiting = [e for e in self.ledger.rows.values() if e.state is State.REVIEW]
        for entry in waiting:
            who = int(self.ledger.body[entry.id]["payroll_number"])
            own = [
                r
                for r in self.service.listed()
                if r.who == who and not await self.ledger.owners([r.known.remote_id])
            ]
            if own:
                adopt = partial(decisions.adopt_candidate, record=own[0].known)
                await self._decide(entry, "chose a record", adopt)
            elif self.happens(0.7):
                retry = partial(decisions.retry_after_review, run="r")
                await self._decide(entry, "decided create", retry)
            else:
                await self._decide(entry, "gave up", partial(decisions.give_up, run="r"))
        return bool(waiting)

    async def _decide(self, entry: Entry, act: str, decision: Callable[..., Transition]) -> None:
        await self.ledger.change([entry.id], lambda e, _: decision(e, who="ada"))
        self._note(act)

    def back_up(self) -> None:
        """Store a copy of the ledger."""
        self.backup = copy(self.ledger.rows)

    def restore_ledger(self) -> None:
        """Put the ledger back to its backup; no worker may be alive, and no create under way."""
        if self.backup:
            self.ledger.rows.update(self.backup)
            self.ledger.history += [(now(), n, RESTORED, e) for n, e in self.backup.items()]
            self._note("restored the ledger")

    def step_clock(self) -> None:
        """Put the database's clock forward."""
        self.ledger.ahead += timedelta(seconds=self.random.choice((30, 600)))
        self._note("put the clock forward")

    def delete(self) -> None:
        """Delete a record, typed or created, as an HR user does; the lists mark it."""
        if records := [r for r in self.service.listed() if r.who < STRANGER]:
            self.service.delete(self.random.choice(records))
            self._note("deleted a record")

    def restore_service(self, at: datetime) -> None:
        """Put the service back to how it was at a time."""
        lost = {r.known.remote_id for r in self.service.records if r.exists_from > at}
        self.service.records = [r for r in self.service.records if r.exists_from <= at]
        self.lost |= lost
        self._note("restored the service")

    def _note(self, act: str) -> None:
        self.acts.append((now(), act))
