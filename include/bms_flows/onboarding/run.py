"""Proposing a plan: look, decide, keep it; once a person has said yes, enter what was agreed to.

Steps for tasks, each safe to repeat: `plan_drop`, then `consent.agree` or `consent.refuse`, then
`begin`. Between them nothing travels but the drop's number and the plan's id.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from typing import Any

from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.ledger import entering, in_flight, matches, transitions
from bms_flows.onboarding.ledger.entry import Entry
from bms_flows.onboarding.planning import approval
from bms_flows.onboarding.planning.limits import Decision
from bms_flows.onboarding.planning.matching import to_read
from bms_flows.onboarding.planning.order import chunks
from bms_flows.onboarding.planning.plan import Action, Plan
from bms_flows.onboarding.planning.planner import make
from bms_flows.onboarding.planning.view import View, finders_named, keys_named
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting import audit
from bms_flows.onboarding.resources.snapshot import Snapshot
from bms_flows.onboarding.sending import drop_snapshot
from bms_flows.runtime.settings import MAX_MAPPED_TASKS


@dataclass(frozen=True)
class Proposal:
    """A plan, whether a person is asked about it, and what the audit of earlier creations found."""

    plan: Plan
    decision: Decision
    findings: tuple[audit.Finding, ...] = ()

    def text(self) -> str:
        """Return what a person approves: counts and the plan's id, nothing personal."""
        counts = ", ".join(f"{name} {count}" for name, count in self.plan.counts.items())
        return f"plan {self.plan.id[:12]}: {counts}. Asked because: {self.decision.why}."


@dataclass(frozen=True)
class Entered:
    """The plan that is being applied, and into how many chunks its rows fall."""

    plan_id: str
    chunks: int


async def plan_drop(
    onboarding: OnboardingContext, drop_id: int, sheet: Sheet, today: date, *, dry_run: bool = False
) -> Proposal:
    """Plan a drop and keep the plan; where nobody is asked it is agreed to by the setting.

    Where somebody is, what was said of the same plan before no longer counts; a dry run asks nobody.
    """
    began = await onboarding.ledger.now()
    taken, _ = await drop_snapshot.take(onboarding, sheet)
    view = await look(onboarding, drop_id, sheet, taken)
    plan = make(sheet, onboarding.resource, onboarding.identity, onboarding.rules, view)
    findings = await audit.audit(onboarding, view.shown)
    await asyncio.to_thread(
        drop_snapshot.store, onboarding, drop_id, sheet, taken, view.concerned_ids
    )
    decision = await _decide(onboarding, drop_id, plan, sheet, today, by_setting=not dry_run)
    if decision.ask and not dry_run:
        await asyncio.to_thread(approval.ask, onboarding, drop_id, plan, decision, began)
    return Proposal(plan, decision, tuple(findings))


async def begin(
    onboarding: OnboardingContext, drop_id: int, plan_id: str, sheet: Sheet, today: date
) -> Entered | Proposal:
    """Enter what was agreed to in the ledger; or return the new plan that needs a new yes.

    The ledger is read again, and of the service what is new since the plan. Where something has moved, the drop is
    planned anew, and that plan is applied only if it creates no more rows and no other data than
    a person agreed to; or if it is one, as the first was, about which the setting asks nobody.
    Where another drop has entered one of the same people since the look, all of that is done again.
    Raises `NotApproved`, also where the approval was taken back meanwhile.
    """
    began = await onboarding.ledger.now()
    agreed = await asyncio.to_thread(approval.kept, onboarding, drop_id, plan_id)
    if agreed.state == "applied":
        return Entered(plan_id, len(await chunks_of(onboarding, drop_id, plan_id)))
    if agreed.state != "approved":
        raise approval.NotApproved(
            f"plan {plan_id[:12]} of drop {drop_id} is {agreed.state}, not approved"
        )
    while True:
        taken, snapshot_id = await drop_snapshot.reuse(onboarding, drop_id, sheet)
        view = await look(onboarding, drop_id, sheet, taken)
        if snapshot_id is None:
            snapshot_id = await asyncio.to_thread(
                drop_snapshot.store, onboarding, drop_id, sheet, taken, view.concerned_ids
            )
        plan = make(sheet, onboarding.resource, onboarding.identity, onboarding.rules, view)
        if plan.id != plan_id:
            by_setting = str(agreed.decided_by).startswith(approval.SETTING)
            decision = await _decide(onboarding, drop_id, plan, sheet, today, by_setting=by_setting)
            if not plan.within(agreed.creates) and (decision.ask or not by_setting):
                await asyncio.to_thread(approval.ask, onboarding, drop_id, plan, decision, began)
                why = difference(agreed.creates, plan)
                return Proposal(plan, Decision(True, why, decision.breaches))
            approval.agree(
                onboarding, drop_id, plan.id, f"{agreed.decided_by}, within {plan_id[:12]}"
            )
        named = finders_named(sheet, onboarding.identity)
        if await asyncio.to_thread(_enter, onboarding, drop_id, plan, view, named, snapshot_id):
            return Entered(plan.id, len(await chunks_of(onboarding, drop_id, plan.id)))


