"""Files on a local folder or an object store, never half-written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from upath import UPath

LOCAL = ("", "file", "local")


def _own(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextmanager
def whole(path: UPath) -> Iterator[IO[bytes]]:
    """Open `path` for writing so that it appears when the block ends well, or not at all.

    A local file is its owner's alone, written beside its name and renamed; an object store shows an object only
    once it is closed, so that one is thrown away instead.
    """
    if path.protocol in LOCAL:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        try:
            with open(part.path, "wb", opener=_own) as stream:
                yield stream
            part.rename(path)
        finally:
            part.unlink(missing_ok=True)
        return
    stored: Any = path.open("wb")
    try:
        yield stored
    except BaseException:
        stored.discard()
        stored.closed = True  # closing would send what was written after all
        raise
    stored.close()
