"""Dispatch of dropped files: claims the settled files of an inbox for the DAG runs to start."""

import logging
import time
from datetime import timedelta
from typing import Any

from bms_flows.onboarding.inbox import (
    archive,
    claim,
    discovery,
    skipped_files,
    templates,
    unfinished,
)
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.onboarding.inboxes import Inbox
from bms_flows.runtime import step_log
from bms_flows.runtime.context import recorded_step
from bms_warehouse import database
from bms_warehouse.locks import Busy

log = logging.getLogger(__name__)


def dispatch(inbox: Inbox, step: step_log.Step) -> list[dict[str, Any]]:
    """Claim every settled file of an inbox; return the DAG runs to start, one per drop.

    Includes earlier drops whose run was not started. Run ids are deterministic, so no run starts twice.
    """
    flow, folder = inbox.flow, inbox.folder
    with recorded_step(flow, step) as step_run_id:
        inbox.provide()
        _restore_orphaned_files(inbox)
        before = discovery.list_files(folder)
        files = before
        if before:
            time.sleep(flow.settings.drop_settle_s)  # a file is settled if it does not change
            files = discovery.list_files(folder)
        looked = discovery.compare_scans(folder, before.values(), files.values())
        for seen in looked.settled:
            _claim_if_free(inbox, seen)
        now = database.now(flow.warehouse)
        stable = timedelta(minutes=flow.settings.drop_stable_minutes)
        for each in unfinished.save(flow.warehouse, inbox.name, files.values(), looked.waiting):
            log.log(logging.WARNING if each.long(now) else logging.INFO, "%s", each.text(now))
            if each.is_stable(now, stable):
                _claim_if_free(inbox, files[each.path])
        _update_notice(inbox)
        with flow.warehouse.begin() as connection:
            step_log.finish(connection, step_run_id, state="complete")
        return [
            {"trigger_run_id": drop.dag_run_id, "conf": {"drop": drop.id}}
            for drop in claim.unstarted(flow.warehouse, inbox.name)
        ]


def tidy(inbox: Inbox) -> None:
    """Close drops that wait for a file that left the inbox, and update the notice in the inbox."""
    engine = inbox.flow.warehouse
    unfinished.withdraw_missing(engine, inbox.name, lambda: discovery.list_files(inbox.folder))
    _update_notice(inbox)


def _restore_orphaned_files(inbox: Inbox) -> None:
    """Return files to the inbox that a killed run moved away for a drop that no longer needs them."""
    for number in archive.orphaned_drops(inbox.folder):
        try:
            drop = claim.get(inbox.flow.warehouse, number)
        except claim.NoSuchDrop:
            log.warning("returned files of unknown drop %s to the inbox", number)
            archive.return_unknown(inbox.folder, number)
            continue
        if drop.state != "open":
            archive.return_to_inbox(inbox.folder, drop)


def _claim_if_free(inbox: Inbox, seen: FoundFile) -> None:
    """Claim a file for the run named after its drop; a file that another run has stays in the inbox."""
    try:
        inbox.claim(seen)
    except Busy as busy:
        log.info("%s", busy)


def _update_notice(inbox: Inbox) -> None:
    """Write into the inbox which files and folders are not claimed, and why."""
    flow, own_files = inbox.flow, templates.names(inbox.resource)
    now = database.now(flow.warehouse)
    skipped = [
        *skipped_files.waiting_files(unfinished.current(flow.warehouse, inbox.name), now),
        *skipped_files.ignored_entries(inbox.folder, own_files, now),
    ]
    minutes = flow.settings.drop_stable_minutes
    skipped_files.publish(inbox.folder, skipped, flow.settings.time_zone, minutes)
