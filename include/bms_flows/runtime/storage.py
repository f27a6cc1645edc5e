"""Files on a local folder or an object store, never half-written."""

import errno
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit
from uuid import uuid4

from upath import UPath

log = logging.getLogger(__name__)

LOCAL = ("", "file", "local")
PART = ".part"
"""Ends the name of a local file that is being written."""
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
def explain_refusal(root: UPath) -> Iterator[None]:
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
def explain_full_disk(path: UPath) -> Iterator[None]:
    """Have the block, which writes `path`, raise `DiskFull` where there is no room.

    An error of writing names no file by itself. The folder is named, as in `explain_refusal`.
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


class NotRegularFile(OSError):
    """A link, pipe, device or folder has the name of a file; the text names no path."""


@contextmanager
def atomic_file(path: UPath, mode: int = 0o600) -> Iterator[IO[bytes]]:
    """Open `path` for writing so that it appears when the block ends well, or not at all.

    A local file is written under a new name beside its own, and renamed: a link, pipe or file that
    somebody else put there is replaced and not written through. Only its owner may read it by
    default. An object store shows an object only once it is closed, so a broken-off one is
    discarded.
    """
    if path.protocol in LOCAL:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _written(path, path.path, mode) as stream:
            yield stream
        return
    stored: Any = path.open("wb")
    try:
        yield stored
    except BaseException:
        stored.discard()
        stored.closed = True  # closing would send what was written after all
        raise
    stored.close()


@contextmanager
def private_file(path: UPath) -> Iterator[IO[bytes]]:
    """Open a file of personal data for writing, as `atomic_file` does, in a folder of its owner's alone.

    It is on the disk when the block has ended. Others may write to the folder above: a link in the
    place of the folder raises `NotADirectoryError`.
    """
    if path.protocol in LOCAL:
        Path(path.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        folder = os.open(path.parent.path, flags)
        try:
            with _written(path, path.name, 0o600, folder) as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
        finally:
            os.close(folder)
        return
    with atomic_file(path) as stream:
        yield stream


def save_private(path: UPath, content: bytes) -> None:
    """Write a file of personal data."""
    with private_file(path) as stream:
        stream.write(content)


@contextmanager
def _written(path: UPath, name: str, mode: int, folder: int | None = None) -> Iterator[IO[bytes]]:
    """Write the local file `path`, which is `name` in the open `folder`, if there is one."""
    part = f"{name}.{uuid4().hex}{PART}"
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with explain_full_disk(path):
            with os.fdopen(os.open(part, new, mode, dir_fd=folder), "wb") as stream:
                yield stream
            os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part, dir_fd=folder)
        raise


def open_regular(path: Path) -> int:
    """Return a handle to read a local file that others may have put there; raise `NotRegularFile`.

    It follows no link and doesn't wait for the writer of a pipe.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link; a socket
            raise NotRegularFile(error.errno, "not a regular file") from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotRegularFile(errno.EINVAL, "not a regular file")
    return handle


@contextmanager
def open_to_read(path: UPath) -> Iterator[IO[bytes]]:
    """Open a file for reading; a local one as `open_regular` does."""
    if path.protocol in LOCAL:
        stream: IO[bytes] = os.fdopen(open_regular(Path(path.path)), "rb")
    else:
        stream = path.open("rb")
    with stream:
        yield stream


def read_file(path: UPath, most: int = -1) -> bytes:
    """Return a file's content, `most` bytes of it at most; raise `NotRegularFile`."""
    with open_to_read(path) as stream:
        return stream.read(most)


def is_folder(path: UPath) -> bool:
    """Return whether a path is a folder, and no link to another one."""
    if path.protocol in LOCAL:
        here = Path(path.path)
        return here.is_dir() and not here.is_symlink()
    return path.exists()


def write_if_changed(path: UPath, content: bytes, mode: int) -> bool:
    """Write a file unless it has this content; return whether it was written.

    A folder of its name stays: the log names it.
    """
    try:
        if read_file(path, len(content) + 1) == content:
            return False
    except (FileNotFoundError, PermissionError, NotRegularFile):
        pass  # replaced by ours
    try:
        with atomic_file(path, mode) as stream:
            stream.write(content)
    except IsADirectoryError:
        log.warning("%s can't be written: a folder has its name; remove the folder", path.name)
    return True
