"""A run of a mirror: lists, details, and what comes of them in one transaction."""

from collections.abc import Container
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from bms.answers import Detail
from bms.client import Client
from bms_flows import runs
from bms_flows.landing import Landing
from bms_flows.mirror import standing
from bms_flows.mirror.answers import Answers, answers, only
from bms_flows.mirror.coverage import Key
from bms_flows.mirror.decisions import (
    Known,
    Rotation,
    absent,
    before,
    details_to_read,
    members,
    too_many,
)
from bms_flows.mirror.details import read_each
from bms_flows.mirror.intake import Intake
from bms_flows.mirror.publish import Outcome, publish
from bms_flows.mirror.reading import Reading
from bms_flows.mirror.resource import Asked, Resource, Source
from bms_flows.mirror.rows import Detailed, as_it_came, detailed_rows, private_rows, rename
from bms_flows.workplace import Workplace, recorded
from bms_warehouse import loads

CHUNK = 1_000
"""Details turned to columns and staged at once."""


class ManyGone(RuntimeError):
    """More rows than usual are gone; none was marked, a person is asked."""

    retriable = False


async def sync(
    client: Client,
    place: Workplace,
    resource: Resource,
    source: Source,
    asked: Asked,
    step: runs.Step,
) -> dict[str, Any]:
    """Bring the mirror of `resource` up to date and return a manifest without a row in it.

    The caller has entered `client`. Raises `ManyGone` after all else is committed, `MirrorTaken`
    where another run is at work, and the client's and the warehouse's errors.
    """
    with (
        recorded(place, step, client.counters) as run_id,
        place.warehouse.connect() as connection,
        standing.held(connection, resource, source.constants.get("_entity")),
        ExitStack() as files,
    ):
        mirroring = _Mirroring(client, place, resource, source, asked, step, run_id, connection)
        outcome = await mirroring.outcome(files)
        files.close()  # the answers are there before the step is complete
        with connection.begin():
            publish(connection, outcome, client.counters)
    if outcome.state == "suspect":
        raise ManyGone(outcome.told)
    return outcome.manifest