def difference(agreed: Mapping[str, str], plan: Plan) -> str:
    """Return how a plan differs from what was agreed to, in figures."""
    new = plan.creates.keys() - agreed.keys()
    other = [key for key in plan.creates.keys() & agreed.keys() if plan.creates[key] != agreed[key]]
    return f"since the approval: {len(new)} more rows, {len(other)} with other data"


async def look(onboarding: OnboardingContext, drop_id: int, sheet: Sheet, taken: Snapshot) -> View:
    """Return what the ledger and a snapshot of the service say of the rows of a drop."""
    missing, names = frozenset[Any](), [*taken.lists]
    if onboarding.identity.scope is not None:
        scopes = drop_snapshot.scopes_of(onboarding, sheet)
        missing = frozenset(scope for scope in scopes if str(scope) not in taken.lists)
        names = [str(scope) for scope in scopes - missing]
    # The longest for which the engine allows a record that was made to be missing from the lists.
    since = taken.taken_at - transitions.EMPTY_LOOKUPS * onboarding.settings.settle
    entries = await onboarding.ledger.by_key(keys_named(sheet, onboarding.identity))
    open_keys = await asyncio.to_thread(_underway, onboarding, since)
    named = finders_named(sheet, onboarding.identity)
    before = await asyncio.to_thread(
        matches.of, onboarding.warehouse, onboarding.resource.name, named
    )
    view = View(
        entries,
        open_keys,
        list(taken.records.values()),
        missing,
        matched=before,
        since=since,
        drop_id=drop_id,
        headcount=len({i for name in names for i in taken.lists[name].fingerprints}),
        contains=taken.contains,
    )
    wanted = sorted(to_read(sheet, onboarding.resource, onboarding.identity, view))
    records = await asyncio.gather(*(onboarding.remote.read(remote_id) for remote_id in wanted))
    found = {i: record for i, record in zip(wanted, records, strict=True) if record is not None}
    return replace(view, records=found)


async def chunks_of(
    onboarding: OnboardingContext, drop_id: int, plan_id: str
) -> Sequence[Sequence[int]]:
    """Return the rows of the ledger that an applied plan has to bring to an end, by chunk.

    The same rows in the same chunks every time: a chunk's number is all that its task is told.
    """
    plan = await asyncio.to_thread(approval.kept, onboarding, drop_id, plan_id)
    keys = [r["key"] for r in plan.rows if r["action"] in (Action.CREATE, Action.RESUME)]
    entries: dict[str, Entry] = {}
    wanted = set(keys)
    while wanted:
        # A manager left unfinished by another drop would otherwise be waited for without end.
        found = await onboarding.ledger.by_key(wanted)
        entries |= found
        above = {e.manager_key for e in found.values() if e.manager_key}
        wanted = above - entries.keys()
    asked = set(keys)
    managers = [key for key in entries if key not in asked]
    manager_of = {key: e.manager_key for key, e in entries.items() if e.manager_key}
    cut = chunks(
        [key for key in [*sorted(managers), *keys] if key in entries],
        manager_of,
        onboarding.settings.chunk_rows,
        MAX_MAPPED_TASKS,
    )
    return [[entries[key].id for key in chunk] for chunk in cut]


async def apply_chunk(
    onboarding: OnboardingContext, drop_id: int, plan_id: str, number: int
) -> dict[str, int]:
    """Bring the rows of one chunk to an end; return how many stand where.

    Raises `RowsHeld` while another task works on some of them, and the client's errors.
    """
    rows = (await chunks_of(onboarding, drop_id, plan_id))[number]
    return {state.value: n for state, n in (await onboarding.applier().apply(rows)).items()}


async def _decide(
    onboarding: OnboardingContext,
    drop_id: int,
    plan: Plan,
    sheet: Sheet,
    today: date,
    *,
    by_setting: bool,
) -> Decision:
    decide = partial(approval.decide, by_setting=by_setting)
    return await asyncio.to_thread(decide, onboarding, drop_id, plan, today, sheet.cut_off)


def _underway(onboarding: OnboardingContext, since: datetime) -> dict[str, Collection[str]]:
    with onboarding.warehouse.connect() as connection:
        return in_flight.of(connection, onboarding.identity, since)


def _enter(
    onboarding: OnboardingContext,
    drop_id: int,
    plan: Plan,
    view: View,
    named: Collection[str],
    snapshot_id: int,
) -> bool:
    """Enter the plan's new rows and mark it applied, in one transaction.

    False, and nothing is entered, where other drops have entered rows since the `view` that are
    found by what this one's rows are (`named`). Raises `NotApproved` where it is no longer approved.
    """
    with onboarding.warehouse.begin() as connection:
        in_flight.in_turn(connection, plan.resource)
        if view.lacks(in_flight.of(connection, onboarding.identity, view.since), named):
            return False
        rows = [
            entering.New(
                line=row.line,
                key=row.key,
                digest=row.digest,
                body=row.body,
                manager_key=row.manager_key,
                reason=row.reason if row.action is Action.REVIEW else None,
                candidates=row.candidates,
            )
            for row in plan.rows
            if row.key is not None and row.action in {Action.CREATE, Action.REVIEW}
        ]
        attempts = onboarding.settings.create_attempts
        entering.enter(
            connection,
            plan.resource,
            drop_id,
            rows,
            attempts=attempts,
            snapshot_id=snapshot_id,
        )
        approval.applied(connection, drop_id, plan.id)
    return True
