"""Inbox of a resource: its folder, the drops that are claimed from it, and their files."""

import hashlib
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property, partial
from typing import Any

from sqlalchemy import Connection
from upath import UPath

from bms_flows.catalog import CREATED_BY
from bms_flows.onboarding.creation import Conclusion
from bms_flows.onboarding.inbox import (
    archive,
    claim,
    closing,
    discovery,
    templates,
    unclaimed,
    uploads,
)
from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.onboarding.inbox.uploads import Upload
from bms_flows.onboarding.ledger import entering
from bms_flows.onboarding.planning.approval import Plans
from bms_flows.onboarding.planning.plan import Plan
from bms_flows.onboarding.planning.rules import Reading
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting import approval_request, differences, report
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime import step_log, storage
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.notice import Links
from bms_warehouse import database
from bms_warehouse.locks import Busy, LeaseLost

log = logging.getLogger(__name__)


class NoSuchFile(LookupError):
    """The inbox has no such file, or there is no such drop; the message explains the params."""

    retriable = False


@dataclass(frozen=True)
class Inbox:
    """The inbox of a resource."""

    flow: FlowContext
    name: str
    """The resource."""
    settings: OnboardingSettings

    @cached_property
    def reading(self) -> Reading:
        """How the files are read and planned."""
        return Reading.of(self.name, self.settings)

    @property
    def resource(self) -> Resource:
        """The description of the resource."""
        return self.reading.resource

    @property
    def folder(self) -> UPath:
        """The folder of the inbox."""
        return self._folder("inbox")

    def _folder(self, kind: str) -> UPath:
        return self.flow.data_root / kind / REMOTES[self.name].resource.inbox

    def _list_files(self) -> dict[str, FoundFile]:
        return discovery.list_files(self.folder)

    def provide(self) -> None:
        """Create the inbox with its templates if needed; raise `InboxGone`."""
        page = Links.of(self.flow.settings).flow(CREATED_BY[self.name].dag_id)
        last = partial(claim.last_archived, self.flow.warehouse, self.name)
        declared = self.reading.declared
        templates.provide(self.folder, self._described, declared, page=page, last=last)

    @property
    def _described(self) -> Resource:
        return replace(self.reading.resource, required=self.reading.rules.required)

    def dispatch(self, step: step_log.Step) -> list[dict[str, Any]]:
        """Claim every settled file; return the DAG runs to start, one per drop.

        Includes earlier drops whose run was not started. Run ids are deterministic, so no run starts
        twice.
        """
        engine, settings = self.flow.warehouse, self.flow.settings
        with recorded_step(self.flow, step) as step_run_id:
            self.provide()
            self._restore_orphaned_files()
            files = before = self._list_files()
            if before:
                time.sleep(settings.drop_settle_s)  # a file is settled if it does not change
                files = self._list_files()
            found = discovery.compare_scans(self.folder, before.values(), files.values())
            for seen in found.settled:
                self._claim_if_free(seen)
            now, stable = database.now(engine), timedelta(minutes=settings.drop_stable_minutes)
            for each in unclaimed.save(engine, self.name, files.values(), found.waiting):
                log.log(logging.WARNING if each.long(now) else logging.INFO, "%s", each.text(now))
                if each.is_stable(now, stable):
                    self._claim_if_free(files[each.path])
            self._update_notice()
            with engine.begin() as connection:
                step_log.finish(connection, step_run_id, state="complete")
            return [
                {"trigger_run_id": drop.dag_run_id, "conf": {"drop": drop.id}}
                for drop in claim.unstarted(engine, self.name)
            ]

    def tidy(self) -> None:
        """Close drops whose waiting file left the inbox, return and delete hidden files, update the notice."""
        self._restore_orphaned_files()
        unclaimed.withdraw_missing(self.flow.warehouse, self.name, self._list_files)
        self._update_notice()

    def _restore_orphaned_files(self) -> None:
        """Return hidden files that are no drop's original to the inbox, and delete originals of a while ago."""
        now = database.now(self.flow.warehouse)
        for number in archive.orphaned_drops(self.folder):
            try:
                drop = claim.get(self.flow.warehouse, number)
            except claim.NoSuchDrop:
                log.warning("returned files of unknown drop %s to the inbox", number)
                archive.return_unknown(self.folder, number)
                continue
            if drop.archive is not None:
                expired = drop.expires_at < now
                archive.release(self.folder, self._folder("archive"), drop, expired=expired)
            elif drop.state != "open":
                archive.return_to_inbox(self.folder, drop)

    def _claim_if_free(self, seen: FoundFile) -> None:
        """Claim a file for the run named after its drop; a file that another run has stays in the inbox."""
        try:
            self.claim(seen)
        except Busy as busy:
            log.info("%s", busy)

    def _update_notice(self) -> None:
        """Write into the inbox which files and folders are not claimed, and why."""
        engine, settings = self.flow.warehouse, self.flow.settings
        filled_in = templates.filled_in(self.folder, self._described, self.reading.declared)
        now, own_files = database.now(engine), templates.names(self.resource) - filled_in
        skipped = [
            *unclaimed.waiting_files(unclaimed.current(engine, self.name), now),
            *unclaimed.claimed_files(engine, self.name, self._list_files),
            *unclaimed.ignored_entries(self.folder, own_files, now),
        ]
        minutes = settings.drop_stable_minutes
        unclaimed.publish(self.folder, skipped, settings.time_zone, minutes)

    def claim(self, seen: FoundFile, run_id: str | None = None) -> Drop:
        """Claim a file for a run; raise `Busy` if another run has it."""
        drop = claim.claim_file(self.flow.warehouse, self.name, seen, run_id)
        if drop.state in claim.ENDED and discovery.find_file(self.folder, seen.path) == seen:
            # A run archives its file before it closes the drop, so this file was dropped later.
            drop = claim.claim_again(self.flow.warehouse, drop, run_id)
        return drop

    def submit(self, upload: Upload) -> Drop:
        """Drop an upload: write its content into the inbox and claim it, as a run of the dispatcher does.

        The original of a corrected file is archived beside the file.
        """
        content, original = upload.contents()
        self.provide()
        announce = partial(unclaimed.announce, self.flow.warehouse, self.name, user=upload.user)
        drop = self.claim(uploads.add(self.folder, upload.name, content, announce))
        if original is not None:
            folder = self._folder("archive") / drop.folder
            storage.save_private(folder / f"original-{upload.name}", original)
        upload.remove()
        return drop

    def drop_of_run(self, params: Mapping[str, Any], run_id: str) -> Drop:
        """Return the drop of a DAG run, claimed by the run; raise `NoSuchFile`."""
        engine = self.flow.warehouse
        if own := claim.drop_of_run(engine, self.name, run_id):
            # An earlier try claimed the drop. A closed drop means that the run was cleared.
            ended = own.state in ("not_applied", "refused", "withdrawn")
            return claim.reopen(engine, own.id, run_id) if ended or params.get("decision") else own
        if params.get("path"):
            seen = discovery.find_typed(self.folder, params["path"])
            if seen is None:
                taken = claim.last_named(engine, self.name, params["path"])
                raise NoSuchFile(
                    f"no such file in the inbox: run {taken.dag_run_id} took the last file of this name;"
                    f" read the report of drop {taken.id}, or enter its number to continue it"
                    if taken
                    else "no such file in the inbox; enter its name in the inbox"
                )
            return self.claim(seen, run_id)
        if not params.get("drop"):
            raise NoSuchFile("enter the name of a file in the inbox, or the number of a drop")
        drop = claim.get(engine, params["drop"])
        if drop.resource != self.name:
            raise NoSuchFile(
                f"drop {drop.id} belongs to another DAG: its resource is {drop.resource}"
            )
        return claim.reopen(engine, drop.id, run_id)

    def archive(self, drop: Drop) -> UPath:
        """Move the file of a drop to the archive; return its path there.

        Closes the drop and raises `FileChanged` if the file changed or is missing.
        """
        try:
            return archive.move_to_archive(self.folder, self._folder("archive"), drop)
        except archive.FileChanged:
            with suppress(LeaseLost):  # an erasure ended the drop, or another run has it
                closing.withdraw(self.flow.warehouse, drop, self._missing_reason(drop))
            raise

    def read(self, drop: Drop) -> tuple[Sheet, UPath]:
        """Archive and parse the file of a drop; return content and path. Raises `FileChanged`."""
        original = self.archive(drop)
        content = discovery.head(original)
        sheet = read(content, original.name, self.resource, self.reading.declared)
        cut = None if discovery.complete(content, original.name) else report.last_line(sheet)
        return replace(sheet, sha256=archive.digest(original), truncated_at=cut), original

    def close_repeated(self, drop: Drop, sheet: Sheet, original: UPath) -> Drop | None:
        """Record the content of a drop; close the drop if an earlier one, which is returned, finished this content.

        Content that was planned by other rules is processed again.
        """
        engine, archived = self.flow.warehouse, self.flow.name(original)
        earlier = closing.record_content(engine, drop, sha256=sheet.sha256, archive=archived)
        applied = earlier and Plans(engine, earlier.id).latest_applied()
        if not (earlier and applied):
            return None
        if applied.bound.get("rules") != self.reading.rules.version:
            return None
        with engine.begin() as connection:
            closing.finish(connection, drop, "repeated", report=earlier.report, same_as=earlier.id)
        return earlier

    def save_plan(self, drop: Drop, sheet: Sheet, plan: Plan) -> None:
        """Save a plan in the drop's report, before approval is requested, and a truncated file's last line.

        The rows are personal data. Airflow stores the text of a request and shows it to every user who
        may view the DAG, so the request has figures only. The report requires the right to edit the DAG.
        """
        engine, folder = self.flow.warehouse, self._folder("reports") / drop.folder
        content = approval_request.plan_file(plan, sheet)
        with engine.begin() as connection:
            claim.renew(connection, drop, report=self.flow.name(folder))
            storage.save_private(folder / approval_request.plan_file_name(plan.id), content)
            Plans(engine, drop.id).save_file_digest(plan.id, hashlib.sha256(content).hexdigest())
            if sheet.truncated_at is not None:
                storage.save_private(folder / report.LAST_LINE, report.last_line_file(sheet))

    def close(
        self, connection: Connection, drop: Drop, sheet: Sheet, original: UPath, found: Conclusion
    ) -> dict[str, Any]:
        """Write the report of a drop and close it in the caller's transaction; return what its step logs.

        Locks the drop first: a run that takes the drop over writes its report later. Raises `LeaseLost`.
        """
        folder, language = self._folder("reports") / drop.folder, self.reading.language
        claim.renew(connection, drop)
        entering.save_matches(connection, self.name, drop.id, found.matched)
        others: dict[str, bytes] = {}
        if self.name == differences.RESOURCE:
            others[differences.FILE] = differences.save_differences(
                connection, drop.id, found.outcomes, found.compared, language
            )
        content, name = discovery.head(original), self.flow.name(folder)
        report.write(
            folder, content, sheet, found.outcomes, found.receipt, others, language=language
        )
        ended = report.counts(found.outcomes)
        ending: claim.Ending = "not_applied"
        if sheet.refused:
            ending = "refused"
        elif found.applied and not ended["waiting"]:
            ending = "applied"
        closing.finish(connection, drop, ending, report=name, counts=ended)
        notes = [
            {"code": each.code, "line": each.line, "details": dict(each.details)}
            for each in sheet.notes
        ]
        faults = sheet.file_reasons
        return {"ending": ending, "report": name, "file_faults": faults, "file_notes": notes}

    def _missing_reason(self, drop: Drop) -> str:
        """Return the code of the reason why the file of a drop is not readable."""
        if drop.archive is not None:
            return "archive_expired"
        return "removed" if discovery.find_file(self.folder, drop.path) is None else "changed"
