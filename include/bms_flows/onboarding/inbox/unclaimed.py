"""Files of an inbox that are not claimed: those that wait, stored in `bms.dropped_file`, and a French notice.

The notice in the inbox gives the reason and the remedy for each file or folder.
"""

import stat
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine, Select, exists, select, update
from upath import UPath

from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile, WaitReason, is_temporary, local
from bms_flows.runtime import storage
from bms_flows.texts import SKIPPED, WAITING, typeset
from bms_warehouse.database import NOW, clock
from bms_warehouse.tables import dropped_file

_PERHAPS_COMPLETE: Final = ("open_in_editor", "empty", "incomplete")
LONG: Final = timedelta(minutes=3)
"""Time after which a waiting file needs attention."""
NAME: Final = "_NON_PRIS.txt"
READABLE: Final = 0o644
ABANDONED: Final = timedelta(hours=1)
"""Age from which a file with a temporary name counts as abandoned."""
MOST: Final = 200
"""Maximum number of entries in a notice; further files are counted."""
TITLE: Final = "Fichiers et dossiers non pris"
INTRODUCTION: Final = """\
Ce fichier est tenu à jour automatiquement, et supprimé quand il n'y a plus rien à signaler.
"""


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
            _withdraw(connection, row.id, "changed" if row.path in names else "removed")
    return found


def announce(engine: Engine, resource: str, seen: FoundFile, *, user: str) -> None:
    """Enter a file that `user` submits before anyone can claim it, so that no kill loses the submitter."""
    with engine.begin() as connection:
        claim.free(connection, resource, seen)
        _enter(connection, resource, seen, "being_written", clock(connection))
        claim.name_submitter(connection, resource, seen, user)


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
                _withdraw(connection, row.id, "removed")


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


def _withdraw(connection: Connection, number: int, reason: str) -> None:
    """End a drop that still waits."""
    connection.execute(
        update(dropped_file)
        .where(dropped_file.c.id == number, dropped_file.c.state == "waiting")
        .values(state="withdrawn", waits_for=None, reason=reason, finished_at=NOW)
    )


def _enter(
    connection: Connection, resource: str, seen: FoundFile, reason: WaitReason, now: datetime
) -> int | None:
    """Enter a file that waits; return None if another run has claimed it since."""
    entered = claim.entry(resource, seen, now).values(waits_for=reason, unchanged_since=now)
    unique = ["resource", "path", "size", "stamp"]
    return connection.execute(
        entered.on_conflict_do_nothing(index_elements=unique).returning(dropped_file.c.id)
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


@dataclass(frozen=True)
class SkippedFile:
    """A file or folder of an inbox that is not claimed, and the reason code."""

    name: str = field(repr=False)
    code: str
    since: datetime | None = None
    drop: int | None = None


def waiting_files(waits: Collection[UnfinishedFile], now: datetime) -> Iterator[SkippedFile]:
    """Yield the drops that wait; those that are being written only once they have taken long."""
    for each in waits:
        if each.long(now) or each.reason not in ("growing", "being_written", "empty"):
            yield SkippedFile(each.path, each.reason, each.since, each.drop)


def claimed_files(
    engine: Engine, resource: str, list_files: Callable[[], Mapping[str, FoundFile]]
) -> Iterator[SkippedFile]:
    """Yield the files of open drops whose claim expired before a run archived them, and later files equal to archived ones."""
    archived, late = dropped_file.c.archive.is_not(None), dropped_file.c.expires_at < NOW
    mine = (dropped_file.c.resource == resource) & (dropped_file.c.state == "open")
    with engine.connect() as connection:
        rows = connection.execute(select(dropped_file).where(mine, archived | late)).all()
    drops = {(row.path, row.size, row.stamp): row for row in rows}
    for each in list_files().values() if drops else ():
        if drop := drops.get((each.path, each.size, each.stamp)):
            code = "same_in_progress" if drop.archive else "not_read"
            yield SkippedFile(each.path, code, drop=drop.id)


def ignored_entries(inbox: UPath, ours: Collection[str], now: datetime) -> Iterator[SkippedFile]:
    """Yield what is in an inbox and is no dropped file; `ours`: names of what we put there.

    Hidden files and the lock files of Excel are left out.
    """
    for path in sorted(inbox.iterdir(), key=lambda each: each.name) if inbox.exists() else ():
        name = path.name
        if name in ours or name.startswith((".", "~$")):
            continue
        kind, written = _looked_at(path)
        if kind != "file":
            yield SkippedFile(name, kind)
        elif is_temporary(name):
            if not name.startswith("_") and (written is None or now - written >= ABANDONED):
                yield SkippedFile(name, "temporary_name")
        elif name.startswith("_"):
            yield SkippedFile(name, "reserved_name")


def publish(inbox: UPath, untaken: Sequence[SkippedFile], zone: ZoneInfo, minutes: int) -> None:
    """Write the notice, or remove it if nothing is skipped."""
    if untaken:
        storage.write_if_changed(inbox / NAME, content(untaken, zone, minutes), READABLE)
    elif (inbox / NAME).exists():
        with suppress(IsADirectoryError):
            (inbox / NAME).unlink(missing_ok=True)


def content(untaken: Sequence[SkippedFile], zone: ZoneInfo, minutes: int) -> bytes:
    """Return the notice, for Notepad: UTF-8 with its mark, CRLF. Pure."""
    lines = [TITLE, "=" * len(TITLE), "", INTRODUCTION]
    for each in untaken[:MOST]:
        text = (WAITING if each.code in WAITING else SKIPPED)[each.code]["FR"]
        since = f"depuis le {each.since.astimezone(zone):%d/%m/%Y %H:%M}" if each.since else ""
        number = f"dépôt {each.drop}" if each.drop else ""
        details = ", ".join(filter(None, (since, number)))
        lines += [
            f"- {_printable(each.name)}{f' ({details})' if details else ''}",
            f"  {typeset('Pourquoi :')} {text.meaning}",
            f"  {typeset('Que faire :')} {text.remedy.format(minutes=minutes)}",
            "",
        ]
    if len(untaken) > MOST:
        lines.append(f"… et {len(untaken) - MOST} autres.")
    return "\r\n".join("\n".join(lines).splitlines()).encode("utf-8-sig")


def _looked_at(path: UPath) -> tuple[str, datetime | None]:
    """Return whether a path is a `file`, a `folder` or `not_a_file`; of a local file, when it was written."""
    here = local(path)
    if here is None:
        return ("folder" if path.is_dir() else "file"), None
    try:
        status = here.lstat()
    except FileNotFoundError:
        return "file", datetime.max.replace(tzinfo=UTC)  # it has gone since
    if stat.S_ISDIR(status.st_mode):
        return "folder", None
    kind = "file" if stat.S_ISREG(status.st_mode) else "not_a_file"
    return kind, datetime.fromtimestamp(status.st_mtime, UTC)


def _printable(name: str) -> str:
    readable = name.encode(errors="surrogateescape").decode(errors="replace")
    return "".join(each if each.isprintable() else "\ufffd" for each in readable)
