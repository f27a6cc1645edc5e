"""French notice in an inbox about files and folders that are not claimed: why, and what to do."""

import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from upath import UPath

from bms_flows.onboarding.inbox.discovery import IGNORED_ENDS, local
from bms_flows.onboarding.inbox.unfinished import UnfinishedFile
from bms_flows.runtime import storage
from bms_flows.texts import SKIPPED, WAITING, typeset

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


def ignored_entries(inbox: UPath, ours: Collection[str], now: datetime) -> Iterator[SkippedFile]:
    """Yield what is in an inbox and is no dropped file; `ours`: names of what we put there.

    Hidden files and the lock files of Excel are left out.
    """
    for path in sorted(inbox.iterdir(), key=lambda each: each.name) if inbox.exists() else ():
        name = path.name
        if name in ours or name.startswith((".", "~$")):
            continue
        kind, written = _looked_at(path)
        temporary = name.casefold().endswith(IGNORED_ENDS)
        if kind != "file":
            yield SkippedFile(name, kind)
        elif temporary:
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
        text = {**WAITING, **SKIPPED}[each.code]["FR"]
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
