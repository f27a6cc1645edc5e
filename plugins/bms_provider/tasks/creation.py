"""Tasks of the drops: one set for every resource that can be created."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context

from bms.counters import Counters
from bms_flows.onboarding import run as proposal
from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.inbox import claim, closing
from bms_flows.onboarding.inbox.discovery import head
from bms_flows.onboarding.ledger import matches
from bms_flows.onboarding.planning import approval
from bms_flows.onboarding.reporting import differences, report, review
from bms_flows.onboarding.reporting.outcome import counts
from bms_flows.onboarding.reporting.receipt import make_receipt
from bms_flows.onboarding.reporting.review import InvalidDecision
from bms_flows.onboarding.sending.verify import verify
from bms_flows.runtime import step_log, storage
from bms_flows.runtime.context import recorded_step
from bms_provider import flow_context
from bms_provider.tasks import inbox, workbench

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upath import UPath

    from bms_flows.onboarding.inbox.claim import Drop
    from bms_flows.onboarding.reading.sheet import Sheet
    from bms_flows.runtime.context import FlowContext

log = logging.getLogger(__name__)


class RowsWaiting(RuntimeError):
    """Rows of the drop have no end yet; the text says how to go on with them."""

    retriable = False


def plan(name: str) -> dict[str, Any]:
    """Take the run's drop, read it, and plan what would be created; return the proposal's manifest.

    The manifest: ``drop``, ``plan`` (its id, None where there is nothing to plan), ``ask``,
    ``text`` and ``creates``; figures only.
    """
    params = get_current_context()["params"]
    if bool(params.get("line")) != bool(params.get("decision")):
        raise InvalidDecision(
            "give lines, as needs_review.csv numbers them, and a decision on them"
        )
    if params.get("decision") and params.get("dry_run"):
        raise InvalidDecision("a decision is carried out at once: leave the dry run off")
    with flow_context.open_context() as flow:
        held = inbox.hold(flow, name, params)
        if held.state != "open":
            return _nothing(held, f"ended before: {held.state}")
        claim.started(flow.warehouse, held.id)
        if params.get("decision"):
            try:
                return _decided(flow, name, held, params)
            except InvalidDecision:
                closing.put_back(flow.warehouse, held)
                raise
        sheet, original = inbox.taken(flow, name, held)
        earlier = closing.record(
            flow.warehouse, held, sha256=sheet.sha256, archive=flow.name(original)
        )
        if earlier and closing.rules_of(flow.warehouse, earlier) == workbench.rules(name).version:
            with flow.warehouse.begin() as connection:
                closing.finish(
                    connection, held, "repeated", report=earlier.report, same_as=earlier.id
                )
            return _nothing(held, f"the same content as drop {earlier.id}: see its report")

        dry_run = bool(params.get("dry_run"))

        async def propose(onboarding: OnboardingContext) -> proposal.Proposal:
            return await proposal.plan_drop(
                onboarding, held.id, sheet, _today(flow), dry_run=dry_run
            )

        made = workbench.step(flow, name, "plan", propose)
        ask = made.decision.ask and not dry_run
        if ask:
            _show_last_line(flow, name, held, sheet)
    log.info("drop %s, %s", held.id, made.text())
    for finding in made.findings:
        log.warning("row %s of bms.creation, created earlier: %s", finding.row, finding.what)
    return _manifest(held.id, made, ask=ask)


def _decided(flow: FlowContext, name: str, held: Drop, params: Any) -> dict[str, Any]:
    """Take a reviewer's decision on lines of the drop, and carry it out."""
    run = get_current_context()["dag_run"]
    who = run.triggering_user_name or "whoever triggered the run"
    decision = review.Decision(params["decision"], who, run.run_id)
    lines = review.Lines.read(str(params["line"]))
    rows, plan_id = review.rows_of(flow.warehouse, name, held.id, lines, decision)
    inbox.taken(flow, name, held)  # without the original no report can tell what came of it

    async def carry_out(onboarding: OnboardingContext) -> None:
        await onboarding.applier().apply(await review.decide_review(onboarding, rows, decision))

    workbench.step(flow, name, "decide", carry_out)
    text = f"lines {params['line']}, {len(rows)} rows: {params['decision']}, decided by {who}"
    return {"drop": held.id, "plan": plan_id, "ask": False, "text": text, "creates": 0}


