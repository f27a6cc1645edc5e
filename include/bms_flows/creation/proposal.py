"""Proposing a plan: look, decide, keep it; take a person's yes or no; enter what was agreed to.

Steps for tasks, each safe to repeat: `plan_drop`, then `agree` or `refuse`, then `begin`. Between
them nothing travels but the drop's number and the plan's id.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from bms.errors import NotFound
from bms_flows.creation import audit, entering, faults, limits, matches, states, underway
from bms_flows.creation.entry import Entry
from bms_flows.creation.limits import Decision
from bms_flows.creation.matching import to_read
from bms_flows.creation.order import chunks
from bms_flows.creation.plan import Action, Plan, Planned
from bms_flows.creation.planner import make
from bms_flows.creation.view import View, finders_named, keys_named
from bms_flows.creation.workbench import Workbench
from bms_flows.drops.sheet import Sheet
from bms_flows.invoices.plan import MAPPED
from bms_warehouse.database import clock
from bms_warehouse.tables import creation_plan

SETTING = "BMS_APPROVAL"
"""Who is named where nobody was asked."""


class NotAgreed(Exception):
    """The plan was not approved, or is none of this drop's."""

    retriable = False


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
class Begun:
    """The plan that is being applied, and into how many chunks its rows fall."""

    plan_id: str
    chunks: int


async def plan_drop(
    bench: Workbench, drop_id: int, sheet: Sheet, today: date, *, dry_run: bool = False
) -> Proposal:
    """Plan a drop and keep the plan; where nobody is asked it is agreed to by the setting.

    Where somebody is, what was said of the same plan before no longer counts; a dry run asks nobody.
    """
    began = await bench.ledger.now()
    view = await look(bench, drop_id, sheet)
    plan = make(sheet, bench.resource, bench.identity, bench.rules, view)
    decision = limits.decide(plan, bench.rules.plan, bench.settings.approval, today)
    findings = await audit.audit(bench, view.shown)
    await asyncio.to_thread(_keep, bench, drop_id, plan, decision)
    if not decision.ask:
        agree(bench, drop_id, plan.id, SETTING)
    elif not dry_run:
        await asyncio.to_thread(_ask, bench, drop_id, plan, decision, began)
    return Proposal(plan, decision, tuple(findings))


def agree(bench: Workbench, drop_id: int, plan_id: str, who: str) -> None:
    """Take `who`'s yes to a plan; also later, to one that was refused."""
    _settle(bench, drop_id, plan_id, "approved", who, ("made", "refused"))


def refuse(bench: Workbench, drop_id: int, plan_id: str, who: str) -> None:
    """Take `who`'s no to a plan, or that time is over; also to one approved and not entered."""
    _settle(bench, drop_id, plan_id, "refused", who, ("made", "approved"))


async def begin(
    bench: Workbench, drop_id: int, plan_id: str, sheet: Sheet, today: date
) -> Begun | Proposal:
    """Enter what was agreed to in the ledger; or return the new plan that needs a new yes.

    Everything the plan was bound to is looked at again. Where something has moved, the drop is
    planned anew, and that plan is applied only if it creates no more rows and no other data than
    a person agreed to; or if it is one, as the first was, about which the setting asks nobody.
    Where another drop has entered one of the same people since the look, all of that is done again.
    Raises `NotAgreed`, also where the approval was taken back meanwhile.
    """
    began = await bench.ledger.now()
    agreed = await asyncio.to_thread(kept, bench, drop_id, plan_id)
    if agreed.state == "applied":
        return Begun(plan_id, len(await chunks_of(bench, drop_id, plan_id)))
    if agreed.state != "approved":
        raise NotAgreed(f"plan {plan_id[:12]} of drop {drop_id} is {agreed.state}, not approved")
    while True:
        view = await look(bench, drop_id, sheet)
        plan = make(sheet, bench.resource, bench.identity, bench.rules, view)
        if plan.id != plan_id:
            decision = limits.decide(plan, bench.rules.plan, bench.settings.approval, today)
            await asyncio.to_thread(_keep, bench, drop_id, plan, decision)
            by_setting = str(agreed.decided_by).startswith(SETTING)
            if not plan.within(agreed.creates) and (decision.ask or not by_setting):
                await asyncio.to_thread(_ask, bench, drop_id, plan, decision, began)
                why = difference(agreed.creates, plan)
                return Proposal(plan, Decision(True, why, decision.breaches))
            agree(bench, drop_id, plan.id, f"{agreed.decided_by}, within {plan_id[:12]}")
        named = finders_named(sheet, bench.identity)
        if await asyncio.to_thread(_enter, bench, drop_id, plan, view, named):
            return Begun(plan.id, len(await chunks_of(bench, drop_id, plan.id)))


