"""What lies in an inbox: taken, and given to the run that it is for."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context

from bms_flows.onboarding.inbox import (
    archive,
    claim,
    closing,
    discovery,
    not_taken,
    templates,
    unfinished,
)
from bms_flows.onboarding.inbox.settings import InboxSettings
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import UNDECLARED
from bms_flows.onboarding.reporting import report
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.runtime import step_log
from bms_flows.runtime.context import recorded_step
from bms_provider import flow_context
from bms_warehouse import database

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upath import UPath

    from bms_flows.onboarding.inbox.claim import Drop
    from bms_flows.onboarding.inbox.discovery import Seen
    from bms_flows.onboarding.reading.sheet import Format, Sheet
    from bms_flows.runtime.context import FlowContext

log = logging.getLogger(__name__)


class NoSuchFile(LookupError):
    """There is no such file in the inbox, or no such drop; the text says what to give."""

    retriable = False


def dispatch(name: str) -> list[dict[str, Any]]:
    """Take every settled file of an inbox; return, for each drop, the run to be started for it.

    A drop that was taken before, and whose run was never started, is among them again: its run's
    id is minted from its row, so that it can't be started twice.
    """
    with (
        flow_context.open_context() as flow,
        recorded_step(flow, flow_context.step(f"take_{name}")) as step_run_id,
    ):
        folder = provide(flow, name)
        for number in archive.strays(folder):
            # What was dropped just after a claim may have been set aside by a run that then died.
            try:
                drop = claim.get(flow.warehouse, number)
            except claim.NoSuchDrop:
                log.warning("files were set aside for drop %s, which nobody knows", number)
                archive.let_go(folder, number)
                continue
            if drop.state != "open":
                archive.give_back(folder, drop)
        before = discovery.look(folder)
        lying = before
        if before:
            # What is waited for is that nothing happens: only time can tell.
            time.sleep(flow.settings.drop_settle_s)
            lying = discovery.look(folder)
        looked = discovery.settled(folder, before.values(), lying.values())
        for seen in looked.settled:
            try:
                _claimed(flow, name, folder, seen)
            except claim.DropTaken as taken:  # the others are no less welcome
                log.info("%s", taken)
        now = database.now(flow.warehouse)
        stable = timedelta(minutes=flow.settings.drop_stable_minutes)
        for each in unfinished.keep(flow.warehouse, name, lying.values(), looked.waiting):
            log.log(logging.WARNING if each.long(now) else logging.INFO, "%s", each.text(now))
            if each.cut_off(now, stable):
                _claimed(flow, name, folder, lying[each.path])
        _explain(flow, name, folder)
        with flow.warehouse.begin() as connection:
            step_log.finish(connection, step_run_id, state="complete")
        return [
            {"trigger_run_id": drop.dag_run_id, "conf": {"drop": drop.id}}
            for drop in claim.unstarted(flow.warehouse, name)
        ]


def provide(flow: FlowContext, name: str) -> UPath:
    """Return an inbox, which is there then, with its templates: no file can come before it is."""
    folder = _folder(flow, name)
    templates.provide(folder, REMOTES[name].resource, declared(name))
    return folder


def tidy(flow: FlowContext, name: str) -> None:
    """End the drops that wait for a file which has left the inbox, and renew the inbox's notice."""
    folder = _folder(flow, name)
    unfinished.forget(flow.warehouse, name, lambda: discovery.look(folder))
    _explain(flow, name, folder)


def _explain(flow: FlowContext, name: str, folder: UPath) -> None:
    """Write into the inbox which files and folders aren't taken, and why."""
    now, ours = database.now(flow.warehouse), templates.names(REMOTES[name].resource)
    untaken = [
        *not_taken.waiting(unfinished.current(flow.warehouse, name), now),
        *not_taken.passed_over(folder, ours, now),
    ]
    minutes = flow.settings.drop_stable_minutes
    not_taken.publish(folder, untaken, flow.settings.time_zone, minutes)


def hold(flow: FlowContext, name: str, params: Mapping[str, Any]) -> Drop:
    """Return the drop that the run is for, held by it; raise `NoSuchFile`."""
    run_id = get_current_context()["dag_run"].run_id
    if mine := claim.of_run(flow.warehouse, name, run_id):
        # An earlier try took it: the file no longer lies where it was dropped. Only a run that was
        # cleared finds its drop ended so, and is to go on.
        goes_on = mine.state in ("not_applied", "withdrawn") or params.get("decision")
        return claim.reopen(flow.warehouse, mine.id, run_id) if goes_on else mine
    if params.get("path"):
        folder = _folder(flow, name)
        seen = discovery.see(folder, params["path"])
        if seen is None:
            raise NoSuchFile("no such file in the inbox; give its name as it lies there")
        return _claimed(flow, name, folder, seen, run_id)
    if not params.get("drop"):
        raise NoSuchFile("give the name of a file in the inbox, or a drop's number")
    held = claim.get(flow.warehouse, params["drop"])
    if held.resource != name:
        raise NoSuchFile(f"drop {held.id} is none of this DAG's: it holds {held.resource}")
    return claim.reopen(flow.warehouse, held.id, run_id)


def taken(flow: FlowContext, name: str, held: Drop) -> tuple[Sheet, UPath]:
    """Return the drop's content as read, and where the original is kept.

    Where the file is not there to be read the drop ends, and `DropGone` is raised.
    """
    folder = _folder(flow, name)
    try:
        original = archive.take(folder, flow.data_root / "archive" / folder_name(name), held)
    except archive.DropGone:
        closing.withdraw(flow.warehouse, held, _why_gone(folder, held))
        raise
    content = discovery.head(original)
    sheet = read(content, original.name, REMOTES[name].resource, declared(name))
    cut_off = None if discovery.complete(content, original.name) else report.last_line(sheet)
    return replace(sheet, sha256=archive.digest(original), cut_off=cut_off), original


def folder_name(name: str) -> str:
    """Return the name of a resource's inbox, and so of the folders of its reports and originals."""
    return REMOTES[name].resource.inbox


def declared(name: str) -> Format:
    """Return how the files of a resource's inbox are declared to be written."""
    return InboxSettings.from_environment().inbox_formats.get(folder_name(name), UNDECLARED)


def _claimed(
    flow: FlowContext, name: str, folder: UPath, seen: Seen, run_id: str | None = None
) -> Drop:
    """Return the drop of a file that lies in the inbox, taken for a run; raise `DropTaken`."""
    drop = claim.enter(flow.warehouse, name, seen, run_id)
    if drop.state in claim.ENDED and discovery.see(folder, seen.path) == seen:
        # A run moves its file away before it ends the drop: this one has come since.
        drop = claim.enter_again(flow.warehouse, drop, run_id)
    return drop


def _why_gone(folder: UPath, held: Drop) -> str:
    """Return the code of why a drop's file can't be read."""
    if held.archive is not None:
        return "not_kept"
    return "gone" if discovery.see(folder, held.path) is None else "changed"


def _folder(flow: FlowContext, name: str) -> UPath:
    return flow.data_root / "inbox" / folder_name(name)
