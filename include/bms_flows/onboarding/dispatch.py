"""Dispatch of dropped files: claim settled files of an inbox, assign them to DAG runs, read them."""

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from upath import UPath

from bms_flows.catalog import CREATED_BY
from bms_flows.onboarding.inbox import (
    archive,
    claim,
    closing,
    discovery,
    skipped_files,
    templates,
    unfinished,
)
from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.onboarding.inbox.settings import InboxSettings
from bms_flows.onboarding.planning import rules
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import UNDECLARED, DeclaredFormat, Sheet
from bms_flows.onboarding.reporting import report
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.runtime import step_log
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.notice import Links
from bms_warehouse import database
from bms_warehouse.locks import Busy

log = logging.getLogger(__name__)


class NoSuchFile(LookupError):
    """The inbox has no such file, or there is no such drop; the message explains the params."""

    retriable = False


def dispatch(flow: FlowContext, name: str, step: step_log.Step) -> list[dict[str, Any]]:
    """Claim every settled file of an inbox; return the DAG runs to start, one per drop.

    Includes earlier drops whose run was not started. Run ids are deterministic, so no run starts twice.
    """
    with recorded_step(flow, step) as step_run_id:
        folder = provide(flow, name)
        _restore_orphaned_files(flow, folder)
        before = discovery.list_files(folder)
        files = before
        if before:
            time.sleep(flow.settings.drop_settle_s)  # a file is settled if it does not change
            files = discovery.list_files(folder)
        looked = discovery.compare_scans(folder, before.values(), files.values())
        for seen in looked.settled:
            _claim_if_free(flow, name, folder, seen)
        now = database.now(flow.warehouse)
        stable = timedelta(minutes=flow.settings.drop_stable_minutes)
        for each in unfinished.save(flow.warehouse, name, files.values(), looked.waiting):
            log.log(logging.WARNING if each.long(now) else logging.INFO, "%s", each.text(now))
            if each.is_stable(now, stable):
                _claim_if_free(flow, name, folder, files[each.path])
        _update_notice(flow, name, folder)
        with flow.warehouse.begin() as connection:
            step_log.finish(connection, step_run_id, state="complete")
        return [
            {"trigger_run_id": drop.dag_run_id, "conf": {"drop": drop.id}}
            for drop in claim.unstarted(flow.warehouse, name)
        ]


def provide(flow: FlowContext, name: str) -> UPath:
    """Create an inbox with its templates if needed; return the folder."""
    folder, resource = _folder(flow, name), REMOTES[name].resource
    page = Links.of(flow.settings).drops(CREATED_BY[name].dag_id)
    described = replace(resource, required=rules.read(resource).required)
    templates.provide(folder, described, declared(name), page=page)
    return folder


def tidy(flow: FlowContext, name: str) -> None:
    """Close drops that wait for a file that left the inbox, and update the notice in the inbox."""
    folder = _folder(flow, name)
    unfinished.withdraw_missing(flow.warehouse, name, lambda: discovery.list_files(folder))
    _update_notice(flow, name, folder)


def drop_of_run(flow: FlowContext, name: str, params: Mapping[str, Any], run_id: str) -> Drop:
    """Return the drop of a DAG run, claimed by the run; raise `NoSuchFile`."""
    if own := claim.drop_of_run(flow.warehouse, name, run_id):
        # An earlier try claimed the drop. A closed drop means that the run was cleared.
        reopened = own.state in ("not_applied", "refused", "withdrawn") or params.get("decision")
        return claim.reopen(flow.warehouse, own.id, run_id) if reopened else own
    if params.get("path"):
        folder = _folder(flow, name)
        seen = discovery.find_typed(folder, params["path"])
        if seen is None:
            raise NoSuchFile("no such file in the inbox; enter its name in the inbox")
        return _claim(flow, name, folder, seen, run_id)
    if not params.get("drop"):
        raise NoSuchFile("enter the name of a file in the inbox, or the number of a drop")
    drop = claim.get(flow.warehouse, params["drop"])
    if drop.resource != name:
        raise NoSuchFile(f"drop {drop.id} belongs to another DAG: its resource is {drop.resource}")
    return claim.reopen(flow.warehouse, drop.id, run_id)