def difference(agreed: Mapping[str, str], plan: Plan) -> str:
    """Return how a plan differs from what was agreed to, in figures."""
    new = plan.creates.keys() - agreed.keys()
    other = [key for key in plan.creates.keys() & agreed.keys() if plan.creates[key] != agreed[key]]
    return f"since the approval: {len(new)} more rows, {len(other)} with other data"


async def look(bench: Workbench, drop_id: int, sheet: Sheet) -> View:
    """Read what ledger and service say of the rows of a drop."""
    usable = [row.values for row in sheet.rows if not sheet.faults_of(row)]
    scopes = {bench.identity.scope_of(values) for values in usable}
    if bench.identity.scope is not None:
        scopes.discard(None)
    # The longest for which the engine allows a record that was made to be missing from the lists.
    since = await bench.ledger.now() - states.LOOKS * bench.settings.settle
    shown, unknown = [], set()
    for scope in sorted(scopes, key=str):
        try:
            shown += await bench.remote.shown([scope])
        except NotFound:
            unknown.add(scope)
    entries = await bench.ledger.by_key(keys_named(sheet, bench.identity))
    open_keys = await asyncio.to_thread(_underway, bench, since)
    named = finders_named(sheet, bench.identity)
    before = await asyncio.to_thread(matches.of, bench.warehouse, bench.resource.name, named)
    missing = frozenset(unknown)
    view = View(entries, open_keys, shown, missing, matched=before, since=since, drop_id=drop_id)
    wanted = sorted(to_read(sheet, bench.resource, bench.identity, view))
    records = await asyncio.gather(*(bench.remote.read(remote_id) for remote_id in wanted))
    found = {i: record for i, record in zip(wanted, records, strict=True) if record is not None}
    return replace(view, records=found)


async def chunks_of(bench: Workbench, drop_id: int, plan_id: str) -> Sequence[Sequence[int]]:
    """Return the rows of the ledger that an applied plan has to bring to an end, by chunk.

    The same rows in the same chunks every time: a chunk's number is all that its task is told.
    """
    plan = await asyncio.to_thread(kept, bench, drop_id, plan_id)
    keys = [r["key"] for r in plan.rows if r["action"] in (Action.CREATE, Action.RESUME)]
    entries: dict[str, Entry] = {}
    wanted = set(keys)
    while wanted:
        # A manager left unfinished by another drop would otherwise be waited for without end.
        found = await bench.ledger.by_key(wanted)
        entries |= found
        above = {e.manager_key for e in found.values() if e.manager_key}
        wanted = above - entries.keys()
    asked = set(keys)
    managers = [key for key in entries if key not in asked]
    manager_of = {key: e.manager_key for key, e in entries.items() if e.manager_key}
    cut = chunks(
        [key for key in [*sorted(managers), *keys] if key in entries],
        manager_of,
        bench.settings.chunk_rows,
        MAPPED,
    )
    return [[entries[key].id for key in chunk] for chunk in cut]


async def apply_chunk(bench: Workbench, drop_id: int, plan_id: str, number: int) -> dict[str, int]:
    """Bring the rows of one chunk to an end; return how many stand where.

    Raises `RowsHeld` while another task works on some of them, and the client's errors.
    """
    rows = (await chunks_of(bench, drop_id, plan_id))[number]
    return {state.value: n for state, n in (await bench.applier().apply(rows)).items()}


