"""What lies in an inbox: taken, and given to the run that it is for."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context

from bms_flows import runs
from bms_flows.creation.remotes import REMOTES
from bms_flows.drops import claim, custody, inbox, templates, waiting
from bms_flows.drops.reading import read
from bms_flows.drops.settings import Settings
from bms_flows.drops.sheet import UNDECLARED
from bms_flows.workplace import recorded
from bms_provider import workplace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upath import UPath

    from bms_flows.drops.claim import Drop
    from bms_flows.drops.sheet import Sheet
    from bms_flows.workplace import Workplace

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
        workplace.open_workplace() as place,
        recorded(place, workplace.step(f"take_{name}")) as run_id,
    ):
        folder = _folder(place, name)
        templates.provide(folder, REMOTES[name].resource)
        for number in custody.strays(folder):
            # What was dropped just after a claim may have been set aside by a run that then died.
            if (drop := claim.get(place.warehouse, number)).state != "open":
                custody.give_back(folder, drop)
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


def hold(place: Workplace, name: str, params: Mapping[str, Any]) -> Drop:
    """Return the drop that the run is for, held by it; raise `NoSuchFile`."""
    run_id = get_current_context()["dag_run"].run_id
    if mine := claim.of_run(place.warehouse, name, run_id):
        return mine  # an earlier try took it: the file no longer lies where it was dropped
    if params.get("path"):
        seen = inbox.see(_folder(place, name), params["path"])
        if seen is None:
            raise NoSuchFile("no such file in the inbox; give its name as it lies there")
        return claim.enter(place.warehouse, name, seen, dag_run_id=run_id)
    if not params.get("drop"):
        raise NoSuchFile("give the name of a file in the inbox, or a drop's number")
    held = claim.get(place.warehouse, params["drop"])
    if held.resource != name:
        raise NoSuchFile(f"drop {held.id} is none of this DAG's: it holds {held.resource}")
    return claim.reopen(place.warehouse, held.id, run_id)


def taken(place: Workplace, name: str, held: Drop) -> tuple[Sheet, UPath]:
    """Return the drop's content as read, and where the original is kept."""
    original = custody.take(
        _folder(place, name), place.data_root / "archive" / folder_name(name), held
    )
    declared = Settings.from_environment().inbox_formats.get(folder_name(name), UNDECLARED)
    sheet = read(inbox.head(original), original.name, REMOTES[name].resource, declared)
    return replace(sheet, sha256=custody.digest(original)), original


def folder_name(name: str) -> str:
    """Return the name of a resource's inbox, and so of the folders of its reports and originals."""
    return REMOTES[name].resource.inbox


def _folder(place: Workplace, name: str) -> UPath:
    return place.data_root / "inbox" / folder_name(name)
