"""Steps of an onboarding run, as its DAG calls them: plan, enter, apply, conclude."""

import hashlib
import logging
from collections.abc import Mapping
from typing import Any

from upath import UPath

from bms.counters import Counters
from bms_flows.onboarding import dispatch, execution, proposal
from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.execution import Conclusion
from bms_flows.onboarding.inbox import claim, closing
from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.onboarding.inbox.discovery import head
from bms_flows.onboarding.inbox.settings import InboxSettings
from bms_flows.onboarding.ledger import matches
from bms_flows.onboarding.planning import approval
from bms_flows.onboarding.proposal import Entered, Proposal
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting import differences, plan_file, question, report, review
from bms_flows.onboarding.reporting.outcome import counts
from bms_flows.onboarding.reporting.question import ApprovalRequest
from bms_flows.onboarding.reporting.review import InvalidDecision
from bms_flows.onboarding.run import OnboardingRun, rules_of
from bms_flows.runtime import step_log, storage
from bms_flows.runtime.context import recorded_step
from bms_flows.runtime.manifest import require_version, versioned
from bms_flows.runtime.notice import Links

log = logging.getLogger(__name__)


class RowsWaiting(RuntimeError):
    """Rows of the drop are unfinished; the message explains how to continue."""

    retriable = False


def plan(run: OnboardingRun) -> dict[str, Any]:
    """Claim the run's drop, read it, and plan it; return the manifest of the proposal.

    The manifest has ``drop``, ``plan`` (id; None if there is nothing to plan), ``ask``, ``text``,
    and, if approval is needed, ``question``, without personal data.
    """
    flow, params = run.flow, run.params
    if bool(params.get("line")) != bool(params.get("decision")):
        raise InvalidDecision("enter both: lines of needs_review.csv, and a decision on them")
    if params.get("decision") and params.get("dry_run"):
        raise InvalidDecision("a decision takes effect at once: switch the dry run off")
    drop = dispatch.drop_of_run(flow, run.resource, params, run.dag_run_id)
    if drop.state != "open":
        return _nothing_to_do(drop, f"closed before: {drop.state}")
    claim.mark_started(flow.warehouse, drop.id)
    if params.get("decision"):
        try:
            return _decide(run, drop)
        except InvalidDecision:
            closing.restore_ending(flow.warehouse, drop)
            raise
    sheet, original = dispatch.read_original(flow, run.resource, drop)
    earlier = closing.record_content(
        flow.warehouse, drop, sha256=sheet.sha256, archive=flow.name(original)
    )
    version = rules_of(run.resource).version
    if earlier and closing.rules_of(flow.warehouse, earlier) == version:
        with flow.warehouse.begin() as connection:
            closing.finish(connection, drop, "repeated", report=earlier.report, same_as=earlier.id)
        return _nothing_to_do(drop, f"same content as drop {earlier.id}: see its report")
    dry_run = bool(params.get("dry_run"))

    async def propose(context: OnboardingContext) -> Proposal:
        return await proposal.plan_drop(context, drop.id, sheet, run.today(), dry_run=dry_run)

    proposed = run.record("plan", propose)
    ask = proposed.decision.ask and not dry_run
    if ask or dry_run:
        _save_plan(run, drop, sheet, proposed)
    log.info("drop %s, %s", drop.id, proposed.text())
    for finding in proposed.findings:
        log.warning("row %s of bms.creation, created earlier: %s", finding.row, finding.what)
    return _manifest(run, drop.id, proposed, ask=ask)


def _decide(run: OnboardingRun, drop: Drop) -> dict[str, Any]:
    """Apply a reviewer's decision to lines of the drop, or request approval of the rows to create."""
    params, (chosen, decision) = run.params, _decision(run, drop.id)
    # Without the original no report of the decision could be written.
    dispatch.archive_original(run.flow, run.resource, drop)

    async def release(context: OnboardingContext) -> Proposal | None:
        return await proposal.release(context, drop.id, chosen, decision, run.today())

    if asked := run.record("decide", release):
        sheet, _ = dispatch.read_original(run.flow, run.resource, drop)
        _save_plan(run, drop, sheet, asked)
        return {**_manifest(run, drop.id, asked, ask=True), "entered": chosen.plan_id}
    text = f"lines {params['line']}, {len(chosen.rows)} rows: {decision.choice}, decided by {decision.who}"
    return versioned(drop=drop.id, plan=chosen.plan_id, ask=False, text=text)


