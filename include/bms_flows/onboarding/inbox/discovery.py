"""Discovery of dropped files: files in an inbox, and whether they are completely written."""

import errno
import fcntl
import io
import os
import re
import signal
import stat
import unicodedata
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from upath import UPath

from bms_flows.onboarding.faults import ReadError
from bms_flows.onboarding.reading import encoding, tokens
from bms_flows.onboarding.reading.sheet import Limits
from bms_flows.runtime import storage

TEMPORARY: Final = re.compile(
    r".*(\.part|\.partial|\.tmp|\.crdownload|\.opdownload|\.filepart|\.sb-[0-9a-f]{8}-\w{6}|~)|[0-9a-f]{8}",
    re.DOTALL,
)
"""Names of unfinished files, in lower case; Excel saves as eight digits, or on a Mac with `.sb-`, and then renames the file."""
IGNORED_STARTS = ("~$", ".", "_")
"""Excel's lock files, hidden files, and what we put there ourselves: templates and _LISEZMOI.txt."""
IGNORED_ENDS = (".xlk", ":zone.identifier")
"""Excel's backups, and where Windows downloaded a file from, as a copy by WSL shows it."""
IGNORED_NAMES = frozenset({"thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r"})
"""What file managers of Windows and macOS put into a shared folder, in lower case."""
LOCK_FILES = ("~${name}", ".~lock.{name}#")
"""Files that Excel and LibreOffice write next to a file while they have it open."""

WaitReason = Literal[
    "growing", "being_written", "open_in_editor", "empty", "incomplete", "unreadable", "bad_name"
]

NAME_MAX = 255
"""Maximum length of a file name on disk, in bytes."""
LONGEST_NAME = 190
"""Bytes of one that is taken: our own names, which lead and follow it, fit in as well."""
UNREADABLE = "\ufffd"
"""Replacement of bytes that are not UTF-8 in a file name."""

_F_SETSIG = 10
"""Linux's number; Python has no name for it before 3.12."""


class OutsideInbox(ValueError):
    """The path doesn't lead to a file inside the inbox."""

    retriable = False


@dataclass(frozen=True)
class FoundFile:
    """A file found in an inbox: name, size, and modification time or etag."""

    path: str
    size: int
    stamp: str


@dataclass(frozen=True)
class ScanComparison:
    """Result of two scans: files that may be claimed, and why the other files may not yet."""

    settled: tuple[FoundFile, ...]
    waiting: Mapping[str, WaitReason]


def local(path: UPath) -> Path | None:
    """Return `path` as a local path, None on an object store."""
    return Path(path.path) if path.protocol in storage.LOCAL else None


def inside(inbox: UPath, name: str) -> UPath:
    """Return the file `name` of the inbox; raise `OutsideInbox` for the path of any other file."""
    if name in ("", ".", "..") or "/" in name or not _on_a_disk(name):
        raise OutsideInbox("enter only the file's name, without a folder")
    return inbox.joinpath(name)


def _on_a_disk(name: str) -> bool:
    """Return whether a file name is valid on disk."""
    try:
        return "\0" not in name and len(os.fsencode(name)) <= NAME_MAX
    except UnicodeEncodeError:
        return False


def ignored(name: str) -> bool:
    """Return whether the name is that of a temporary, hidden or generated file."""
    low = name.casefold()
    known = low.startswith(IGNORED_STARTS) or low.endswith(IGNORED_ENDS) or low in IGNORED_NAMES
    return known or is_temporary(name)


def is_temporary(name: str) -> bool:
    """Return whether a program gives such a name to a file that it is writing."""
    return TEMPORARY.fullmatch(name.casefold()) is not None


def find_file(inbox: UPath, name: str) -> FoundFile | None:
    """Return the current state of a file, None if no regular file has this name."""
    path = inside(inbox, name)
    here = local(path)
    if here is not None:
        try:
            status = here.lstat()
        except FileNotFoundError:
            return None
        regular = stat.S_ISREG(status.st_mode)
        return FoundFile(name, status.st_size, str(status.st_mtime_ns)) if regular else None
    path.fs.invalidate_cache()
    try:
        info = path.fs.info(path.path)
    except FileNotFoundError:
        return None
    if info["type"] != "file":
        return None
    stamp = info.get("ETag") or info.get("etag") or info.get("LastModified") or info.get("mtime")
    return FoundFile(name, int(info["size"]), str(stamp).strip('"'))


def find_typed(inbox: UPath, name: str) -> FoundFile | None:
    """Return the file of a name that a user typed, whose accents may be encoded in another form.

    macOS writes accents as separate characters; a keyboard composes them.
    """
    typed = unicodedata.normalize("NFC", name)
    return find_file(inbox, name) or next(
        (f for f in list_files(inbox).values() if unicodedata.normalize("NFC", f.path) == typed),
        None,
    )


