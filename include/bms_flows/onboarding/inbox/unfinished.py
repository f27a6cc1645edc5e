"""Inbox files that are not completely written, stored in `bms.dropped_file`, and their alarms."""

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import Connection, Engine, Select, exists, select, update
from sqlalchemy.dialects.postgresql import insert

from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile, WaitReason
from bms_flows.texts import WAITING
from bms_warehouse.database import clock
from bms_warehouse.tables import dropped_file

_PERHAPS_COMPLETE: Final = ("open_in_editor", "empty", "incomplete")
LONG: Final = timedelta(minutes=3)
"""Time after which a waiting file needs attention."""


@dataclass(frozen=True)
class UnfinishedFile:
    """A drop that is not claimed yet: reason, start of the wait, and time of the last change."""

    drop: int
    path: str = field(repr=False)
    reason: WaitReason
    since: datetime
    unchanged_since: datetime

    def long(self, now: datetime) -> bool:
        """Return whether the file needs attention."""
        return now - self.since >= LONG

    def is_stable(self, now: datetime, stable: timedelta) -> bool:
        """Whether the file may be complete and nothing was written to it for `stable`.

        A crash of Excel leaves its lock file behind.
        """
        return self.reason in _PERHAPS_COMPLETE and now - self.unchanged_since >= stable

    def text(self, now: datetime) -> str:
        """Return the reason and the remedy, without the file's name, which may be personal data."""
        reason = WAITING[self.reason]["EN"]
        minutes = max(0, int((now - self.since).total_seconds() // 60))
        return f"drop {self.drop} waits for {minutes} min. {reason.meaning} {reason.remedy}"


def save(
    engine: Engine, resource: str, files: Collection[FoundFile], waiting: Mapping[str, WaitReason]
) -> Sequence[UnfinishedFile]:
    """Store in `bms.dropped_file` which files of an inbox wait; return them.

    A drop that waited and whose file is no longer among them was claimed as another drop or removed.
    """
    with engine.begin() as connection:
        now = clock(connection)
        known = {row.path: row for row in connection.execute(_waiting(resource).with_for_update())}
        found = []
        for seen in files:
            reason = waiting.get(seen.path)
            if reason is None:
                continue
            claim.free(connection, resource, seen)
            if row := known.pop(seen.path, None):
                same = (row.size, row.stamp) == (seen.size, seen.stamp)
                unchanged_since = row.unchanged_since if same else now
                _renew(connection, row.id, seen, reason, unchanged_since)
                found.append(
                    UnfinishedFile(row.id, seen.path, reason, row.entered_at, unchanged_since)
                )
            elif number := _enter(connection, resource, seen, reason, now):
                found.append(UnfinishedFile(number, seen.path, reason, now, now))
        names = {seen.path for seen in files}
        for row in known.values():
            _withdraw(connection, row.id, "changed" if row.path in names else "removed", now)
    return found


def withdraw_missing(
    engine: Engine, resource: str, list_names: Callable[[], Container[str]]
) -> None:
    """Withdraw the drops whose waiting file was removed; `list_names` returns the files of the inbox.

    Without it, a drop whose file a user removed would wait for ever, because nothing announces it.
    """
    with engine.begin() as connection:
        known = connection.execute(_waiting(resource)).all()
        names = list_names() if known else ()
        for row in known:
            if row.path not in names:
                _withdraw(connection, row.id, "removed", clock(connection))


def current(engine: Engine, resource: str) -> Sequence[UnfinishedFile]:
    """Return the waiting drops as of the last dispatch."""
    with engine.connect() as connection:
        return [
            UnfinishedFile(row.id, row.path, row.waits_for, row.entered_at, row.unchanged_since)
            for row in connection.execute(_waiting(resource))
        ]


def _waiting(resource: str) -> Select[*tuple[Any, ...]]:
    return (
        select(dropped_file)
        .where(dropped_file.c.resource == resource, dropped_file.c.state == "waiting")
        .order_by(dropped_file.c.id)
    )


def _withdraw(connection: Connection, number: int, reason: str, now: datetime) -> None:
    """End a drop that still waits."""
    connection.execute(
        update(dropped_file)
        .where(dropped_file.c.id == number, dropped_file.c.state == "waiting")
        .values(state="withdrawn", waits_for=None, reason=reason, finished_at=now)
    )


def _enter(
    connection: Connection, resource: str, seen: FoundFile, reason: WaitReason, now: datetime
) -> int | None:
    """Enter a file that waits; return None if another run has claimed it since."""
    return connection.execute(
        insert(dropped_file)
        .values(
            resource=resource,
            path=seen.path,
            size=seen.size,
            stamp=seen.stamp,
            state="waiting",
            waits_for=reason,
            dag_run_id=f"waiting {uuid4()}",
            expires_at=now,
            entered_at=now,
            unchanged_since=now,
        )
        .on_conflict_do_nothing(index_elements=["resource", "path", "size", "stamp"])
        .returning(dropped_file.c.id)
    ).scalar_one_or_none()


def _renew(
    connection: Connection,
    number: int,
    seen: FoundFile,
    reason: WaitReason,
    unchanged_since: datetime,
) -> None:
    """Store the current state of the file, unless a drop with that state was claimed before."""
    other = dropped_file.alias()
    taken = exists().where(
        other.c.resource == dropped_file.c.resource,
        other.c.path == seen.path,
        other.c.size == seen.size,
        other.c.stamp == seen.stamp,
        other.c.id != number,
    )
    connection.execute(
        update(dropped_file)
        .where(dropped_file.c.id == number, ~taken)
        .values(size=seen.size, stamp=seen.stamp, waits_for=reason, unchanged_since=unchanged_since)
    )