def _decision(run: OnboardingRun, drop_id: int) -> tuple[review.ChosenRows, review.ReviewDecision]:
    """Return the reviewer's decision of the run, and the rows that it covers."""
    reviewer = run.user or "the user who triggered the run"
    decision = review.ReviewDecision(run.params["decision"], reviewer, run.dag_run_id)
    lines = review.LineSelection.read(str(run.params["line"]))
    return review.choose_rows(run.flow.warehouse, run.resource, drop_id, lines, decision), decision


def enter(
    run: OnboardingRun, proposed: dict[str, Any], answer: dict[str, Any] | None
) -> dict[str, Any]:
    """Apply the approver's answer, if any, and enter the plan; return the chunks to apply.

    If the data changed since and more or other rows would be created, the manifest has no chunks and
    asks again. Raises `OtherVersion` if the run began before an upgrade that changed manifests, and
    `NotApproved` without an answer: a user marked the approval task as successful.
    """
    _require_version(proposed)
    drop_id, plan_id = proposed["drop"], proposed.get("plan")
    nothing = {**proposed, "ask": False, "chunks": []}
    if "chunks" in proposed and not proposed["ask"]:
        return proposed  # the first round entered the plan
    if plan_id is None or run.params.get("dry_run"):
        return nothing
    flow = run.flow
    drop = claim.get(flow.warehouse, drop_id)
    if drop.dag_run_id != run.dag_run_id:
        return {**nothing, "plan": None, "text": f"taken over by run {drop.dag_run_id}"}
    answer, left = _checked_answer(run, proposed, answer)
    if left is not None:
        return left
    sheet, _ = dispatch.read_original(flow, run.resource, drop)

    async def begin(context: OnboardingContext) -> Entered | Proposal:
        if answer["approved"]:
            approval.approve(flow.warehouse, drop_id, plan_id, answer["who"])
        entered = proposed.get("entered")
        if entered is None:
            return await proposal.begin(context, drop_id, plan_id, sheet, run.today())
        approval.require_approved(flow.warehouse, drop_id, plan_id)
        chosen, decision = _decision(run, drop_id)
        await execution.apply_decision(context, chosen.rows, decision)
        return await proposal.begin(context, drop_id, entered, sheet, run.today())

    begun = run.record("enter", begin)
    if isinstance(begun, Proposal):
        _save_plan(run, drop, sheet, begun)
        return {**_manifest(run, drop_id, begun, ask=True), "chunks": []}
    return {**nothing, "plan": begun.plan_id, "chunks": list(range(begun.chunks))}


