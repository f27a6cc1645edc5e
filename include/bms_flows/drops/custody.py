"""Custody of the original: out of the inbox, into the archive, readable by its owner only."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO

from upath import UPath

from bms_flows.drops.claim import Drop
from bms_flows.drops.inbox import inside, local, see
from bms_flows.storage import whole


class DropGone(Exception):
    """The file is no longer the one that was claimed; as it is now, it is another drop."""

    retriable = False


@contextmanager
def private(path: UPath) -> Iterator[IO[bytes]]:
    """Open `path` for writing: there whole or not at all, and on a disk its owner's alone (0600)."""
    here = local(path)
    if here is None:
        with whole(path) as stream:
            yield stream
        return
    here.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = here.with_name(f"{here.name}.part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(here)


def keep(path: UPath, content: bytes) -> None:
    """Write a file of personal data."""
    with private(path) as stream:
        stream.write(content)


def digest(path: UPath) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    sha256 = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            sha256.update(block)
    return sha256.hexdigest()


def take(inbox: UPath, archive: UPath, drop: Drop) -> UPath:
    """Move a claimed file to `archive` and return where it is; safe to repeat after any crash.

    On an object store a move is a copy and a deletion. Raises `DropGone` where the file has changed
    or gone since it was claimed; a newer file of the same name stays where it is.
    """
    kept = archive / drop.folder / PurePosixPath(drop.path).name
    name = _set_aside(inbox, drop)
    source = inside(inbox, name)
    if not kept.exists():
        _ensure_claimed(inbox, name, drop)
        with source.open("rb") as stream, private(kept) as copy:
            shutil.copyfileobj(stream, copy, 1 << 20)
        if not _is_claimed(inbox, name, drop):
            kept.unlink()
            raise DropGone(f"drop {drop.id} changed while it was copied")
    if _is_claimed(inbox, name, drop) and digest(source) == digest(kept):
        source.unlink()
    return kept


def _set_aside(inbox: UPath, drop: Drop) -> str:
    """Give a local file a name that nobody else writes to, and return the name to read it under."""
    source = local(inside(inbox, drop.path))
    if source is None:
        return drop.path
    name = str(PurePosixPath(drop.path).with_name(f".taken-{drop.id}-{source.name}"))
    aside = source.with_name(PurePosixPath(name).name)
    if not aside.exists() and _is_claimed(inbox, drop.path, drop):
        source.rename(aside)
    if aside.exists() and not _is_claimed(inbox, name, drop) and not source.exists():
        aside.rename(source)  # another file had come in between
    return name if aside.exists() else drop.path


def _is_claimed(inbox: UPath, name: str, drop: Drop) -> bool:
    found = see(inbox, name)
    return found is not None and (found.size, found.stamp) == (drop.size, drop.stamp)


def _ensure_claimed(inbox: UPath, name: str, drop: Drop) -> None:
    if not _is_claimed(inbox, name, drop):
        raise DropGone(f"drop {drop.id} changed, or went, after it was claimed")
