"""Check of ledger rows against the service, before a POST and after an ambiguous outcome.

One refresh of the lists serves all rows of a chunk.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from bms_flows.onboarding.ledger import decisions, transitions
from bms_flows.onboarding.ledger.entry import LISTS_INCOMPLETE, BootTime, Entry, State
from bms_flows.onboarding.ledger.store import NextTransition, PostgresLedger, RemoteIdConflict
from bms_flows.onboarding.resources.evidence import (
    Ambiguous,
    Found,
    NothingFound,
    ServiceRecord,
    Verdict,
    agreeing,
    contradicted,
)
from bms_flows.onboarding.resources.match_rules import rules_version
from bms_flows.onboarding.resources.remote import require_scopes
from bms_flows.onboarding.resources.service_remote import ServiceRemote
from bms_flows.onboarding.resources.snapshot import ServiceLists
from bms_flows.onboarding.sending import absence
from bms_flows.onboarding.sending.verdicts import RowBodies, verdicts
from bms_flows.onboarding.settings import OnboardingSettings


class CheckTooSlow(Exception):
    """Reading the service takes longer than the maximum age of a check."""

    retriable = True

    def __init__(self, seconds: float, max_age_s: float) -> None:
        super().__init__(
            f"checking the service took {seconds:.0f} s, longer than a check is valid ({max_age_s:g} s);"
            " the task is retried: check the response times of the service"
        )


@dataclass
class ServiceCheck:
    """Checks rows for one lease holder; caches the latest snapshot between calls."""

    ledger: PostgresLedger
    remote: ServiceRemote
    settings: OnboardingSettings
    owner: str
    clock: Callable[[], BootTime]
    _current: ServiceLists | None = None
    _earlier: dict[int | None, ServiceLists | None] = field(default_factory=lambda: {None: None})
    _stored_scopes: set[Any] = field(default_factory=set)
    """Scopes of the stored snapshots: records of all of them are compared."""

    async def before_sending(self, rows: RowBodies) -> bool:
        """Check READY rows: adopt existing records, send possible matches to review.

        The remaining rows may be sent within `check_max_age`. False if the lists lack records that the
        service has: the rows must be checked again later. Raises `CheckTooSlow`, `ListUnsettled`,
        `ScopeUnlisted` and the client's errors.
        """
        rows = await self.by_returned_ids(rows)
        if not rows:
            return True
        shown, age = await self._refreshed(rows)
        if age > self.settings.check_max_age:
            # Reads only what is new since the first refresh.
            shown, age = await self._refreshed(rows)
        if age > self.settings.check_max_age:
            raise CheckTooSlow(age.total_seconds(), self.settings.check_max_age_s)
        clear = []
        for number, verdict in (await self._verdicts(rows, shown)).items():
            if isinstance(verdict, NothingFound):
                clear.append(number)
            else:
                await self._record(number, verdict)
        # A reviewer may send a row although the lists are incomplete.
        decided = {n for n in clear if rows[n][0].reason == LISTS_INCOMPLETE}
        if len(decided) < len(clear) and await self._incomplete(rows, shown):
            await self._mark_checked(decided, shown)
            clear = [number for number in clear if number not in decided]
            doubtful = partial(
                transitions.record_doubtful_check, owner=self.owner, doubt=LISTS_INCOMPLETE
            )
            await self.ledger.change(clear, lambda entry, _: doubtful(entry))
            return False
        await self._mark_checked(clear, shown)
        return True

    async def _mark_checked(self, rows: Collection[int], shown: ServiceLists) -> None:
        checked = partial(transitions.record_check, owner=self.owner, checked_at=shown.taken_at)
        await self.ledger.change(rows, lambda entry, _: checked(entry))

    async def by_returned_ids(self, rows: RowBodies) -> RowBodies:
        """Settle rows by their returned ids, where these are readable; return the remaining rows."""
        return {
            number: (entry, body)
            for number, (entry, body) in rows.items()
            if not await self._by_returned_id(entry, body)
        }

    async def _by_returned_id(self, entry: Entry, body: Mapping[str, Any]) -> bool:
        """Adopt the record of the returned id, or send it to review; return whether it did either.

        A row without a POST in progress waits for no record: an id that can't be read goes to review.
        """
        if entry.returned_id is None or entry.returned_id in entry.dismissed:
            return False
        candidates = (entry.returned_id,)
        await self._load({entry.snapshot_id})
        record = await self.remote.read(entry.returned_id)
        if record is None:
            if entry.state is State.READY:
                await self._record(entry.id, Ambiguous(candidates, "id_not_readable"))
            return entry.state is State.READY
        known = self.remote.known(record)
        comparison_fields = self.remote.identity.comparison_digests(body)
        other = contradicted(comparison_fields, known.comparison_fields)
        if not other and not self.existed(entry, entry.returned_id):
            agree = agreeing(comparison_fields, known.comparison_fields)
            found = Found(known, ("returned_id", *agree))
            deleted = Ambiguous(candidates, "candidate_deleted")
            await self._record(entry.id, deleted if known.deleted else found)
            return True
        if entry.state is State.READY or entry.empty_lookups + 1 >= transitions.EMPTY_LOOKUPS:
            await self._record(entry.id, Ambiguous(candidates, "returned_other_data"))
            return True
        # The response may belong to another request: the lists may show the row's record.
        return False

    def existed(self, entry: Entry, remote_id: str) -> bool:
        """Return whether a record is older than the row's first POST, so that no POST of the row created it."""
        earlier = self._earlier.get(entry.snapshot_id)
        return earlier is not None and earlier.contains(remote_id)

    async def after_sending(self, rows: RowBodies) -> None:
        """Settle UNKNOWN rows, all of them due, by the current lists."""
        rows = await self.by_returned_ids(rows)
        if not rows:
            return
        clock = self.clock()
        shown = await self._refresh(rows)
        verdicts = await self._verdicts(rows, shown)
        doubt, until = None, dict[str, float]()
        if any(isinstance(verdict, NothingFound) for verdict in verdicts.values()):
            own = await self.ledger.confirmed(clock.boot)
            until = absence.up_to_date_until(shown, own, clock, self.settings.in_flight)
            if await self._incomplete(rows, shown):
                doubt = LISTS_INCOMPLETE
        for number, verdict in verdicts.items():
            entry, body = rows[number]
            if not isinstance(verdict, NothingFound):
                await self._record(number, verdict)
                continue
            list_until = until.get(self.remote.list_of(body), absence.NEVER)
            proven = absence.proves_absence(entry, clock, list_until)
            code = doubt or (None if proven else absence.UNPROVEN)
            step = self._empty_lookup(shown.taken_at, clock, code)
            await self.ledger.change([number], step)

    def _empty_lookup(self, at: datetime, clock: BootTime, doubt: str | None) -> NextTransition:
        owner, settle = self.owner, self.settings.settle
        return lambda entry, _: transitions.record_empty_lookup(
            entry, owner=owner, started_at=at, clock=clock, settle=settle, doubt=doubt
        )

    async def _incomplete(self, rows: RowBodies, shown: ServiceLists) -> bool:
        """Return whether the lists lack records of the rows' snapshots, or of confirmed creates."""
        clock = self.clock()
        settled = clock.seconds - self.settings.settle_s
        snapshots = (self._earlier[entry.snapshot_id] for entry, _ in rows.values())
        earlier = {i for each in snapshots if each is not None for i in each.ids(shown.lists)}
        confirmed = (
            remote_id
            for remote_id, entry in (await self.ledger.confirmed(clock.boot)).items()
            if (entry.in_flight_until_s or settled) < settled
        )
        listed = shown.ids(shown.lists)
        lacking, explained = earlier - listed, 0
        for remote_id in absence.sample(lacking.union(confirmed) - listed):
            record = await self.remote.read(remote_id)
            if record is None:
                continue
            known = self.remote.known(record)
            if not known.deleted and self.remote.list_of(known.values) in shown.lists:
                return True
            explained += remote_id in lacking
        return absence.lacks_most(len(lacking) - explained, len(earlier))

    async def _refreshed(self, rows: RowBodies) -> tuple[ServiceLists, timedelta]:
        shown = await self._refresh(rows)
        return shown, await self.ledger.now() - shown.taken_at

    async def _refresh(self, rows: RowBodies) -> ServiceLists:
        """Return a snapshot that starts now and contains what is new since the rows' own snapshots."""
        at = await self.ledger.now()
        wanted = {entry.snapshot_id for entry, _ in rows.values()}
        await self._load(wanted)
        base = self._current or _earliest([self._earlier[each] for each in wanted])
        scopes = {self.remote.identity.scope_of(body) for _, body in rows.values()}
        if base is None:
            found = await self.remote.read_all(scopes | self._stored_scopes, at)
            self._current = require_scopes(found, scopes - {None})
        else:
            self._current = await self.remote.refresh(base, scopes, at)
        return self._current

    async def _load(self, snapshots: Collection[int | None]) -> None:
        """Load stored snapshots; those of other match rules can't be compared."""
        unknown = {*snapshots} - self._earlier.keys()
        if not unknown:
            return
        stored = await self.ledger.snapshots([each for each in unknown if each is not None])
        current = rules_version(self.remote.resource.region)
        if self.remote.identity.scope is not None:
            self._stored_scopes |= {int(name) for each in stored.values() for name in each.lists}
        usable = {number: each for number, each in stored.items() if each.rules == current}
        self._earlier.update({each: usable.get(each or 0) for each in unknown})
        self._current = None  # it may lack records that are new for these rows

    async def _verdicts(self, rows: RowBodies, shown: ServiceLists) -> dict[int, Verdict]:
        return await verdicts(self.ledger, self.remote.identity, rows, self._earlier, shown)

    async def _record(self, number: int, verdict: Found | Ambiguous) -> None:
        """Commit the transition for a verdict."""
        try:
            await self.ledger.change([number], self._step(verdict))
        except RemoteIdConflict:
            if isinstance(verdict, Found) and await self._released(verdict.known):
                await self._record(number, verdict)
                return
            candidates = (verdict.known.remote_id,) if isinstance(verdict, Found) else ()
            conflict = Ambiguous(candidates, "found_for_another_row")
            await self.ledger.change([number], self._step(conflict))

    async def _released(self, known: ServiceRecord) -> bool:
        """Release a record from the row that owned its id before the service gave the id to another person."""
        owners = await self.ledger.owners([known.remote_id])
        entries = (await self.ledger.by_key({*owners.values()})).values()
        bodies = await self.ledger.bodies([entry.id for entry in entries])
        reused = [
            entry.id
            for entry in entries
            if entry.id in bodies
            and entry.key not in {known.key, *known.other_digests}
            and contradicted(
                self.remote.identity.comparison_digests(bodies[entry.id]), known.comparison_fields
            )
        ]
        lost = partial(decisions.lose_record, remote_id=known.remote_id)
        return bool(reused and await self.ledger.change(reused, lambda entry, _: lost(entry)))

    def _step(self, verdict: Found | Ambiguous) -> NextTransition:
        owner = self.owner
        match verdict:
            case Found(known, evidence):
                return lambda entry, _: transitions.adopt(
                    entry, owner=owner, record=known, evidence=evidence
                )
            case Ambiguous(candidates, reason):
                return lambda entry, _: transitions.send_to_review(
                    entry,
                    owner=owner,
                    candidates=tuple(dict.fromkeys([*_returned(entry), *candidates])),
                    reason=reason,
                )


def _returned(entry: Entry) -> tuple[str, ...]:
    """Return the id that the last POST returned, unless a reviewer decided against it."""
    returned_id = entry.returned_id
    return () if returned_id is None or returned_id in entry.dismissed else (returned_id,)


def _earliest(snapshots: Sequence[ServiceLists | None]) -> ServiceLists | None:
    """Return the earliest of several snapshots, with the lists of all; None if one is missing."""
    known = [each for each in snapshots if each is not None]
    if not known or len(known) < len(snapshots):
        return None
    known.sort(key=lambda each: each.taken_at, reverse=True)
    lists = {name: state for each in known for name, state in each.lists.items()}
    return msgspec.structs.replace(known[-1], lists=lists)
