"""Tasks of the drops: one set for every resource that can be created."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from airflow.sdk import get_current_context

from bms_flows import runs
from bms_flows.creation import difference, matches, proposal, review, rules
from bms_flows.creation.certificate import certify
from bms_flows.creation.remotes import REMOTES
from bms_flows.creation.settings import Settings
from bms_flows.creation.verify import verify
from bms_flows.creation.workbench import Workbench
from bms_flows.drops import claim, custody, inbox, report, templates, waiting
from bms_flows.drops.outcome import counts
from bms_flows.drops.reading import read
from bms_flows.drops.settings import Settings as DropSettings
from bms_flows.drops.sheet import UNDECLARED
from bms_flows.workplace import recorded
from bms_provider import workplace
from bms_provider.hooks.bms import BmsHook

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from upath import UPath

    from bms_flows.drops.claim import Drop
    from bms_flows.drops.sheet import Sheet
    from bms_flows.workplace import Workplace

T = TypeVar("T")

log = logging.getLogger(__name__)


class NoSuchFile(LookupError):
    """There is no such file in the inbox, or no such drop; the text says what to give."""

    retriable = False


class RowsWaiting(RuntimeError):
    """Rows of the drop have no end yet; the text says how to go on with them."""

    retriable = False


def dispatch(name: str) -> list[dict[str, Any]]:
    """Take every settled file of an inbox; return, for each drop, the run to be started for it.

    A drop that was taken before, and whose run was never started, is among them again: its run's
    id is minted from its row, so that it can't be started twice.
    """
    with (
        workplace.open_workplace() as place,
        recorded(place, workplace.step(f"take_{name}")) as run_id,
    ):
        folder = _inbox(place, name)
        templates.provide(folder, REMOTES[name].resource)
        before = inbox.look(folder)
        lying = before
        if before:
            # What is waited for is that nothing happens: only time can tell.
            time.sleep(place.settings.drop_settle_s)
            lying = inbox.look(folder)
        looked = inbox.settled(folder, before.values(), lying.values())
        for seen in looked.settled:
            claim.enter(place.warehouse, name, seen)
        now = datetime.now(UTC)
        for each in waiting.keep(place.warehouse, name, lying.values(), looked.waiting):
            log.log(logging.WARNING if each.long(now) else logging.INFO, "%s", each.text(now))
        with place.warehouse.begin() as connection:
            runs.finish(connection, run_id, state="complete")
        return [
            {"trigger_run_id": drop.dag_run_id, "conf": {"drop": drop.id}}
            for drop in claim.unstarted(place.warehouse, name)
        ]


def plan(name: str) -> dict[str, Any]:
    """Take the run's drop, read it, and plan what would be created; return the proposal's manifest.

    The manifest: ``drop``, ``plan`` (its id, None where there is nothing to plan), ``ask``,
    ``text`` and ``creates``; figures only.
    """
    params = get_current_context()["params"]
    with workplace.open_workplace() as place:
        held = _hold(place, name, params)
        if held.state != "open":
            return _nothing(held, f"ended before: {held.state}")
        if params.get("decision"):
            return _decided(place, name, held, params)
        sheet, original = _taken(place, name, held)
        earlier = claim.record(
            place.warehouse, held, sha256=sheet.sha256, archive=place.name(original)
        )
        claim.started(place.warehouse, held.id)
        if earlier and not params.get("drop_again"):
            with place.warehouse.begin() as connection:
                claim.finish(
                    connection, held, "repeated", report=earlier.report, same_as=earlier.id
                )
            return _nothing(held, f"the same content as drop {earlier.id}: see its report")

        async def propose(bench: Workbench) -> proposal.Proposal:
            return await proposal.plan_drop(bench, held.id, sheet, _today(place))

        made = _run(place, name, propose)
    return _manifest(held.id, made, ask=made.decision.ask and not params.get("dry_run"))


def _decided(place: Workplace, name: str, held: Drop, params: Any) -> dict[str, Any]:
    """Take a person's decision on one line of the drop, and carry it out."""
    if not params.get("line"):
        raise NoSuchFile("a decision is on one line: give it as needs_review.csv does")
    row, plan_id = review.waiting_row(place.warehouse, name, held.id, params["line"])
    who = get_current_context()["dag_run"].triggering_user_name or "whoever triggered the run"

    async def carry_out(bench: Workbench) -> None:
        rows = await review.decide_review(bench, row, params["decision"], who)
        await bench.applier().apply(rows)

    _run(place, name, carry_out)
    text = f"line {params['line']}: {params['decision']}, decided by {who}"
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
    with workplace.open_workplace() as place:
        held = claim.get(place.warehouse, drop)
        sheet, _ = _taken(place, name, held)

        async def begin(bench: Workbench) -> proposal.Begun | proposal.Proposal | None:
            if answer["approved"] is False:
                proposal.refuse(bench, drop, plan_id, answer["who"])
                return None
            if answer["approved"]:
                proposal.agree(bench, drop, plan_id, answer["who"])
            return await proposal.begin(bench, drop, plan_id, sheet, _today(place))

        begun = _run(place, name, begin)
    if isinstance(begun, proposal.Proposal):
        return {**_manifest(drop, begun, ask=True), "chunks": []}
    if begun is None:
        return nothing
    return {**nothing, "plan": begun.plan_id, "chunks": list(range(begun.chunks))}


