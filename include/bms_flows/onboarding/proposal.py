"""First stages of an onboarding: plan a drop, and enter an approved plan in the ledger.

Each stage is idempotent; stages pass only the drop's number and the plan's id to each other.
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.execution import apply_decision, chunks_of
from bms_flows.onboarding.ledger import entering, matches, transitions
from bms_flows.onboarding.ledger.store import with_managers
from bms_flows.onboarding.planning import approval
from bms_flows.onboarding.planning.limits import ApprovalDecision, ApprovalReason
from bms_flows.onboarding.planning.matching import records_to_read
from bms_flows.onboarding.planning.order import cyclic
from bms_flows.onboarding.planning.plan import Action, Plan, PlanInputs, PlannedRow
from bms_flows.onboarding.planning.planner import make
from bms_flows.onboarding.planning.view import PlanningView, keys_of, match_keys_of
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.duplicates import DuplicateFinding, find_duplicates
from bms_flows.onboarding.reporting.question import reason_text
from bms_flows.onboarding.reporting.review import (
    CREATE,
    ChosenRows,
    ReviewDecision,
    bodies_to_send,
)
from bms_flows.onboarding.resources.snapshot import ServiceLists
from bms_flows.onboarding.sending.drop_lists import scopes_of
from bms_warehouse.locks import Busy


@dataclass(frozen=True)
class Proposal:
    """A plan, whether it needs approval, and the duplicates of earlier creations."""

    plan: Plan
    decision: ApprovalDecision
    findings: tuple[DuplicateFinding, ...] = ()

    def text(self) -> str:
        """Return the plan for logs: its id, counts, and why it needs approval or not."""
        counts = ", ".join(f"{name} {count}" for name, count in self.plan.counts.items())
        why = "; ".join(reason_text(each, "EN") for each in self.decision.reasons)
        return f"plan {self.plan.id[:12]}: {counts}. Approval: {why}."


@dataclass(frozen=True)
class Entered:
    """An approved plan whose rows are in the ledger, and its number of chunks."""

    plan_id: str
    chunks: int


async def plan_drop(
    onboarding: OnboardingContext,
    drop_id: int,
    sheet: Sheet,
    today: date,
    *,
    dry_run: bool = False,
) -> Proposal:
    """Plan a drop, save the plan, and request approval if needed; a dry run requests none.

    A new request resets earlier decisions on the same plan. Without approval `BMS_APPROVAL` approves.
    """
    began = await onboarding.ledger.now()
    snapshots = onboarding.snapshots(drop_id, sheet)
    snapshot = await snapshots.take()
    view = await view_of(onboarding, drop_id, sheet, snapshot)
    plan = make(sheet, onboarding.resource, onboarding.identity, onboarding.rules, view)
    findings = await find_duplicates(
        onboarding.warehouse, onboarding.ledger, onboarding.identity, view.shown
    )
    await snapshots.save(snapshot, view.matched_ids)
    decision = await _decide(onboarding, drop_id, plan, sheet, today, by_setting=not dry_run)
    if decision.ask and not dry_run:
        await asyncio.to_thread(
            approval.request, onboarding.warehouse, drop_id, plan, decision, began
        )
    return Proposal(plan, decision, tuple(findings))


async def begin(
    onboarding: OnboardingContext, drop_id: int, plan_id: str, sheet: Sheet, today: date
) -> Entered | Proposal:
    """Enter the rows of an approved plan in the ledger, or return a new plan that needs approval.

    The drop is planned again with the current ledger and new records of the service. A different plan
    is entered only if it creates no more rows and no other data than the approved plan, or if the
    setting approved both. Repeats if another drop entered a row for the same person in between. Raises
    `NotApproved`, also if the approval is withdrawn in between.
    """
    began = await onboarding.ledger.now()
    engine, snapshots = onboarding.warehouse, onboarding.snapshots(drop_id, sheet)
    approved = await asyncio.to_thread(approval.require_approved, engine, drop_id, plan_id)
    if approved.state == "applied":
        return Entered(plan_id, len(await chunks_of(onboarding, drop_id, plan_id)))
    while True:
        snapshot, snapshot_id = await snapshots.reuse()
        view = await view_of(onboarding, drop_id, sheet, snapshot)
        if snapshot_id is None:
            snapshot_id = await snapshots.save(snapshot, view.matched_ids)
        plan = make(sheet, onboarding.resource, onboarding.identity, onboarding.rules, view)
        if plan.id != plan_id:
            by_setting = str(approved.decided_by).startswith(approval.SETTING)
            decision = await _decide(onboarding, drop_id, plan, sheet, today, by_setting=by_setting)
            if not plan.within(approved.creates) and (decision.ask or not by_setting):
                changes = changes_since_approval(approved.creates, plan)
                decision = replace(decision, ask=True, reasons=changes)
                await asyncio.to_thread(approval.request, engine, drop_id, plan, decision, began)
                return Proposal(plan, decision)
            approver = f"{approved.decided_by}, within {plan_id[:12]}"
            approval.approve(engine, drop_id, plan.id, approver)
        match_keys = match_keys_of(sheet, onboarding.identity)
        if await asyncio.to_thread(
            _enter, onboarding, drop_id, plan, view, match_keys, snapshot_id
        ):
            return Entered(plan.id, len(await chunks_of(onboarding, drop_id, plan.id)))


async def release(
    onboarding: OnboardingContext,
    drop_id: int,
    chosen: ChosenRows,
    decision: ReviewDecision,
    today: date,
) -> Proposal | None:
    """Apply a reviewer's decision, or return a plan of the rows to create that needs approval.

    Released rows count towards the day's limit like planned rows.
    """
    if decision.choice == CREATE:
        began = await onboarding.ledger.now()
        plan = await _plan_of_released(onboarding, chosen, decision)
        needed = await asyncio.to_thread(
            approval.decide,
            onboarding.warehouse,
            onboarding.settings,
            onboarding.rules.plan,
            drop_id,
            plan,
            today,
            None,
            by_setting=True,
        )
        if needed.ask:
            await asyncio.to_thread(
                approval.request, onboarding.warehouse, drop_id, plan, needed, began
            )
            return Proposal(plan, needed)
    await apply_decision(onboarding, chosen.rows, decision)
    return None


async def _plan_of_released(
    onboarding: OnboardingContext, chosen: ChosenRows, decision: ReviewDecision
) -> Plan:
    bodies = await bodies_to_send(onboarding.ledger, chosen.rows)
    rows = (
        PlannedRow(
            line=line,
            action=Action.CREATE,
            key=entry.key,
            digest=entry.digest,
            body=bodies[entry.id],
            manager_key=entry.manager_key,
        )
        for line, entry in chosen.by_line.items()
    )
    bound = PlanInputs(chosen.plan_id, decision.run, "", onboarding.rules.version)
    scopes = (chosen.headcount, chosen.empty_scopes)
    return Plan(onboarding.resource.name, bound, tuple(rows), *scopes)


def changes_since_approval(approved: Mapping[str, str], plan: Plan) -> tuple[ApprovalReason, ...]:
    """Return the difference between a plan and the approved creates, in figures."""
    new = plan.creates.keys() - approved.keys()
    other = [k for k in plan.creates.keys() & approved.keys() if plan.creates[k] != approved[k]]
    found = {"more_rows": len(new), "other_data": len(other)}
    return tuple(ApprovalReason(code, str(rows)) for code, rows in found.items() if rows)


async def view_of(
    onboarding: OnboardingContext, drop_id: int, sheet: Sheet, snapshot: ServiceLists
) -> PlanningView:
    """Return the planner's view of the ledger and of a snapshot of the service."""
    unknown_scopes, names = frozenset[Any](), [*snapshot.lists]
    if onboarding.identity.scope is not None:
        scopes = scopes_of(onboarding.identity, sheet)
        unknown_scopes = frozenset(scope for scope in scopes if str(scope) not in snapshot.lists)
        names = [str(scope) for scope in scopes - unknown_scopes]
    listed = [snapshot.lists[name].rows for name in names]
    headcount = len({i for fingerprints in listed for i in fingerprints})
    # A resource without scopes has several lists of the same records.
    parts = listed if onboarding.identity.scope is not None else [headcount]
    # A created record may be missing from the lists for this long.
    since = snapshot.taken_at - transitions.EMPTY_LOOKUPS * onboarding.settings.settle
    entries = await with_managers(onboarding.ledger, keys_of(sheet, onboarding.identity))
    in_flight = await asyncio.to_thread(_rows_in_flight, onboarding, since)
    matched = await asyncio.to_thread(
        matches.load,
        onboarding.warehouse,
        onboarding.resource.name,
        match_keys_of(sheet, onboarding.identity),
    )
    view = PlanningView(
        entries,
        in_flight,
        list(snapshot.records.values()),
        unknown_scopes,
        matched=matched,
        since=since,
        drop_id=drop_id,
        headcount=headcount,
        empty_scopes=sum(not part for part in parts),
        contains=snapshot.contains,
    )
    wanted = sorted(records_to_read(sheet, onboarding.resource, onboarding.identity, view))
    records = await asyncio.gather(*(onboarding.remote.read(remote_id) for remote_id in wanted))
    found = {i: record for i, record in zip(wanted, records, strict=True) if record is not None}
    return replace(view, records=found)