def _checked_answer(
    run: OnboardingRun, proposed: dict[str, Any], answer: dict[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the answer, and the manifest if the answer does not approve the plan of `proposed`."""
    drop_id, plan_id = proposed["drop"], proposed["plan"]
    if answer is None:
        raise approval.NotApproved(
            f"the request to approve drop {drop_id} has no answer, so no row is created:"
            " clear the approval task to ask again"
        )
    if answer["approved"] is not None and answer.get("plan") != plan_id:
        # A user cleared the planning task, but not the approval: nobody has seen this plan.
        log.warning(
            "drop %s: the answer is to another plan, so approval is requested again", drop_id
        )
        return answer, {**proposed, "ask": True, "chunks": []}
    if answer["approved"] is False:
        approval.refuse(run.flow.warehouse, drop_id, plan_id, answer["who"])
        return answer, {**proposed, "ask": False, "chunks": []}
    return answer, None


def apply(run: OnboardingRun, entered: dict[str, Any], chunk: int) -> dict[str, int]:
    """Process the rows of one chunk; return the number of rows by state."""
    _require_version(entered)

    async def apply_chunk(context: OnboardingContext) -> dict[str, int]:
        return await execution.apply_chunk(context, entered["drop"], entered["plan"], chunk)

    ended = run.record(f"create_{chunk}", apply_chunk)
    log.info("drop %s, chunk %s: %s", entered["drop"], chunk, _figures(ended))
    return ended


def conclude(run: OnboardingRun, entered: dict[str, Any] | None) -> dict[str, Any]:
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
    engine = run.flow.warehouse
    drop = claim.get(engine, drop_id)
    if drop.dag_run_id != run.dag_run_id:
        raise claim.Superseded(f"run {drop.dag_run_id} has drop {drop_id} and writes its report")
    if drop.state == "not_applied" and entered["chunks"]:
        drop = claim.reopen(engine, drop_id, run.dag_run_id)  # the task was cleared
    if drop.state == "open":  # else an earlier try closed it and was killed before it returned
        _close(run, drop, plan_id)
        drop = claim.get(engine, drop_id)
    ended = drop.counts or {}
    if entered["ask"]:
        raise RowsWaiting(
            f"the data of drop {drop_id} changed again while its plan was approved, so no row was created:"
            f" trigger again with drop={drop_id} and approve the new plan"
        )
    if entered["chunks"] and ended.get("waiting"):
        raise RowsWaiting(
            f"{ended['waiting']} rows of drop {drop_id} are unfinished: trigger again with drop={drop_id}"
        )
    return {"drop": drop_id, "report": drop.report, **ended}


def _close(run: OnboardingRun, drop: Drop, plan_id: str) -> None:
    """Read back, write the report, and close the drop; raise `LeaseLost`."""
    flow = run.flow
    with flow.warehouse.begin() as connection:
        claim.renew(connection, drop)
    sheet, original = dispatch.read_original(flow, run.resource, drop)
    counters = Counters()
    with recorded_step(flow, run.step("conclude"), counters) as step_run_id:
        found = run.work(
            counters, lambda context: execution.conclude(context, drop.id, plan_id, sheet)
        )
        _write_report(run, drop, plan_id, sheet, original, found, counters, step_run_id)


def _write_report(
    run: OnboardingRun,
    drop: Drop,
    plan_id: str,
    sheet: Sheet,
    original: UPath,
    found: Conclusion,
    counters: Counters,
    step_run_id: int,
) -> None:
    """Write the report, close the drop and the step, in one transaction."""
    folder = run.report_folder(drop)
    ended, name = dict(counts(found.outcomes)), run.flow.name(folder)
    finished = ended["waiting"] == 0
    with run.flow.warehouse.begin() as connection:
        # Locks the drop: a run that takes the drop over writes its report later.
        claim.renew(connection, drop)
        matches.save(connection, run.resource, drop.id, found.matched)
        language = InboxSettings.from_environment().language_of(dispatch.folder_name(run.resource))
        others = {}
        if run.resource == differences.RESOURCE:
            others[differences.FILE] = differences.save_differences(
                connection, drop.id, found.outcomes, found.compared, language
            )
        report.write(
            folder, head(original), sheet, found.outcomes, found.receipt, others, language=language
        )
        ending = _ending(sheet, applied=found.applied and finished)
        closing.finish(connection, drop, ending, report=name, counts=ended)
        step_log.finish(
            connection,
            step_run_id,
            state="complete" if finished else "partial",
            counts=_row_counts(ended),
            service=counters,
            details={
                "drop": drop.id,
                "plan": plan_id,
                "report": name,
                "file_faults": sheet.file_reasons,
                **ended,
            },
        )
    log.info("drop %s: %s; report: %s", drop.id, _figures(ended), name)


def _ending(sheet: Sheet, *, applied: bool) -> claim.Ending:
    if sheet.refused:
        return "refused"
    return "applied" if applied else "not_applied"


def _save_plan(run: OnboardingRun, drop: Drop, sheet: Sheet, proposed: Proposal) -> None:
    """Save a plan in the drop's report, before approval is requested, and a truncated file's last line.

    The rows are personal data. Airflow stores the text of a request and shows it to every user who may
    view the DAG, so the request has figures only. The report requires the right to edit the DAG.
    """
    folder = run.report_folder(drop)
    content = plan_file.plan_file(proposed.plan, sheet)
    storage.save_private(folder / plan_file.file_name(proposed.plan.id), content)
    digest = hashlib.sha256(content).hexdigest()
    approval.save_file_digest(run.flow.warehouse, drop.id, proposed.plan.id, digest)
    if sheet.truncated_at is not None:
        storage.save_private(folder / report.LAST_LINE, report.last_line_file(sheet))
    closing.publish_report(run.flow.warehouse, drop, run.flow.name(folder))


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


def _require_version(manifest: Mapping[str, Any]) -> None:
    """Raise `OtherVersion` if another release made the manifest, before anything is done with it."""
    drop = manifest.get("drop")
    require_version(
        manifest,
        f"Trigger the DAG with drop={drop}: it plans again, and creates no created record again.",
    )


def _manifest(run: OnboardingRun, drop_id: int, proposed: Proposal, *, ask: bool) -> dict[str, Any]:
    plan = proposed.plan
    manifest = versioned(drop=drop_id, plan=plan.id, ask=ask, text=proposed.text())
    if not ask:
        return manifest
    request = ApprovalRequest(
        drop_id, run.resource, plan.id, plan.counts, proposed.decision.reasons
    )
    asked = question.ask(request, Links.of(run.flow.settings))
    users = InboxSettings.from_environment().approvers.get(dispatch.folder_name(run.resource), ())
    return {
        **manifest,
        "question": {"subject": asked.subject, "body": asked.body, "users": list(users)},
    }