def archive_original(flow: FlowContext, name: str, drop: Drop) -> UPath:
    """Move the file of a drop to the archive; return its path there.

    Closes the drop and raises `FileChanged` if the file changed or is missing.
    """
    folder = _folder(flow, name)
    try:
        return archive.move_to_archive(folder, flow.data_root / "archive" / folder_name(name), drop)
    except archive.FileChanged:
        closing.withdraw(flow.warehouse, drop, _missing_reason(folder, drop))
        raise


def read_original(flow: FlowContext, name: str, drop: Drop) -> tuple[Sheet, UPath]:
    """Archive and parse the file of a drop; return the content and the path. Raises `FileChanged`."""
    original = archive_original(flow, name, drop)
    content = discovery.head(original)
    sheet = read(content, original.name, REMOTES[name].resource, declared(name))
    truncated_at = None if discovery.complete(content, original.name) else report.last_line(sheet)
    return replace(sheet, sha256=archive.digest(original), truncated_at=truncated_at), original


def folder_name(name: str) -> str:
    """Return the folder name of a resource in the inbox, archive and reports."""
    return REMOTES[name].resource.inbox


def declared(name: str) -> DeclaredFormat:
    """Return the declared file format of a resource's inbox."""
    return InboxSettings.from_environment().inbox_formats.get(folder_name(name), UNDECLARED)


def _restore_orphaned_files(flow: FlowContext, folder: UPath) -> None:
    """Return files to the inbox that a killed run moved away for a drop that no longer needs them."""
    for number in archive.orphaned_drops(folder):
        try:
            drop = claim.get(flow.warehouse, number)
        except claim.NoSuchDrop:
            log.warning("returned files of unknown drop %s to the inbox", number)
            archive.return_unknown(folder, number)
            continue
        if drop.state != "open":
            archive.return_to_inbox(folder, drop)


def _claim(
    flow: FlowContext, name: str, folder: UPath, seen: FoundFile, run_id: str | None = None
) -> Drop:
    """Claim a file in the inbox for a run; raise `Busy` if another run has it."""
    drop = claim.claim_file(flow.warehouse, name, seen, run_id)
    if drop.state in claim.ENDED and discovery.find_file(folder, seen.path) == seen:
        # A run archives its file before it closes the drop, so this file was dropped later.
        drop = claim.claim_again(flow.warehouse, drop, run_id)
    return drop


def _claim_if_free(flow: FlowContext, name: str, folder: UPath, seen: FoundFile) -> None:
    """Claim a file for the run named after its drop; a file that another run has stays in the inbox."""
    try:
        _claim(flow, name, folder, seen)
    except Busy as busy:
        log.info("%s", busy)


def _update_notice(flow: FlowContext, name: str, folder: UPath) -> None:
    """Write into the inbox which files and folders are not claimed, and why."""
    now, own_files = database.now(flow.warehouse), templates.names(REMOTES[name].resource)
    skipped = [
        *skipped_files.waiting_files(unfinished.current(flow.warehouse, name), now),
        *skipped_files.ignored_entries(folder, own_files, now),
    ]
    minutes = flow.settings.drop_stable_minutes
    skipped_files.publish(folder, skipped, flow.settings.time_zone, minutes)


def _missing_reason(folder: UPath, drop: Drop) -> str:
    """Return the code of the reason why the file of a drop is not readable."""
    if drop.archive is not None:
        return "archive_expired"
    return "removed" if discovery.find_file(folder, drop.path) is None else "changed"


def _folder(flow: FlowContext, name: str) -> UPath:
    return flow.data_root / "inbox" / folder_name(name)
