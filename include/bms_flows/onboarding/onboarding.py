"""Onboarding as its DAG runs it, one method per task: plan, enter, apply, conclude."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Protocol, TypeVar

from bms.client import Client
from bms.counters import Counters
from bms.settings import ClientSettings
from bms_flows.onboarding.creation import Conclusion, Creation, Entered, Proposal
from bms_flows.onboarding.inbox import claim, closing
from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.onboarding.inboxes import Inbox
from bms_flows.onboarding.planning.approval import NotApproved, Plans
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting import approval_request, review
from bms_flows.onboarding.reporting.approval_request import ApprovalRequest
from bms_flows.onboarding.reporting.report import counts
from bms_flows.onboarding.reporting.review import InvalidDecision
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime import service_identity, step_log
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.manifest import require_version, versioned

T = TypeVar("T")

log = logging.getLogger(__name__)


class RowsWaiting(RuntimeError):
    """Rows of the drop are unfinished; the message explains how to continue."""

    retriable = False


class Connection(Protocol):
    """The connection to the service, such as Airflow's hook."""

    @property
    def settings(self) -> ClientSettings:
        """The settings of its clients."""

    @property
    def entities(self) -> Collection[int]:
        """The entities to match employees in."""

    def client(self, counters: Counters | None = None, **changes: Any) -> Client:
        """Return a client; `changes` replace settings."""


@dataclass(frozen=True)
class DagRun:
    """The DAG run of an onboarding."""

    dag_id: str
    id: str
    params: Mapping[str, Any]
    user: str | None
    """The user who triggered the run."""


