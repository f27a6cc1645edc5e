"""Run of a mirror: reads lists and details, stages differences and publishes them in one transaction."""

import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Connection

from bms.client import Client
from bms_flows.mirror import cache, store
from bms_flows.mirror.decisions import (
    MirrorRow,
    Rotation,
    details_to_confirm,
    details_to_read,
    exceeds_limit,
    in_rotation,
    missing_rows,
    newly_missing,
    rows_with_flag,
)
from bms_flows.mirror.details import Details
from bms_flows.mirror.diff import ListDiff, RecalledRow
from bms_flows.mirror.flags import FlagList, FlagOf, always
from bms_flows.mirror.lists import read_lists
from bms_flows.mirror.publish import MirrorOutcome, publish
from bms_flows.mirror.resource import MirroredResource, MirrorSource, RunOptions
from bms_flows.mirror.responses import ResponseFiles, store_responses
from bms_flows.mirror.staging import Staging, staging_tables
from bms_flows.runtime import profiles, step_log
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.landing import Landing
from bms_flows.runtime.list_id import ListId
from bms_warehouse.queries import drops

LOG = logging.getLogger(__name__)

StoredRows = Mapping[Key, MirrorRow]


async def sync(
    client: Client,
    flow: FlowContext,
    resource: MirroredResource,
    source: MirrorSource,
    options: RunOptions,
    step: step_log.Step,
) -> dict[str, Any]:
    """Synchronise the mirror of `resource` and return a manifest without personal data.

    The caller has entered `client`. Raises `LoadHeld` if the whole run is held for review, or
    only its removals (the other changes are committed), `Busy` if another run writes to the mirror, and errors
    of the client and the warehouse.
    """
    with (
        flow.warehouse.connect() as connection,
        store.locked(connection, resource, source.id_entity),
        recorded_step(flow, step, client.counters) as step_run_id,
        ExitStack() as files,
    ):
        staging = files.enter_context(
            staging_tables(
                connection,
                resource,
                client.settings.time_zone,
                source.id_entity,
                private=options.private,
            )
        )
        run = _MirrorRun(
            client, flow, resource, source, options, step, step_run_id, connection, staging, files
        )
        outcome = await run.stage()
        with connection.begin():
            publish(connection, outcome, client.counters)
            # The files of responses must exist before the step is complete, but none may appear once
            # the session, and with it the lock against an erasure, has ended.
            files.close()
    LOG.info("%s: %s", resource.name, outcome.summary)
    if outcome.findings or outcome.state == "suspect":
        raise LoadHeld(outcome.reason)
    return outcome.manifest


