"""Creation of the records of one drop: plan, entry in the ledger, chunks, decisions, outcomes.

Each step is idempotent; steps pass only the plan's id and the number of a chunk to each other.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from functools import cached_property, partial
from typing import Final

from sqlalchemy import Engine

from bms_flows.onboarding.ledger import entering
from bms_flows.onboarding.ledger.entry import NewRow
from bms_flows.onboarding.ledger.store import PostgresLedger, with_managers
from bms_flows.onboarding.planning import approval
from bms_flows.onboarding.planning.managers import chunks, cyclic
from bms_flows.onboarding.planning.matching import PlanningView, match_keys_of, names_of
from bms_flows.onboarding.planning.plan import (
    Action,
    ApprovalDecision,
    Plan,
    PlanInputs,
    PlannedRow,
    approval_decision,
    changes_since_approval,
)
from bms_flows.onboarding.planning.planner import make
from bms_flows.onboarding.planning.rules import Rules
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.approval_request import reason_text
from bms_flows.onboarding.reporting.differences import ComparedContact, compare_rows
from bms_flows.onboarding.reporting.duplicates import DuplicateFinding, find_duplicates
from bms_flows.onboarding.reporting.receipt import make_receipt
from bms_flows.onboarding.reporting.report import RowOutcome, matched_ids
from bms_flows.onboarding.reporting.review import (
    CREATE,
    ChosenRows,
    ReviewDecision,
    bodies_to_send,
    decide_review,
)
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.onboarding.resources.service_remote import ServiceRemote
from bms_flows.onboarding.sending.apply import Applier
from bms_flows.onboarding.sending.drop_lists import DropLists
from bms_flows.onboarding.sending.verify import verify
from bms_flows.onboarding.settings import OnboardingSettings
from bms_warehouse.locks import Busy

MAX_CHUNKS: Final = 8
"""Maximum number of chunks: each reads the service's lists, which grow with the drop."""


@dataclass(frozen=True)
class Proposal:
    """A plan, whether it needs approval, and the duplicates of earlier creations."""

    plan: Plan
    decision: ApprovalDecision
    findings: tuple[DuplicateFinding, ...] = ()

    def text(self) -> str:
        """Return the plan for logs: its id, counts, and why it needs approval or not."""
        counts = ", ".join(f"{name} {count}" for name, count in self.plan.counts.items())
        resource, reasons = self.plan.resource, self.decision.reasons
        why = "; ".join(reason_text(each, "EN", resource) for each in reasons)
        return f"plan {self.plan.id[:12]}: {counts}. Approval: {why}."


@dataclass(frozen=True)
class Entered:
    """An approved plan whose rows are in the ledger, and its number of chunks."""

    plan_id: str
    chunks: int


@dataclass(frozen=True)
class Conclusion:
    """The outcomes of a drop; without a compared plan `matched` and `compared` are empty."""

    applied: bool
    outcomes: Sequence[RowOutcome]
    receipt: bytes
    matched: Mapping[str, str]
    compared: Sequence[ComparedContact]