def kept(bench: Workbench, drop_id: int, plan_id: str) -> Row[*tuple[Any, ...]]:
    """Return a plan as it was kept."""
    with bench.warehouse.connect() as connection:
        found = connection.execute(select(creation_plan).where(_is(drop_id, plan_id))).one_or_none()
    if found is None:
        raise NotAgreed(f"drop {drop_id} has no plan {plan_id[:12]}")
    return found


def _is(drop_id: int, plan_id: str) -> ColumnElement[bool]:
    return (creation_plan.c.drop_id == drop_id) & (creation_plan.c.id == plan_id)


def _keep(bench: Workbench, drop_id: int, plan: Plan, decision: Decision) -> None:
    with bench.warehouse.begin() as connection:
        connection.execute(
            upsert(creation_plan)
            .values(
                drop_id=drop_id,
                id=plan.id,
                resource=plan.resource,
                state="made",
                bound=asdict(plan.bound) | {"headcount": plan.headcount},
                counts=plan.counts,
                breaches=[asdict(breach) for breach in decision.breaches],
                creates=plan.creates,
                rows=[_row(row) for row in plan.rows],
                made_at=clock(connection),
            )
            .on_conflict_do_nothing()
        )


def _ask(bench: Workbench, drop_id: int, plan: Plan, decision: Decision, began: datetime) -> None:
    """Let a plan wait for an answer, whatever was said of it before the asking task `began`.

    What was said since stands: another try of the task has asked, and was answered.
    """
    decided_at = creation_plan.c.decided_at
    with bench.warehouse.begin() as connection:
        connection.execute(
            update(creation_plan)
            .where(_is(drop_id, plan.id), creation_plan.c.state != "applied")
            .where(or_(decided_at.is_(None), decided_at < began))
            .values(
                state="made",
                breaches=[asdict(breach) for breach in decision.breaches],
                made_at=clock(connection),
                decided_by=None,
                decided_at=None,
            )
        )


def _row(row: Planned) -> dict[str, Any]:
    """Return a planned row without a value of it."""
    return {
        "line": row.line,
        "action": row.action,
        "key": row.key,
        "digest": row.digest,
        "reason": row.reason,
        "faults": [faults.as_kept(fault) for fault in row.faults],
        "differences": [each.name for each in row.differences],
        "candidates": list(row.candidates),
        "remote_id": row.known.remote_id if row.known else None,
        "remote_number": row.known.number if row.known else None,
        "is_standby": row.known.is_standby if row.known else None,
    }


def _settle(
    bench: Workbench, drop_id: int, plan_id: str, state: str, who: str, possible: tuple[str, ...]
) -> None:
    with bench.warehouse.begin() as connection:
        connection.execute(
            update(creation_plan)
            .where(_is(drop_id, plan_id), creation_plan.c.state.in_(possible))
            .values(state=state, decided_by=who, decided_at=clock(connection))
        )


def _underway(bench: Workbench, since: datetime) -> dict[str, Collection[str]]:
    with bench.warehouse.connect() as connection:
        return underway.of(connection, bench.identity, since)


def _enter(bench: Workbench, drop_id: int, plan: Plan, view: View, named: Collection[str]) -> bool:
    """Enter the plan's new rows and mark it applied, in one transaction.

    False, and nothing is entered, where other drops have entered rows since the `view` that are
    found by what this one's rows are (`named`). Raises `NotAgreed` where it is no longer approved.
    """
    with bench.warehouse.begin() as connection:
        underway.in_turn(connection, plan.resource)
        if view.lacks(underway.of(connection, bench.identity, view.since), named):
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
        attempts = bench.settings.create_attempts
        entering.enter(connection, plan.resource, drop_id, rows, attempts=attempts)
        marked = connection.execute(
            update(creation_plan)
            .where(_is(drop_id, plan.id), creation_plan.c.state.in_(("approved", "applied")))
            .values(state="applied", applied_at=clock(connection))
        )
        if not marked.rowcount:
            raise NotAgreed(f"the approval of plan {plan.id[:12]} of drop {drop_id} was taken back")
    return True