@dataclass(frozen=True)
class Onboarding:
    """The onboarding of a DAG run; made once per task."""

    flow: FlowContext
    settings: OnboardingSettings
    resource: str
    run: DagRun
    connection: Connection
    emit: Callable[[Counters, str], None]
    """Sends the counters of an operation to the metrics."""

    @cached_property
    def inbox(self) -> Inbox:
        """The inbox of the resource."""
        return Inbox(self.flow, self.resource, self.settings)

    def plan(self) -> dict[str, Any]:
        """Claim the run's drop, read it, and plan it; return the manifest of the proposal.

        The manifest has ``drop``, ``plan`` (id; None if there is nothing to plan), ``ask``, ``text``,
        ``dry_run`` and, if approval is needed, ``question``, without personal data.
        """
        params, engine = self.run.params, self.flow.warehouse
        if bool(params.get("line")) != bool(params.get("decision")):
            raise InvalidDecision("enter both: lines of needs_review.csv, and a decision on them")
        if params.get("decision") and params.get("dry_run"):
            raise InvalidDecision("a decision takes effect at once: switch the dry run off")
        drop = self.inbox.drop_of_run(params, self.run.id)
        if drop.state != "open":
            return _nothing_to_do(drop, f"closed before: {drop.state}")
        claim.mark_started(engine, drop.id)
        if params.get("decision"):
            try:
                return self._decide(drop)
            except InvalidDecision:
                closing.restore_ending(engine, drop)
                raise
        sheet, original = self.inbox.read(drop)
        if earlier := self.inbox.close_repeated(drop, sheet, original):
            return _nothing_to_do(drop, f"same content as drop {earlier.id}: see its report")
        dry_run = bool(params.get("dry_run"))
        proposed = self._record("plan", drop.id, lambda each: each.plan(sheet, dry_run=dry_run))
        if dry_run:
            self.inbox.save_plan(drop, sheet, proposed.plan)
        log.info("drop %s, %s", drop.id, proposed.text())
        for finding in proposed.findings:
            log.warning("row %s of bms.creation, created earlier: %s", finding.row, finding.what)
        manifest = self._manifest(drop, sheet, proposed, ask=proposed.decision.ask and not dry_run)
        return {**manifest, "dry_run": dry_run}

    def enter(self, proposed: dict[str, Any], answer: dict[str, Any] | None) -> dict[str, Any]:
        """Apply the approver's answer, if any, and enter the plan; return the chunks to apply.

        If the data changed since and more or other rows would be created, the manifest has no chunks
        and asks again. Raises `OtherVersion` if the run began before an upgrade that changed manifests,
        and `NotApproved` without an answer or a plan: the task was marked by hand, the warehouse restored.
        """
        _require_version(proposed)
        drop_id, plan_id = proposed["drop"], proposed.get("plan")
        nothing = {**proposed, "ask": False, "chunks": []}
        if "chunks" in proposed and not proposed["ask"]:
            return proposed  # the first round entered the plan
        if plan_id is None or proposed.get("dry_run", self.run.params.get("dry_run")):
            return nothing
        drop, plans = claim.get(self.flow.warehouse, drop_id), Plans(self.flow.warehouse, drop_id)
        plans.load(plan_id)  # a restored warehouse may have given the number to another file
        if drop.dag_run_id != self.run.id:
            return {**nothing, "plan": None, "text": f"taken over by run {drop.dag_run_id}"}
        if answer is None:
            raise NotApproved(
                f"the request to approve drop {drop_id} has no answer: clear the approval task to ask again"
            )
        approved, who = answer["approved"], answer["who"]
        # A user cleared the planning task, but not the approval: nobody has seen this plan.
        other = approved is not None and answer.get("plan") != plan_id
        users, void = self._answering(drop)
        left = bool(approved and users) and answer.get("id") not in {None, *users}
        if (other or left) and proposed["ask"]:
            why = "the answer is to another plan, or its user is no approver any more"
            log.warning("drop %s: %s, so approval is requested again", drop_id, why)
            plans.ask_again(plan_id)
            question = {**proposed["question"], "users": users, "excluded": void}
            return {**nothing, "ask": True, "question": question}
        if other:
            approved = None if approved else False  # it needs no approval, but a rejection counts
        if approved is False:
            plans.refuse(plan_id, who)
            return nothing
        if approved:
            plans.approve(plan_id, who)
        return self._enter(drop, proposed)

    def apply(self, entered: dict[str, Any], chunk: int) -> dict[str, int]:
        """Process the rows of one chunk; return the number of rows by state."""
        _require_version(entered)
        drop_id, plan_id = entered["drop"], entered["plan"]
        ended = self._record(f"create_{chunk}", drop_id, lambda each: each.apply(plan_id, chunk))
        log.info("drop %s, chunk %s: %s", drop_id, chunk, _figures(ended))
        return ended

    def conclude(self, entered: dict[str, Any] | None) -> dict[str, Any]:
        """Read created records back, write the report with the receipt last, and close the drop.

        Raises `RowsWaiting` afterwards if rows of an approved plan are unfinished or the plan changed
        again since its second approval, and `Superseded` if another run has the drop.
        """
        if entered is None:
            raise RowsWaiting("no plan was made: see the log of the failed task before this one")
        _require_version(entered)
        drop_id, plan_id = entered["drop"], entered.get("entered") or entered.get("plan")
        if plan_id is None:
            return {"drop": drop_id, "state": entered.get("text")}
        engine = self.flow.warehouse
        drop = claim.get(engine, drop_id)
        if drop.dag_run_id != self.run.id:
            raise claim.Superseded(
                f"run {drop.dag_run_id} has drop {drop_id} and writes its report"
            )
        if drop.state == "withdrawn":
            self.inbox.archive(drop)  # raises `FileChanged`: its file was erased during the run
        if drop.state == "not_applied" and entered["chunks"]:
            drop = claim.reopen(engine, drop_id, self.run.id)  # the task was cleared
        if drop.state == "open":  # else an earlier try closed it and was killed before it returned
            self._close(drop, plan_id)
            drop = claim.get(engine, drop_id)
        ended = drop.counts or {}
        if entered["ask"]:
            raise RowsWaiting(
                f"the data of drop {drop_id} changed again while its plan was approved, so no row was"
                f" created: trigger again with drop={drop_id} and approve the new plan"
            )
        if entered["chunks"] and ended.get("waiting"):
            raise RowsWaiting(
                f"{ended['waiting']} rows of drop {drop_id} are unfinished: trigger again with"
                f" drop={drop_id}"
            )
        return {"drop": drop_id, "report": drop.report, **ended}

    def _step(self, name: str) -> step_log.Step:
        return step_log.Step(flow=self.run.dag_id, dag_run_id=self.run.id, name=name)

    def _record(self, name: str, drop_id: int, work: Callable[[Creation], Awaitable[T]]) -> T:
        """Do `work` and record it, with the service's response times, as step `name`."""
        counters = Counters()
        with recorded_step(self.flow, self._step(name), counters) as step_run_id:
            done = self._work(counters, drop_id, work)
            with self.flow.warehouse.begin() as connection:
                step_log.finish(connection, step_run_id, state="complete", service=counters)
        return done

    def _work(
        self, counters: Counters, drop_id: int, work: Callable[[Creation], Awaitable[T]]
    ) -> T:
        """Do `work` with own clients, in the only event loop of the task.

        Raises `ServiceMismatch` if the warehouse has data of another service.
        """
        warehouse, connection, settings = self.flow.warehouse, self.connection, self.settings
        client = connection.settings
        identity = service_identity.ServiceIdentity.of(client.base_url, client.application_id)
        service_identity.require(warehouse, identity)
        reader, writer = connection.client(counters), connection.client(counters, attempts=1)
        remote = REMOTES[self.resource](reader, writer, settings, connection.entities)
        today = datetime.now(UTC).astimezone(settings.time_zone).date()
        creation = Creation(warehouse, remote, self.inbox.reading.rules, settings, drop_id, today)

        async def with_clients() -> T:
            async with reader, writer:
                return await work(creation)

        try:
            return asyncio.run(with_clients())
        finally:
            self.emit(counters, f"create_{self.resource}")

    def _enter(self, drop: Drop, proposed: dict[str, Any]) -> dict[str, Any]:
        """Enter the plan of `proposed`, or the rows that a reviewer's decision releases; return the manifest."""
        sheet, _ = self.inbox.read(drop)
        plan_id, released_from = proposed["plan"], proposed.get("entered")

        async def enter(creation: Creation) -> Entered | Proposal:
            if released_from is None:
                return await creation.enter(plan_id, sheet)
            Plans(self.flow.warehouse, drop.id).require_approved(plan_id)
            chosen, decision = self._decision(drop.id)
            await creation.apply_decision(chosen.rows, decision)
            return await creation.enter(released_from, sheet)

        begun = self._record("enter", drop.id, enter)
        if isinstance(begun, Proposal):
            return {**self._manifest(drop, sheet, begun, ask=True), "chunks": []}
        return {
            **proposed,
            "ask": False,
            "plan": begun.plan_id,
            "chunks": list(range(begun.chunks)),
        }

    def _decide(self, drop: Drop) -> dict[str, Any]:
        """Apply a reviewer's decision to lines of the drop, or request approval of the rows to create."""
        chosen, decision = self._decision(drop.id)
        # Without the original no report of the decision could be written.
        self.inbox.archive(drop)
        if asked := self._record("decide", drop.id, lambda each: each.release(chosen, decision)):
            sheet, _ = self.inbox.read(drop)
            return {**self._manifest(drop, sheet, asked, ask=True), "entered": chosen.plan_id}
        lines = f"lines {self.run.params['line']}, {len(chosen.rows)} rows"
        text = f"{lines}: {decision.choice}, decided by {decision.who}"
        return versioned(drop=drop.id, plan=chosen.plan_id, ask=False, text=text)

    def _decision(self, drop_id: int) -> tuple[review.ChosenRows, review.ReviewDecision]:
        """Return the rows that the reviewer's decision of the run covers, and the decision."""
        run = self.run
        reviewer = run.user or "the user who triggered the run"
        decision = review.ReviewDecision(run.params["decision"], reviewer, run.id)
        lines = review.LineSelection.read(str(run.params["line"]))
        engine = self.flow.warehouse
        return review.choose_rows(engine, self.resource, drop_id, lines, decision), decision

    def _close(self, drop: Drop, plan_id: str) -> None:
        """Read back, write the report, and close drop and step in one transaction; raise `LeaseLost`."""
        engine = self.flow.warehouse
        with engine.begin() as connection:
            claim.renew(connection, drop)
        sheet, original = self.inbox.read(drop)
        counters = Counters()
        with recorded_step(self.flow, self._step("conclude"), counters) as step_run_id:
            found: Conclusion = self._work(
                counters, drop.id, lambda each: each.conclude(plan_id, sheet)
            )
            with engine.begin() as connection:
                details = self.inbox.close(connection, drop, sheet, original, found)
                ended = dict(counts(found.outcomes))
                step_log.finish(
                    connection,
                    step_run_id,
                    state="partial" if ended["waiting"] else "complete",
                    counts=_row_counts(ended),
                    service=counters,
                    details={"drop": drop.id, "plan": plan_id, **details, **ended},
                )
        log.info("drop %s: %s; report: %s", drop.id, _figures(ended), details["report"])

    def _manifest(
        self, drop: Drop, sheet: Sheet, proposed: Proposal, *, ask: bool
    ) -> dict[str, Any]:
        """Return the manifest of a proposal; save its plan and its question if approval is requested."""
        plan = proposed.plan
        manifest = versioned(drop=drop.id, plan=plan.id, ask=ask, text=proposed.text())
        if not ask:
            return manifest
        self.inbox.save_plan(drop, sheet, plan)
        reasons = proposed.decision.reasons
        request = ApprovalRequest(drop.id, self.resource, plan.id, plan.counts, reasons)
        asked = approval_request.ask(request, self.settings)
        users, void = self._answering(drop)
        Plans(self.flow.warehouse, drop.id).exclude(plan.id, void)
        return {
            **manifest,
            "question": {
                "subject": asked.subject,
                "body": asked.body,
                "options": asked.options,
                "users": users,
                "excluded": void,
            },
        }

    def _answering(self, drop: Drop) -> tuple[list[str], list[str]]:
        """Return the users who may answer a request of a drop, and those whose answer is void."""
        involved = (drop.submitted_by, self.run.user)
        return self.settings.answering(self.inbox.resource.inbox, involved)


def _figures(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {what.replace('_', ' ')}" for what, n in counted.items())


def _row_counts(ended: dict[str, int]) -> step_log.RowCounts:
    created, existing = ended["created"] + ended["adopted"], ended["already_there"]
    total = sum(ended.values())
    return step_log.RowCounts(
        rows_read=total,
        inserted=created,
        unchanged=existing,
        quarantined=total - created - existing,
    )


def _nothing_to_do(drop: Drop, text: str) -> dict[str, Any]:
    return versioned(drop=drop.id, plan=None, ask=False, text=text)


def _require_version(manifest: Mapping[str, Any] | None) -> None:
    """Raise `OtherVersion` if another release made the manifest, before anything is done with it."""
    drop = (manifest or {}).get("drop")
    require_version(
        manifest,
        f"Trigger the DAG with drop={drop}: it plans again, and creates no created record again.",
    )