async def _decide(
    onboarding: OnboardingContext,
    drop_id: int,
    plan: Plan,
    sheet: Sheet,
    today: date,
    *,
    by_setting: bool,
) -> ApprovalDecision:
    return await asyncio.to_thread(
        approval.decide,
        onboarding.warehouse,
        onboarding.settings,
        onboarding.rules.plan,
        drop_id,
        plan,
        today,
        sheet.truncated_at,
        by_setting=by_setting,
    )


def _rows_in_flight(onboarding: OnboardingContext, since: datetime) -> dict[str, Collection[str]]:
    with onboarding.warehouse.connect() as connection:
        return entering.rows_in_flight(connection, onboarding.identity, since)


def _enter(
    onboarding: OnboardingContext,
    drop_id: int,
    plan: Plan,
    view: PlanningView,
    match_keys: Collection[str],
    snapshot_id: int,
) -> bool:
    """Enter the plan's new rows and mark the plan as applied, in one transaction.

    Returns False, and enters nothing, if other drops entered rows with the same match keys since the
    `view`. Raises `NotApproved`, and `Busy` if a row that another task holds keeps its earlier manager,
    so that the managers would form a cycle.
    """
    with onboarding.warehouse.begin() as connection:
        entering.lock_entering(connection, plan.resource)
        in_flight = entering.rows_in_flight(connection, onboarding.identity, view.since)
        if view.is_outdated(in_flight, match_keys):
            return False
        digests = {
            row.key: onboarding.identity.rules_by_digest(row.body) for row in plan.rows if row.key
        }
        rows = [
            entering.NewRow(
                line=row.line,
                key=row.key,
                digest=row.digest,
                body=row.body,
                manager_key=row.manager_key,
                reason=row.reason if row.action is Action.REVIEW else None,
                candidates=row.candidates,
                # Without a candidate, a reviewer compares the row with other rows.
                alike=entering.rows_alike(row.key, digests[row.key], {**in_flight, **digests})
                if row.action is Action.REVIEW
                and not row.candidates
                and row.reason != "given_up_before"
                else (),
            )
            for row in plan.rows
            if row.key is not None and row.action in {Action.CREATE, Action.REVIEW}
        ]
        entering.enter(
            connection,
            plan.resource,
            drop_id,
            rows,
            attempts=onboarding.settings.create_attempts,
            snapshot_id=snapshot_id,
        )
        managers = entering.stored_managers(connection, plan.resource, [row.key for row in rows])
        if cyclic({key: manager for key, manager in managers.items() if manager}):
            raise Busy(
                "another task holds rows whose earlier managers form a cycle with this plan; the retry"
                " plans again when they are free",
                retry_after=onboarding.settings.lease_s,
                retry_for_hours=True,
            )
        approval.mark_applied(connection, drop_id, plan.id)
    return True