@dataclass
class _MirrorRun:
    client: Client
    flow: FlowContext
    resource: MirroredResource
    source: MirrorSource
    options: RunOptions
    step: step_log.Step
    step_run_id: int
    connection: Connection
    staging: Staging
    files: ExitStack

    async def stage(self) -> MirrorOutcome:
        """Read lists and details, and stage the differences; the mirror itself stays unchanged."""
        rows, rotation = self._stored_rows(), self._rotation()
        current = sum(
            row.removal is None and row.scope == self.source.id_entity for row in rows.values()
        )
        LOG.info("%s: the mirror has %d current rows", self.resource.name, current)
        due = rotation.due(in_rotation(rows, self.source.id_entity)) if self.rotates else []
        responses = self._responses(self.resource.name)
        diff = self._diff(rows, due, responses)
        agreed, readings = await read_lists(
            self.source, diff, self.flow.settings.mirror_passes, self.resource.name
        )
        await self._finish_staging(diff)
        complete = self.source.whole and agreed
        missing = missing_rows(rows, diff.seen, self.source.id_entity) if complete else []
        # What users remove by an undo sheet is no loss.
        undone = self._undone()
        lost = [key for key in newly_missing(rows, missing) if str(key) not in undone]
        excess = self._excess(len(lost), current)
        if excess:
            missing = []
        private = self.staging.private_table
        stored_apart = self._responses(private.name) if private is not None else None
        details = Details(diff, self.staging, stored_apart)
        in_turn = await self._load_details(details, missing, due, rotation)
        removed = sorted({*details.missing} & {*missing}, key=str)
        lost = [key for key in removed if str(key) not in undone]
        excess = excess or self._excess(len(lost), current)
        return MirrorOutcome(
            step_run_id=self.step_run_id,
            diff=diff,
            staged=self.staging.staged,
            removed=[] if excess else removed,
            lost=0 if excess else len(lost),
            agreed=agreed,
            current=current,
            accept=self.options.accept_gone,
            accepted_by=self.options.accepted_by,
            excess=excess,
            private=self.options.private,
            details={
                "whole": self.source.whole,
                "zone": self.client.settings.time_zone,
                **(rotation.after(*in_turn) if self.rotates else {}),
                "passes": len(readings[0].passes),
                "list_calls": sum(each.calls for each in readings),
                "details_read": details.read,
                "raw": self.flow.name(responses.folder) if responses.count else None,
            },
        )

    @property
    def reads(self) -> bool:
        """Whether the run reads details of rows that the lists contain."""
        return self.options.details and self.source.detail is not None

    @property
    def rotates(self) -> bool:
        """Whether the run reads details in rotation."""
        return self.reads and self.source.whole and not self.options.full

    @cached_property
    def at(self) -> datetime:
        """Time of the run, which names folders."""
        return datetime.now(UTC)

    def _stored_rows(self) -> StoredRows:
        scope = "_entity" if self.source.id_entity is not None else None
        rows = store.rows(self.connection, self.resource, scope, private=self.options.private)
        if store.zone(self.connection, self.step) in (None, self.client.settings.time_zone):
            return rows
        # A list hash covers what the service returned, not how its times were read.
        return {key: replace(row, list_hash=row.list_hash and b"") for key, row in rows.items()}

    def _rotation(self) -> Rotation:
        return store.rotation(self.connection, self.step, self.flow.settings.mirror_rotation)

    def _responses(self, table: str) -> ResponseFiles:
        landing = Landing(self.flow.data_root, table, self.at, self.step_run_id)
        return self.files.enter_context(store_responses(landing.raw))

    def _diff(self, rows: StoredRows, due: Sequence[Key], responses: ResponseFiles) -> ListDiff:
        return ListDiff(
            self.resource,
            self.source,
            rows,
            {name: self._flag(name, rows) for name in self.resource.flags},
            self.reads,
            AllKeys() if self.options.full and self.reads else {*due},
            self.at.date(),
            responses,
            self.staging.listed,
            *self._volatile_and_cached(),
        )

    def _volatile_and_cached(self) -> tuple[frozenset[str], Iterable[tuple[bytes, RecalledRow]]]:
        list_id = ListId(self.resource.name, self.source.id_entity or 0)
        volatile = profiles.volatile(self.connection, list_id)
        cached = cache.load(self.connection, list_id, volatile) if self.source.whole else ()
        self.connection.commit()
        return volatile, cached

    def _undone(self) -> set[str]:
        undone = drops.undone(self.connection, self.resource.name)
        self.connection.commit()
        return undone

    def _flag(self, name: str, rows: StoredRows) -> FlagOf:
        """Return the function that determines flag `name` of each row."""
        index = self.resource.flags.index(name)
        if name in self.source.implied:
            return always
        if name in self.source.members:
            label, before = f"{self.resource.name}, list of {name}", rows_with_flag(rows, index)
            size, largest = self.source.page_size, self.source.largest_page
            return FlagList.of(self.source.members[name], size, label, before, largest)
        return lambda key: rows[key].flags[index] if key in rows else None

    async def _load_details(
        self, details: Details, missing: Sequence[Key], due: Sequence[Key], rotation: Rotation
    ) -> tuple[Sequence[Key], Sequence[Key]]:
        """Load the details of missing, changed, incomplete and due rows.

        Returns the incomplete and the due rows within the budget.
        """
        diff = details.diff
        first: Sequence[Key] = []
        retried: Sequence[Key] = []
        if self.reads:
            first, retried, due = details_to_read(
                changed=diff.storable(),
                incomplete=rotation.in_turn(diff.incomplete),
                due=[*diff.due] if self.options.full else due,
                budget=len(diff.seen) if self.options.full else self.flow.settings.mirror_details,
            )
        else:
            due = []
        present = diff.due.keys() | {*missing}
        again = [key for key in due if key in present]
        confirm = details_to_confirm(diff.known, missing, rotates=self.rotates)
        keys = dict.fromkeys([*confirm, *first, *retried, *again])
        await details.load([*keys], 2 * self.client.settings.concurrency)
        await self._finish_staging(diff)
        self.staging.withdraw(diff.invalid)
        # A replica or cache may have returned an older detail, so the next run reads it again, once.
        diff.invalid_details |= details.unlisted | (self.staging.contradicted & diff.known.keys())
        return retried, due

    async def _finish_staging(self, diff: ListDiff) -> None:
        """Wait until all rows are staged; quarantine the rows that the mirror cannot store."""
        await self.staging.finish()
        for row in self.staging.unstorable:
            diff.reject(row)
        self.staging.unstorable.clear()

    def _excess(self, missing: int, current: int) -> int:
        """Return `missing` if an operator must accept that number of removals, otherwise 0."""
        settings = self.flow.settings
        limits = {"rows": settings.mirror_gone_rows, "percent": settings.mirror_gone_percent}
        accepted = self.options.accept_gone or not exceeds_limit(missing, current, **limits)
        return 0 if accepted else missing


class AllKeys(Container[Key]):
    """A container that holds every key."""

    def __contains__(self, key: object) -> bool:
        """Return true."""
        return True