def enter(name: str, proposed: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Act on a person's answer, or on nobody having been asked; return the chunks to apply.

    Where something has moved since, and more or other rows would be created, the manifest asks
    again and has no chunks.
    """
    drop, plan_id = proposed["drop"], proposed.get("plan")
    nothing = {**proposed, "ask": False, "chunks": []}
    if "chunks" in proposed and not proposed["ask"]:
        return proposed  # nothing had moved: the first round has entered it
    if plan_id is None or get_current_context()["params"].get("dry_run"):
        return nothing
    with flow_context.open_context() as flow:
        held = claim.get(flow.warehouse, drop)
        if held.dag_run_id != get_current_context()["dag_run"].run_id:
            return {**nothing, "plan": None, "text": f"taken over by run {held.dag_run_id}"}
        sheet, _ = inbox.taken(flow, name, held)

        async def begin(
            onboarding: OnboardingContext,
        ) -> proposal.Entered | proposal.Proposal | None:
            if answer["approved"] is False:
                approval.refuse(onboarding, drop, plan_id, answer["who"])
                return None
            if answer["approved"]:
                approval.agree(onboarding, drop, plan_id, answer["who"])
            return await proposal.begin(onboarding, drop, plan_id, sheet, _today(flow))

        begun = workbench.step(flow, name, "enter", begin)
        if isinstance(begun, proposal.Proposal):
            _show_last_line(flow, name, held, sheet)
    if isinstance(begun, proposal.Proposal):
        return {**_manifest(drop, begun, ask=True), "chunks": []}
    if begun is None:
        return nothing
    return {**nothing, "plan": begun.plan_id, "chunks": list(range(begun.chunks))}


def apply(name: str, entered: dict[str, Any], chunk: int) -> dict[str, int]:
    """Bring the rows of one chunk to an end; return how many stand where."""

    async def bring(onboarding: OnboardingContext) -> dict[str, int]:
        return await proposal.apply_chunk(onboarding, entered["drop"], entered["plan"], chunk)

    with flow_context.open_context() as flow:
        ended = workbench.step(flow, name, f"create_{chunk}", bring)
    log.info("drop %s, chunk %s: %s", entered["drop"], chunk, _told(ended))
    return ended


def conclude(name: str, entered: dict[str, Any] | None) -> dict[str, Any]:
    """Read back what was created, write the reports, the receipt last, and end the drop.

    Raises `RowsWaiting` once all that is written, when rows of an agreed plan have no end yet, and
    `Superseded` where another run has the drop.
    """
    if entered is None:
        raise RowsWaiting("nothing was planned: the log of an earlier task says why")
    drop, plan_id = entered["drop"], entered.get("plan")
    if plan_id is None:
        return {"drop": drop, "state": entered.get("text")}
    with flow_context.open_context() as flow:
        held = claim.get(flow.warehouse, drop)
        run_id = get_current_context()["dag_run"].run_id
        if held.dag_run_id != run_id:
            raise claim.Superseded(f"run {held.dag_run_id} has taken drop {drop} over: it reports")
        if held.state == "not_applied" and entered["chunks"]:
            held = claim.reopen(flow.warehouse, drop, run_id)  # cleared: its rows went on since
        if held.state == "open":
            _end(flow, name, held, plan_id)
            held = claim.get(flow.warehouse, drop)
        # Else an earlier try has ended it, and was killed before it could say so.
        ended = held.counts or {}
    if entered["chunks"] and ended.get("waiting"):
        raise RowsWaiting(
            f"{ended['waiting']} rows of drop {drop} have no end yet: trigger again with drop={drop}"
        )
    return {"drop": drop, "report": held.report, **ended}


def _end(flow: FlowContext, name: str, held: Drop, plan_id: str) -> None:
    """Read back, write the reports, the receipt last, and end the drop; raise `ClaimLost`."""
    drop = held.id
    with flow.warehouse.begin() as connection:
        claim.renew(connection, held)
    sheet, original = inbox.taken(flow, name, held)
    folder = _report_folder(flow, name, held)

    async def read_back(onboarding: OnboardingContext) -> tuple[bool, Any, bytes, Any, Any]:
        chunks = await proposal.chunks_of(onboarding, drop, plan_id)
        await verify(onboarding, [row for chunk in chunks for row in chunk])
        outcomes, receipt = await make_receipt(onboarding, drop, plan_id, sheet)
        if approval.kept(onboarding, drop, plan_id).state != "applied":
            return False, outcomes, receipt, {}, []
        matched = matches.of_rows(onboarding.identity, sheet, outcomes)
        compared = await differences.compare_rows(onboarding, sheet, outcomes)
        return True, outcomes, receipt, matched, compared

    counters = Counters()
    with recorded_step(flow, flow_context.step("conclude"), counters) as step_id:
        entered, outcomes, receipt, matched, compared = workbench.run(
            flow, name, counters, read_back
        )
        ended = dict(counts(outcomes))
        finished = ended["waiting"] == 0
        with flow.warehouse.begin() as connection:
            # Locks the drop's row, so that a run that takes the drop over writes its report later.
            claim.renew(connection, held)
            matches.keep(connection, name, drop, matched)
            others = {}
            if name == differences.RESOURCE:
                others[differences.FILE] = differences.tell(connection, drop, outcomes, compared)
            report.write(folder, head(original), sheet, outcomes, receipt, others)
            closing.finish(
                connection,
                held,
                "applied" if entered and finished else "not_applied",
                report=flow.name(folder),
                counts=ended,
            )
            step_log.finish(
                connection,
                step_id,
                state="complete" if finished else "partial",
                counts=_counts(ended),
                service=counters,
                details={"drop": drop, "plan": plan_id, "report": flow.name(folder), **ended},
            )
    log.info("drop %s: %s; report: %s", drop, _told(ended), flow.name(folder))


def _show_last_line(flow: FlowContext, name: str, held: Drop, sheet: Sheet) -> None:
    """Put the last line of a file whose end is missing into the drop's report, before the question.

    The line is personal: Airflow shows a question to every user who may view the DAG, and stores
    its text, so the question has only figures. The report is for those who may edit the DAG.
    """
    if sheet.cut_off is not None:
        folder = _report_folder(flow, name, held)
        storage.save_private(folder / report.LAST_LINE, report.last_line_file(sheet))
        closing.show(flow.warehouse, held, flow.name(folder))


def _report_folder(flow: FlowContext, name: str, held: Drop) -> UPath:
    return flow.data_root / "reports" / inbox.folder_name(name) / held.folder


def _told(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {what.replace('_', ' ')}" for what, n in counted.items())


def _counts(ended: dict[str, int]) -> step_log.RowCounts:
    made, there = ended["created"] + ended["adopted"], ended["already_there"]
    total = sum(ended.values())
    return step_log.RowCounts(
        rows_read=total, inserted=made, unchanged=there, quarantined=total - made - there
    )


def _nothing(held: Drop, text: str) -> dict[str, Any]:
    return {"drop": held.id, "plan": None, "ask": False, "text": text, "creates": 0}


def _manifest(drop: int, made: proposal.Proposal, *, ask: bool) -> dict[str, Any]:
    return {
        "drop": drop,
        "plan": made.plan.id,
        "ask": ask,
        "text": made.text(),
        "creates": len(made.plan.creates),
    }


def _today(flow: FlowContext) -> date:
    return datetime.now(UTC).astimezone(flow.settings.time_zone).date()