def list_files(inbox: UPath) -> dict[str, FoundFile]:
    """Return the files of the inbox itself by name; folders and links are not drops.

    A file whose name is not UTF-8 is not taken, because its name cannot be stored; the result shows
    the readable part of the name.
    """
    here = local(inbox)
    if here is not None:
        names = [each.name for each in here.iterdir()]
    else:
        inbox.fs.invalidate_cache()
        names = [each.name for each in inbox.iterdir()] if inbox.exists() else []
    found = (find_file(inbox, name) for name in sorted(names) if not ignored(name))
    readable = (replace(each, path=_readable(each.path)) for each in found if each is not None)
    return {each.path: each for each in readable}


def _readable(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")


def head(path: UPath) -> bytes:
    """Return the content of a dropped file; of a file beyond the size limit, one byte more than the limit."""
    return storage.read_file(path, Limits().bytes + 1)


def compare_scans(
    inbox: UPath, before: Iterable[FoundFile], now: Iterable[FoundFile]
) -> ScanComparison:
    """Compare two scans, made `drop_settle_s` apart.

    A file may be taken when both scans found the same, its last line is complete, no lock file of
    Excel or LibreOffice is next to it, and no process of this machine has it open for writing, where
    the file system supports read leases and the file is this user's. Otherwise a writer that pauses between two rows for longer than that time is not detected.
    """
    earlier = set(before)
    ready: list[FoundFile] = []
    waiting: dict[str, WaitReason] = {}
    for seen in now:
        why = "growing" if seen not in earlier else _unfinished(inbox, seen)
        if why is None:
            ready.append(seen)
        else:
            waiting[seen.path] = why
    return ScanComparison(tuple(ready), waiting)


def _unfinished(inbox: UPath, seen: FoundFile) -> WaitReason | None:
    if UNREADABLE in seen.path or len(seen.path.encode()) > LONGEST_NAME:
        return "bad_name"
    try:
        why = _not_ready(inbox, seen)
    except FileNotFoundError:
        return "growing"
    except OSError as error:
        # A share refuses to open what a program of another computer writes.
        return "being_written" if error.errno in storage.BUSY else "unreadable"
    return why or (None if find_file(inbox, seen.path) == seen else "growing")


def _not_ready(inbox: UPath, seen: FoundFile) -> WaitReason | None:
    path = inside(inbox, seen.path)
    if being_written(path):
        return "being_written"
    if open_in_editor(inbox, seen.path):
        return "open_in_editor"
    if not seen.size:
        return "empty"
    # One too big to be read is refused, so its end doesn't matter.
    whole = seen.size > Limits().bytes or complete(head(path), seen.path)
    return None if whole else "incomplete"


def being_written(path: UPath) -> bool:
    """Return whether a process of this machine has a local file open for writing.

    A read lease is granted only if no process has. The answer is no if the file system has no leases, or another
    user owns the file: only root gets leases of other users' files.
    """
    here = local(path)
    if here is None or not hasattr(fcntl, "F_SETLEASE"):
        return False
    handle = storage.open_regular(here)
    try:
        # An open in this moment sends a signal; the default, SIGIO, would kill this process.
        fcntl.fcntl(handle, _F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    finally:
        os.close(handle)
    return False


def open_in_editor(inbox: UPath, name: str) -> bool:
    """Return whether Excel or LibreOffice has a file of a local inbox open, from any machine."""
    here = local(inbox)
    return here is not None and any((here / each.format(name=name)).exists() for each in LOCK_FILES)


def complete(content: bytes, name: str) -> bool:
    """Return whether a file is complete: a line break outside quotes at its end, or a workbook's index.

    A file that is named as a workbook, but starts as something else (a workbook with a password, a
    PDF), is complete: no rest makes it readable, and the report says so. A copy may reserve its
    space with zeros first.
    """
    if content.startswith(b"PK"):
        try:
            zipfile.ZipFile(io.BytesIO(content)).close()
        except (zipfile.BadZipFile, ValueError, OSError):
            return False
        return True
    if name.casefold().endswith((".xlsx", ".xlsm")):
        return not content.startswith(b"\0") and not b"PK".startswith(content)
    if not content:
        return False
    if not name.casefold().endswith((".csv", ".tsv", ".txt")):
        return True  # not read at all; the report says so
    return _ends_a_line(content)


def _ends_a_line(content: bytes) -> bool:
    try:
        text, _ = encoding.decode(content)
    except encoding.BadEncoding:
        # Half a character of UTF-16, or an encoding that the report rejects.
        return b"\0" not in content and content.endswith((b"\n", b"\r"))
    first = tokens.LINE_END.search(text)
    # A lone "\r" at the end of the first line may be half of "\r\n".
    if first is None or not text.endswith(first[0]) or (first[0], first.end()) == ("\r", len(text)):
        return False
    # A line's end inside an open quote is none of the row's.
    return not _open_at_end(text, tokens.likely(text))


def _open_at_end(text: str, delimiter: str) -> bool:
    try:
        for _ in tokens.records(text, delimiter):
            pass
    except tokens.BadQuoting as bad:
        return bad.unfinished
    except ReadError:
        return False  # it is refused, so its end doesn't matter
    return False
