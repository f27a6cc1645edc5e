"""Archive of original files: moves claimed files out of the inbox, readable by their owner only."""

import glob
import hashlib
import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from upath import UPath

from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.onboarding.inbox.discovery import find_file, inside, local
from bms_flows.runtime.storage import (
    NotRegularFile,
    open_to_read,
    private_file,
    rename_if_free,
)

TAKEN: Final = ".taken-"
"""Name prefix that hides a claimed local file until no program is likely to write to it any more."""
_DIGITS: Final = 10
"""Digits from which a number is none of a drop: users of a share may give any name."""


class FileChanged(Exception):
    """The file changed after it was claimed; the changed file is a separate drop."""

    retriable = False


def digest(path: UPath) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    sha256 = hashlib.sha256()
    with open_to_read(path) as stream:
        while block := stream.read(1 << 20):
            sha256.update(block)
    return sha256.hexdigest()


def move_to_archive(inbox: UPath, archive: UPath, drop: Drop) -> UPath:
    """Copy a claimed file to `archive` and return where it is; safe to repeat after any crash.

    A local original stays hidden in the inbox until `release`; on an object store it is deleted. Raises
    `FileChanged` where the file has changed or gone since it was claimed; a newer file of the same name
    stays where it is.
    """
    kept = archive / drop.folder / drop.path
    name = _set_aside(inbox, drop, archived=kept.exists())
    source = inside(inbox, name)
    if not kept.exists():
        try:
            _ensure_claimed(inbox, name, drop)
            with open_to_read(source) as stream, private_file(kept) as copy:
                shutil.copyfileobj(stream, copy, 1 << 20)
                _ensure_claimed(inbox, name, drop)
        except (FileChanged, FileNotFoundError, NotRegularFile):
            if kept.exists():
                return kept  # another run has taken this one's place, and was faster
            return_to_inbox(inbox, drop)
            # The cause names the file, whose name may be personal data.
            raise FileChanged(_gone(drop)) from None
    if local(source) is None and _is_claimed(inbox, name, drop) and digest(source) == digest(kept):
        source.unlink(missing_ok=True)
    return kept


def release(inbox: UPath, archive: UPath, drop: Drop, *, expired: bool) -> None:
    """Return hidden files of a drop that differ from its archived file; if its claim has `expired`, delete its original.

    A program that has the original open may write to it after the claim: what it wrote is a new drop.
    """
    source = local(inside(inbox, drop.path))
    if source is None or drop.archive is None:
        return
    kept = archive / drop.folder / drop.path
    for aside in _asides(source, drop):
        claimed = _is_claimed(inbox, aside.name, drop)
        if claimed and not expired:
            continue
        # Another run was faster, or it is no file of ours.
        with suppress(FileNotFoundError, NotRegularFile):
            # Deleting needs the content: a file may have been changed within its size and time.
            same = digest(UPath(aside)) == digest(kept) if kept.exists() else claimed
            if not same:
                _give_back(aside, source, source.with_name(f"{drop.id}-{source.name}"))
            elif expired:
                aside.unlink(missing_ok=True)


def hidden_files(inbox: UPath, drop: Drop) -> list[UPath]:
    """Return the files that the inbox hides for a drop."""
    source = local(inside(inbox, drop.path))
    return [UPath(each) for each in _asides(source, drop)] if source else []


def return_to_inbox(inbox: UPath, drop: Drop) -> None:
    """Return files that were moved for `drop` and are not its claimed file to the inbox.

    They keep their name unless a newer file has it; no file is overwritten.
    """
    source = local(inside(inbox, drop.path))
    if source is None:
        return
    for aside in _asides(source, drop):
        if not _is_claimed(inbox, aside.name, drop):
            _give_back(aside, source, source.with_name(f"{drop.id}-{source.name}"))


def return_unknown(inbox: UPath, number: int) -> None:
    """Return files of a drop that this warehouse does not have, such as a drop of another warehouse, to the inbox."""
    here = local(inbox)
    for aside in sorted(here.glob(f"{TAKEN}{number}-*")) if here else ():
        name = aside.name.removeprefix(f"{TAKEN}{number}-").partition("-")[2]
        _give_back(aside, aside.with_name(name), aside.with_name(f"{number}-{name}"))


def _give_back(aside: Path, *names: Path) -> None:
    for name in names:
        with suppress(FileNotFoundError):  # another run was faster
            if not rename_if_free(aside, name):
                continue
        return


def orphaned_drops(inbox: UPath) -> Iterator[int]:
    """Yield the numbers of drops with hidden files in a local inbox."""
    here = local(inbox)
    for each in here.glob(f"{TAKEN}*") if here else ():
        number = each.name.removeprefix(TAKEN).partition("-")[0]
        if number.isdecimal() and len(number) < _DIGITS:
            yield int(number)


def _set_aside(inbox: UPath, drop: Drop, *, archived: bool) -> str:
    """Hide a local file under a unique name unless it is archived; return the name to read it by."""
    source = local(inside(inbox, drop.path))
    if source is None:
        return drop.path
    if not archived and _is_claimed(inbox, drop.path, drop):
        with suppress(FileNotFoundError):  # another run of this drop was faster
            # A unique name: a file that another run has moved must not be overwritten.
            source.rename(source.with_name(f"{TAKEN}{drop.id}-{uuid.uuid4().hex}-{source.name}"))
    return_to_inbox(inbox, drop)  # another file may have come in between
    return next((aside.name for aside in _asides(source, drop)), drop.path)


def _asides(source: Path, drop: Drop) -> list[Path]:
    return sorted(source.parent.glob(f"{TAKEN}{drop.id}-*-{glob.escape(source.name)}"))


def _is_claimed(inbox: UPath, name: str, drop: Drop) -> bool:
    found = find_file(inbox, name)
    return found is not None and (found.size, found.stamp) == (drop.size, drop.stamp)


def _ensure_claimed(inbox: UPath, name: str, drop: Drop) -> None:
    if not _is_claimed(inbox, name, drop):
        raise FileChanged(_gone(drop))


def _gone(drop: Drop) -> str:
    if drop.archive is not None:
        return f"the original of drop {drop.id} is no longer kept; drop the file again"
    return f"the file of drop {drop.id} changed, or went, after it was claimed; drop it again"
