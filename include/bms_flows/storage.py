"""Files on a local folder or an object store, never half-written."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any
from urllib.parse import urlsplit

from upath import UPath

LOCAL = ("", "file", "local")
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def data_root(address: str) -> UPath:
    """Return the data root as a command opens it, which knows none of Airflow's connections.

    Of ``s3://connection@bucket/folder`` the connection is left out: what it holds comes from where
    the store's own tools take it, the environment (``AWS_…``) or a profile.
    """
    parts = urlsplit(address)
    return UPath(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl())


class DataRootRefused(Exception):
    """This process may not read or write below the data root; the text names the setting."""

    retriable = False


@contextmanager
def below(root: UPath) -> Iterator[None]:
    """Have the block raise `DataRootRefused` for a refusal below the data root.

    It names the folder and not the file: names of dropped files may be names of people.
    """
    try:
        yield
    except OSError as error:
        refused = isinstance(error, PermissionError) or error.errno in REFUSED
        name = str(error.filename or "")
        inside = name.startswith(root.path)
        # What can't be made may be the root itself, or a folder above it.
        ours = root.protocol not in LOCAL or inside or (name and root.path.startswith(name))
        if not (refused and ours):
            raise
        folder = "/".join(name.removeprefix(root.path).strip("/").split("/")[:2] if inside else ())
        raise DataRootRefused(
            f"BMS_DATA_ROOT is {root}: this process may not read or write there"
            f"{f', in {folder}' if folder else ''}; give its user the right, or name another root"
        ) from None


class DiskFull(Exception):
    """There is no room for a file; the text names its folder."""

    retriable = True


@contextmanager
def room(path: UPath) -> Iterator[None]:
    """Have the block, which writes `path`, raise `DiskFull` where there is no room.

    An error of writing names no file by itself. The folder is named, as in `below`.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise DiskFull(
            f"no room to write in {path.parent}: {os.strerror(error.errno)}; make room there and "
            "try again: what was half-written is gone"
        ) from None


@contextmanager
def whole(path: UPath, mode: int = 0o600) -> Iterator[IO[bytes]]:
    """Open `path` for writing so that it appears when the block ends well, or not at all.

    A local file is its owner's alone by default, written beside its name and renamed; an object store shows
    an object only once it is closed, so that one is thrown away instead.
    """

    def opened(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    if path.protocol in LOCAL:
        part = path.with_name(f"{path.name}.part")
        try:
            with room(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                with open(part.path, "wb", opener=opened) as stream:
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