@dataclass
class _Mirroring:
    client: Client
    place: Workplace
    resource: Resource
    source: Source
    asked: Asked
    step: runs.Step
    run_id: int
    connection: Connection
    staged: set[Key] = field(default_factory=set)
    missing: list[Key] = field(default_factory=list)
    """Rows that the service says it doesn't have."""
    read: int = 0
    """Details read."""

    async def outcome(self, files: ExitStack) -> Outcome:
        """Read all there is to read and stage what differs; nothing of the mirror is written yet."""
        scope = self.source.constants.get("_entity")
        turn = standing.turn(self.connection, self.step.flow, self.step.name, self.step.id_entity)
        known = standing.known(
            self.connection,
            self.resource,
            "_entity" if scope is not None else None,
            private=self.asked.private,
        )
        self._stagings()
        day = datetime.now(UTC)
        landing = Landing(self.place.data_root, self.resource.name, day.date(), self.run_id)
        kept = files.enter_context(answers(landing.raw))
        flags = {name: await self._members(name, known) for name in self.resource.flags}
        rotation = Rotation(self.place.settings.mirror_rotation, turn)
        intake = Intake(
            self.resource,
            self.source,
            known,
            self.client.settings.time_zone,
            flags,
            rotation if self.asked.details and self.source.whole else None,
            self.asked.full and self.asked.details,
            day.date(),
            kept,
        )
        reading = await self._lists(intake)
        gone = absent(known, intake.seen, scope) if self.source.whole and reading.agreed else []
        present = sum(row.gone is None and row.scope == scope for row in known.values())
        settings = self.place.settings
        asks = not self.asked.accept_gone and too_many(
            len(gone), present, rows=settings.mirror_gone_rows, percent=settings.mirror_gone_percent
        )
        wanted = [] if asks else gone
        await self._details([*wanted, *self._chosen(intake)], intake, known, kept, files)
        for rows in intake.leftovers(self.staged):
            self.staged.update(rows.column(self.resource.key).to_pylist())
            loads.stage(self.connection, self.resource.table, rows)
        self.connection.commit()
        return Outcome(
            resource=self.resource,
            run_id=self.run_id,
            intake=intake,
            staged=self.staged,
            vanished=sorted(set(self.missing) & set(wanted), key=str),
            agreed=reading.agreed,
            asks=len(gone) if asks else 0,
            whole=self.source.whole,
            private=self.asked.private,
            details={
                "turn": turn if intake.rotation else turn - 1,
                "passes": len(reading.passes),
                "list_calls": reading.calls,
                "details_read": self.read,
                "whole": self.source.whole,
                "raw": self.place.name(landing.raw) if kept.kept else None,
            },
        )

    def _stagings(self) -> None:
        loads.create_staging(self.connection, self.resource.table)
        if self.asked.private and self.resource.private:
            loads.create_staging(self.connection, self.resource.private.table)
        self.connection.commit()

    async def _members(self, name: str, known: dict[Key, Known]) -> Container[Key]:
        """Return the rows for which a flag is true; a second pass is made where a row lost it."""
        flag = self.resource.flags.index(name)
        if name in self.source.given:
            return Everybody()
        if name not in self.source.members:
            return before(known, flag)
        seen: set[Key] = set()
        reading = Reading(self.source.members[name], _only_keys(seen), self.source.page_size)
        await reading.one_pass()
        lost = {key for key in before(known, flag) - seen if known[key].gone is None}
        if lost:
            await reading.until_agreed(self.place.settings.mirror_passes)
        return members(known, flag, seen, believed=not lost or reading.agreed)

    async def _lists(self, intake: Intake) -> Reading:
        gone = self.source.given.get("deleted", False)
        reading = Reading(
            self.source.rows, lambda page: intake.take(page, deleted=gone), self.source.page_size
        )
        await reading.until_agreed(self.place.settings.mirror_passes)
        if self.source.deleted and not intake.any_deleted:
            # This service leaves the deleted ones out of ALL, or there are none.
            others = Reading(
                self.source.deleted,
                lambda page: intake.take(page, deleted=True),
                self.source.page_size,
            )
            await others.one_pass()
            reading.calls += others.calls
        return reading

    def _chosen(self, intake: Intake) -> list[Key]:
        changed = intake.good()
        if not self.asked.details:
            return []
        budget = len(intake.seen) if self.asked.full else self.place.settings.mirror_details
        return details_to_read(
            changed=changed,
            incomplete=[*intake.incomplete],
            due=[*intake.due],
            budget=budget,
        )

    async def _details(
        self,
        keys: list[Key],
        intake: Intake,
        known: dict[Key, Known],
        kept: Answers,
        files: ExitStack,
    ) -> None:
        """Read details and stage them; one that can't be loaded leaves the row as it is listed."""
        apart: Answers | None = None
        if self.asked.private and self.resource.private:
            name = self.resource.private.table.name
            folder = Landing(self.place.data_root, name, intake.day, self.run_id).raw
            apart = files.enter_context(answers(folder))
        waiting: list[Detailed] = []
        async for key, found in read_each(
            keys, self.source.detail, 2 * self.client.settings.concurrency
        ):
            self.read += 1
            if found is None:
                self.missing.append(key)
            elif isinstance(found, Detail):
                waiting.append(self._detailed(key, found, intake, known))
                news = not intake.stands(key)
                if news:
                    kept.keep("details", self.resource.public_detail(found.body))
                if apart and self.resource.private and news:
                    fields = self.resource.private.fields | {self.resource.key}
                    apart.keep("details", only(found.body, fields))
            else:
                _, name_, code = found.rejected[0]
                intake.set_aside(f"{key} detail", code, name_, b"{}")
            if len(waiting) >= CHUNK:
                self._stage(waiting, intake)
                waiting = []
        self._stage(waiting, intake)

    def _detailed(
        self, key: Key, found: Detail[Any], intake: Intake, known: dict[Key, Known]
    ) -> Detailed:
        extra = rename(found.record, found.extra, self.resource.aliases)
        said = intake.said.get(key)
        if said is None:  # no list had it
            row = known[key]
            return Detailed(found.record, extra, None, row.list_hash, row.flags, deleted=False)
        unsaid = getattr(found.record, "deleted", None) is None
        return Detailed(
            found.record, extra, said.extra, said.digest, said.flags, said.deleted and unsaid
        )

    def _stage(self, details: list[Detailed], intake: Intake) -> None:
        if not details:
            return
        zone, constants = self.client.settings.time_zone, self.source.constants
        if self.resource.private:
            if self.asked.private:
                rows, bad = private_rows(self.resource, details, zone)
                for cell in bad:
                    key = details[cell.index].record.key
                    intake.set_aside(f"{key} private", cell.code, cell.field, b"{}")
                loads.stage(self.connection, self.resource.private.table, rows)
            for each in details:
                each.extra = {}  # nobody can tell whether an unknown field may be shown
        framed = detailed_rows(self.resource, details, zone, constants)
        for cell in framed.bad:
            record = details[cell.index].record
            raw = as_it_came(record, details[cell.index].extra)
            intake.set_aside(f"{record.key} detail", cell.code, cell.field, raw)
        self.staged.update(framed.rows.column(self.resource.key).to_pylist())
        loads.stage(self.connection, self.resource.table, framed.rows)
        self.connection.commit()


class Everybody(Container[Key]):
    """The rows of a list that has none but those a flag is true for."""

    def __contains__(self, key: object) -> bool:
        """Say yes."""
        return True


def _only_keys(seen: set[Key]) -> Any:
    def take(page: Any) -> list[tuple[Key, bytes]]:
        rows = [(record.key, b"") for record in page.records]
        seen.update(key for key, _ in rows)
        return rows

    return take
