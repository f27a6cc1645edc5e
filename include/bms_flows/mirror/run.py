"""A run of a mirror: lists, details, and what comes of them in one transaction."""

import logging
from collections.abc import Container, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import Connection

from bms.client import Client
from bms_flows.mirror import store
from bms_flows.mirror.decisions import (
    ServiceRecord,
    absent,
    carried,
    details_to_read,
    in_rotation,
    no_longer_listed,
    to_confirm,
    too_many,
)
from bms_flows.mirror.details import Details
from bms_flows.mirror.diff import Intake
from bms_flows.mirror.flags import Flag, FlagList, always
from bms_flows.mirror.lists import read_lists
from bms_flows.mirror.publish import Outcome, publish
from bms_flows.mirror.resource import Asked, Resource, Source
from bms_flows.mirror.responses import Answers, answers
from bms_flows.mirror.staging import Staging, staging_tables
from bms_flows.runtime import step_log
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.landing import Landing

LOG = logging.getLogger(__name__)


class ManyGone(RuntimeError):
    """More rows than usual are gone; none was marked, a person is asked."""

    retriable = False


async def sync(
    client: Client,
    flow: FlowContext,
    resource: Resource,
    source: Source,
    asked: Asked,
    step: step_log.Step,
) -> dict[str, Any]:
    """Bring the mirror of `resource` up to date and return a manifest without a row in it.

    The caller has entered `client`. Raises `ManyGone` after all else is committed, `MirrorTaken`
    where another run is at work, and the client's and the warehouse's errors.
    """
    with (
        recorded_step(flow, step, client.counters) as step_run_id,
        flow.warehouse.connect() as connection,
        store.held(connection, resource, source.constants.get("_entity")),
        ExitStack() as files,
    ):
        staging = files.enter_context(
            staging_tables(
                connection,
                resource,
                client.settings.time_zone,
                source.constants,
                resource.private if asked.private else None,
            )
        )
        mirroring = _Mirroring(
            client, flow, resource, source, asked, step, step_run_id, connection, staging
        )
        outcome = await mirroring.outcome(files)
        files.close()  # the answers are there before the step is complete
        with connection.begin():
            publish(connection, outcome, client.counters)
    LOG.info("%s: %s", resource.name, outcome.summary)
    if outcome.state == "suspect":
        raise ManyGone(outcome.told)
    return outcome.manifest


@dataclass
class _Mirroring:
    client: Client
    flow: FlowContext
    resource: Resource
    source: Source
    asked: Asked
    step: step_log.Step
    step_run_id: int
    connection: Connection
    staging: Staging

    async def outcome(self, files: ExitStack) -> Outcome:
        """Read all there is to read and stage what differs; nothing of the mirror is written yet."""
        scope = self.source.constants.get("_entity")
        known = store.known(
            self.connection,
            self.resource,
            "_entity" if scope is not None else None,
            private=self.asked.private,
        )
        present = sum(row.gone is None and row.scope == scope for row in known.values())
        LOG.info("%s: %d rows stand here, none of them gone", self.resource.name, present)
        day = datetime.now(UTC).date()
        landing = Landing(self.flow.data_root, self.resource.name, day, self.step_run_id)
        kept = files.enter_context(answers(landing.raw))
        flags = {name: self._flag(name, known) for name in self.resource.flags}
        rotation = store.rotation(
            self.connection,
            *(self.step.flow, self.step.name, self.step.id_entity),
            self.flow.settings.mirror_rotation,
        )
        rotates = self.asked.details and self.source.whole and not self.asked.full
        due = rotation.due(in_rotation(known, scope)) if rotates else []
        intake = Intake(
            self.resource,
            self.source,
            known,
            flags,
            self.asked.details,
            Everybody() if self.asked.full and self.asked.details else {*due},
            day,
            kept,
            self.staging.listed,
        )
        lists = await read_lists(
            self.source, intake, self.flow.settings.mirror_passes, self.resource.name
        )
        await self._settle(intake)
        gone = absent(known, intake.seen, scope) if self.source.whole and lists.agreed else []
        asks = self._too_many(len(no_longer_listed(known, gone)), present)
        if asks:
            gone = []
        details = Details(
            self.resource,
            self.source.detail,
            intake,
            known,
            self.staging,
            kept,
            self._apart(files, day),
        )
        first, due = self._chosen(intake, due)
        in_turn = intake.due.keys() | {*gone}
        again = [key for key in due if key in in_turn]
        keys = dict.fromkeys([*to_confirm(known, gone, rotates=rotates), *first, *again])
        await details.take([*keys], 2 * self.client.settings.concurrency)
        await self._settle(intake)
        self.staging.withdraw(intake.bad)
        missing = sorted({*details.missing} & {*gone}, key=str)
        asks = asks or self._too_many(len(missing), present)
        return Outcome(
            resource=self.resource,
            step_run_id=self.step_run_id,
            intake=intake,
            staged=self.staging.staged,
            missing=[] if asks else missing,
            agreed=lists.agreed,
            asks=asks,
            whole=self.source.whole,
            private=self.asked.private,
            details={
                "whole": self.source.whole,
                **(rotation.after(due) if rotates else {}),
                "passes": lists.passes,
                "list_calls": lists.calls,
                "details_read": details.read,
                "raw": self.flow.name(landing.raw) if kept.kept else None,
            },
        )

    def _too_many(self, gone: int, present: int) -> int:
        """Return how many are gone if a person is to be asked about them, else 0."""
        settings = self.flow.settings
        limits = {"rows": settings.mirror_gone_rows, "percent": settings.mirror_gone_percent}
        return 0 if self.asked.accept_gone or not too_many(gone, present, **limits) else gone

    def _apart(self, files: ExitStack, day: date) -> Answers | None:
        """Return where answers go that are kept apart, if this run keeps any."""
        if not self.staging.private:
            return None
        landing = Landing(
            self.flow.data_root, self.staging.private.table.name, day, self.step_run_id
        )
        return files.enter_context(answers(landing.raw))

    async def _settle(self, intake: Intake) -> None:
        """Wait until all rows are staged; set aside those that can't be."""
        await self.staging.settle()
        for unfit in self.staging.unfit:
            intake.refuse(unfit)
        self.staging.unfit.clear()

    def _flag(self, name: str, known: Mapping[Key, ServiceRecord]) -> Flag:
        """Return what tells the flag `name` of each row."""
        number = self.resource.flags.index(name)
        if name in self.source.given:
            return always
        if name in self.source.members:
            label, size = f"{self.resource.name}, list of {name}", self.source.page_size
            had = carried(known, number)
            return FlagList.of(self.source.members[name], size, label, had)
        return lambda key: known[key].flags[number] if key in known else None

    def _chosen(self, intake: Intake, due: Sequence[Key]) -> tuple[list[Key], list[Key]]:
        """Return whose details are read: the changed and those still to be read; of those due."""
        if not self.asked.details:
            return [], []
        return details_to_read(
            changed=intake.good(),
            incomplete=[*intake.incomplete],
            due=[*intake.due] if self.asked.full else due,
            budget=len(intake.seen) if self.asked.full else self.flow.settings.mirror_details,
        )


class Everybody(Container[Key]):
    """A container that holds every key."""

    def __contains__(self, key: object) -> bool:
        """Return true."""
        return True