@dataclass(frozen=True)
class Creation:
    """The creation of a drop's records, with the warehouse, the service, rules and settings."""

    warehouse: Engine
    remote: ServiceRemote
    rules: Rules
    settings: OnboardingSettings
    drop_id: int
    today: date

    @property
    def resource(self) -> Resource:
        """The resource to create."""
        return self.remote.resource

    @property
    def identity(self) -> Identity:
        """The keys and match rules of the resource."""
        return self.remote.identity

    @cached_property
    def ledger(self) -> PostgresLedger:
        """The ledger of the resource."""
        return PostgresLedger(self.warehouse, self.resource.name)

    @property
    def plans(self) -> approval.Plans:
        """The plans of the drop."""
        return approval.Plans(self.warehouse, self.drop_id)

    def snapshots(self, sheet: Sheet) -> DropLists:
        """Return the snapshots of the drop."""
        return DropLists(self.ledger, self.remote, self.settings, self.drop_id, sheet)

    async def plan(self, sheet: Sheet, *, dry_run: bool = False) -> Proposal:
        """Plan the drop, save the plan, and request approval if needed; a dry run requests none.

        A new request resets earlier decisions on the same plan. Without approval `BMS_APPROVAL`
        approves.
        """
        began, snapshots = await self.ledger.now(), self.snapshots(sheet)
        snapshot = await snapshots.take()
        view = await snapshots.view(snapshot)
        plan = make(sheet, self.resource, self.identity, self.rules, view)
        findings = await find_duplicates(self.ledger, self.identity, view.shown)
        await snapshots.save(snapshot, view.matched_ids)
        decision = await self._decide(plan, sheet, by_setting=not dry_run)
        if decision.ask and not dry_run:
            await asyncio.to_thread(self.plans.request, plan, decision, began)
        return Proposal(plan, decision, tuple(findings))

    async def enter(self, plan_id: str, sheet: Sheet) -> Entered | Proposal:
        """Enter the rows of an approved plan in the ledger, or return a new plan that needs approval.

        The drop is planned again with the current ledger and new records of the service. A different
        plan is entered only if it creates no more rows and no other data than the approved plan, or if
        the setting approved both. Repeats if another drop entered a row for the same person in between.
        Raises `NotApproved`, also if the approval is withdrawn in between.
        """
        began, snapshots = await self.ledger.now(), self.snapshots(sheet)
        approved = await asyncio.to_thread(self.plans.require_approved, plan_id)
        if approved.state == "applied":
            return Entered(plan_id, len(await self.chunks(plan_id)))
        while True:
            snapshot, snapshot_id = await snapshots.reuse()
            view = await snapshots.view(snapshot)
            if snapshot_id is None:
                snapshot_id = await snapshots.save(snapshot, view.matched_ids)
            plan = make(sheet, self.resource, self.identity, self.rules, view)
            if plan.id != plan_id:
                by_setting = str(approved.decided_by).startswith(approval.SETTING)
                decision = await self._decide(plan, sheet, by_setting=by_setting)
                if not plan.within(approved.creates) and (decision.ask or not by_setting):
                    changes = changes_since_approval(approved.creates, plan)
                    decision = replace(decision, ask=True, reasons=changes)
                    await asyncio.to_thread(self.plans.request, plan, decision, began)
                    return Proposal(plan, decision)
                approver = f"{approved.decided_by}, within {plan_id[:12]}"
                self.plans.approve(plan.id, approver)
            keys = match_keys_of(sheet, self.identity) | names_of(sheet, self.identity)
            if await asyncio.to_thread(self._enter, plan, view, keys, snapshot_id):
                return Entered(plan.id, len(await self.chunks(plan.id)))

    async def release(self, chosen: ChosenRows, decision: ReviewDecision) -> Proposal | None:
        """Apply a reviewer's decision, or return a plan of the rows to create that needs approval.

        Released rows count towards the day's limit like planned rows.
        """
        if decision.choice == CREATE:
            began = await self.ledger.now()
            plan = await self._plan_of_released(chosen, decision)
            needed = await self._decide(plan, None, by_setting=True)
            if needed.ask:
                await asyncio.to_thread(self.plans.request, plan, needed, began)
                return Proposal(plan, needed)
        await self.apply_decision(chosen.rows, decision)
        return None

    async def apply_decision(self, rows: Sequence[int], decision: ReviewDecision) -> None:
        """Commit a reviewer's decision on ledger rows, and process the rows that it released."""
        released = await decide_review(self.ledger, self.remote, rows, decision)
        await self.applier().apply(released)

    async def chunks(self, plan_id: str) -> Sequence[Sequence[int]]:
        """Return the unfinished ledger rows of an applied plan by chunk.

        Deterministic: a task receives only the number of its chunk.
        """
        plan = await asyncio.to_thread(self.plans.load, plan_id)
        keys = [r["key"] for r in plan.rows if r["action"] in (Action.CREATE, Action.RESUME)]
        # Managers that another drop left unfinished are included, or their reports would never be sent.
        entries = await with_managers(self.ledger, keys)
        managers = sorted(entries.keys() - {*keys})
        manager_of = {key: e.manager_key for key, e in entries.items() if e.manager_key}
        ordered = [key for key in [*managers, *keys] if key in entries]
        split = chunks(ordered, manager_of, self.settings.chunk_rows, MAX_CHUNKS)
        return [[entries[key].id for key in chunk] for chunk in split]

    async def apply(self, plan_id: str, chunk: int) -> dict[str, int]:
        """Process the rows of one chunk; return the number of rows by state.

        Raises `Busy` while another task holds some of the rows, and the client's errors.
        """
        split = await self.chunks(plan_id)
        rows = split[chunk] if chunk < len(split) else ()  # an earlier release made more chunks
        return {state.value: n for state, n in (await self.applier().apply(rows)).items()}

    async def conclude(self, plan_id: str, sheet: Sheet) -> Conclusion:
        """Read created records back and return the outcomes of the drop."""
        rows = [row for chunk in await self.chunks(plan_id) for row in chunk]
        await verify(self.ledger, self.remote, self.settings.settle_s, rows)
        outcomes, receipt = await make_receipt(self.snapshots(sheet), plan_id)
        plan = await asyncio.to_thread(self.plans.load, plan_id)
        if plan.state != "applied":
            return Conclusion(False, outcomes, receipt, {}, ())
        matched = matched_ids(self.identity, sheet, outcomes)
        compared = await compare_rows(self.remote, sheet, outcomes)
        return Conclusion(True, outcomes, receipt, matched, compared)

    def applier(self) -> Applier:
        """Return an applier with a new owner id."""
        return Applier(self.ledger, self.remote, self.settings)

    async def _decide(
        self, plan: Plan, sheet: Sheet | None, *, by_setting: bool
    ) -> ApprovalDecision:
        """Decide whether a plan needs approval; `sheet` None: of rows that a reviewer releases."""
        judge = partial(
            approval_decision,
            *(plan, self.rules.plan, self.settings.approval, self.today),
            truncated_at=sheet.truncated_at if sheet else None,
            columns_left_out=sheet.columns_left_out if sheet else 0,
        )
        midnight = datetime.combine(self.today, time(), self.settings.time_zone)
        decide = partial(self.plans.decide, plan, judge, since=midnight, by_setting=by_setting)
        return await asyncio.to_thread(decide)

    async def _plan_of_released(self, chosen: ChosenRows, decision: ReviewDecision) -> Plan:
        bodies = await bodies_to_send(self.ledger, chosen.rows)
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
        bound = PlanInputs(chosen.plan_id, decision.run, "", self.rules.version)
        return Plan(self.resource.name, bound, tuple(rows), chosen.headcount, chosen.empty_scopes)

    def _enter(
        self, plan: Plan, view: PlanningView, match_keys: Collection[str], snapshot_id: int
    ) -> bool:
        """Enter the plan's new rows and mark the plan as applied, in one transaction.

        Returns False, and enters nothing, if other drops entered rows with the same match keys since
        the `view`. Raises `NotApproved`, and `Busy` if a row that another task holds keeps its earlier
        manager, so that the managers would form a cycle.
        """
        with self.warehouse.begin() as connection:
            entering.lock_entering(connection, plan.resource, [r.key for r in plan.rows if r.key])
            in_flight = entering.rows_in_flight(connection, self.identity, view.since)
            if view.is_outdated(in_flight, match_keys):
                return False
            rows = self._new_rows(plan, in_flight)
            entering.enter(
                connection,
                plan.resource,
                self.drop_id,
                rows,
                attempts=self.settings.create_attempts,
                snapshot_id=snapshot_id,
                removed=view.removed,
            )
            resumed = {
                row.key: row.line
                for row in plan.rows
                if row.key and row.action is Action.RESUME and row.reason is None
            }
            entering.take_over(connection, plan.resource, self.drop_id, resumed)
            keys = [row.key for row in rows]
            managers = entering.stored_managers(connection, plan.resource, keys)
            if cyclic({key: manager for key, manager in managers.items() if manager}):
                raise Busy(
                    "another task holds rows whose earlier managers form a cycle with this plan; the"
                    " retry plans again when they are free",
                    retry_after=self.settings.lease_s,
                    retry_for_hours=True,
                )
            self.plans.mark_applied(connection, plan.id)
        return True

    def _new_rows(self, plan: Plan, in_flight: Mapping[str, Collection[str]]) -> list[NewRow]:
        """Return the rows that the ledger does not have yet."""
        digests = {r.key: self.identity.in_flight_digests(r.body) for r in plan.rows if r.key}
        return [
            NewRow(
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