def apply(name: str, entered: dict[str, Any], chunk: int) -> dict[str, int]:
    """Bring the rows of one chunk to an end; return how many stand where."""

    async def bring(bench: Workbench) -> dict[str, int]:
        return await proposal.apply_chunk(bench, entered["drop"], entered["plan"], chunk)

    with workplace.open_workplace() as place:
        return _run(place, name, bring)


def conclude(name: str, entered: dict[str, Any] | None) -> dict[str, Any]:
    """Read back what was created, write the reports, the certificate last, and end the drop.

    Raises `RowsWaiting` once all that is written, when rows of an agreed plan have no end yet.
    """
    if entered is None:
        raise RowsWaiting("nothing was planned: the log of an earlier task says why")
    drop, plan_id = entered["drop"], entered.get("plan")
    if plan_id is None:
        return {"drop": drop, "state": entered.get("text")}
    with workplace.open_workplace() as place:
        held = claim.get(place.warehouse, drop)
        sheet, original = _taken(place, name, held)
        folder = place.data_root / "reports" / _folder(name) / held.folder

        async def certificate(bench: Workbench) -> tuple[Any, bytes, Any, Any]:
            chunks = await proposal.chunks_of(bench, drop, plan_id)
            await verify(bench, [row for chunk in chunks for row in chunk])
            outcomes, content = await certify(bench, drop, plan_id, sheet)
            if proposal.kept(bench, drop, plan_id).state != "applied":
                return outcomes, content, {}, []
            matched = matches.of_rows(bench.identity, sheet, outcomes)
            compared = await difference.compare_rows(bench, sheet, outcomes)
            return outcomes, content, matched, compared

        with (
            recorded(place, workplace.step("conclude")) as run_id,
            place.warehouse.begin() as connection,
        ):
            # Certificates form a chain: while this one is made, no other of the resource is.
            claim.previous_certificate(connection, name)
            outcomes, content, matched, compared = _run(place, name, certificate)
            matches.keep(connection, name, drop, matched)
            others = {}
            if name == difference.RESOURCE:
                others[difference.FILE] = difference.tell(connection, drop, outcomes, compared)
            written = report.write(folder, original.read_bytes(), sheet, outcomes, content, others)
            ended = dict(counts(outcomes))
            finished = ended["waiting"] == 0
            claim.finish(
                connection,
                held,
                "applied" if finished else "not_applied",
                report=place.name(folder),
                certificate=written.certificate,
            )
            runs.finish(
                connection,
                run_id,
                state="complete" if finished else "partial",
                counts=_counts(ended),
                details={"drop": drop, "plan": plan_id, "report": place.name(folder), **ended},
            )
    if entered["chunks"] and not finished:
        raise RowsWaiting(
            f"{ended['waiting']} rows of drop {drop} have no end yet: trigger again with drop={drop}"
        )
    return {"drop": drop, "report": place.name(folder), **ended}


def _counts(ended: dict[str, int]) -> runs.Counts:
    made, there = ended["created"] + ended["adopted"], ended["already_there"]
    total = sum(ended.values())
    return runs.Counts(
        rows_read=total, inserted=made, unchanged=there, quarantined=total - made - there
    )


def _hold(place: Workplace, name: str, params: Any) -> Drop:
    """Return the drop that the run is for, held by it."""
    run_id = get_current_context()["dag_run"].run_id
    if taken := claim.of_run(place.warehouse, name, run_id):
        return taken  # an earlier try took it: the file no longer lies where it was dropped
    if params.get("path"):
        seen = inbox.see(_inbox(place, name), params["path"])
        if seen is None:
            raise NoSuchFile("no such file in the inbox; give its name as it lies there")
        return claim.enter(place.warehouse, name, seen, dag_run_id=run_id)
    if not params.get("drop"):
        raise NoSuchFile("give the name of a file in the inbox, or a drop's number")
    held = claim.get(place.warehouse, params["drop"])
    if held.resource != name:
        raise NoSuchFile(f"drop {held.id} is none of this DAG's: it holds {held.resource}")
    return claim.reopen(place.warehouse, held.id, run_id)


def _taken(place: Workplace, name: str, held: Drop) -> tuple[Sheet, UPath]:
    """Return the drop's content as read, and where the original is kept."""
    original = custody.take(_inbox(place, name), place.data_root / "archive" / _folder(name), held)
    declared = DropSettings.from_environment().inbox_formats.get(_folder(name), UNDECLARED)
    return read(original.read_bytes(), original.name, REMOTES[name].resource, declared), original


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


def _folder(name: str) -> str:
    return REMOTES[name].resource.inbox


def _inbox(place: Workplace, name: str) -> UPath:
    return place.data_root / "inbox" / _folder(name)


def _today(place: Workplace) -> date:
    return datetime.now(UTC).astimezone(place.settings.time_zone).date()


def _run(place: Workplace, name: str, work: Callable[[Workbench], Awaitable[T]]) -> T:
    """Do `work` with clients of its own, in the one event loop of this task."""
    hook, settings = BmsHook(), Settings.from_environment()
    reader, writer = hook.client(), hook.client(attempts=1)

    async def on_a_bench() -> T:
        remote = REMOTES[name]
        async with reader, writer:
            own = rules.read(remote.resource)
            bench = Workbench(place.warehouse, remote(reader, writer, settings), own, settings)
            return await work(bench)

    try:
        return asyncio.run(on_a_bench())
    finally:
        for client in (reader, writer):
            workplace.emit(client.counters, f"create_{name}")
