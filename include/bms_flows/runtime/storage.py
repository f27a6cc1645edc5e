"""Atomic files in a local folder or an object store."""

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

from bms_flows.runtime.settings import InvalidSetting

log = logging.getLogger(__name__)

LOCAL = ("", "file", "local")
PART = ".part"
"""Suffix of a local file that is being written."""
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
BUSY = (errno.EBUSY, errno.ETXTBSY)
"""What a mounted share answers while a Windows program has the file open."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def data_root(address: str) -> UPath:
    """Return the data root for a command, which can't read Airflow's connections.

    The connection in ``s3://connection@bucket/folder`` is ignored: credentials come from the
    environment (``AWS_…``) or a profile. Raises `InvalidSetting` for an address that can't be opened.
    """
    try:
        parts = urlsplit(address)
        return UPath(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl())
    except ValueError as error:
        raise InvalidSetting(f"BMS_DATA_ROOT can't be used: {error}") from None


class FileInUse(Exception):
    """Another program has a file below the data root open; the text names its folder."""

    retriable = True


class StorageFailed(Exception):
    """The disk or the share of the data root failed; the text names the folder."""

    retriable = True


class DataRootRefused(Exception):
    """This process may not read or write below the data root; the text names the setting."""

    retriable = False


@contextmanager
def explain_refusal(root: UPath) -> Iterator[None]:
    """Raise `DataRootRefused` if the block is refused access below the data root.

    Raises `FileInUse` if another program has the file open, `StorageFailed` after another error of a file.
    The error names the folder and not the file, because a dropped file's name may contain a person's name.
    """
    try:
        yield
    except OSError as error:
        refused = isinstance(error, PermissionError) or error.errno in REFUSED
        name = str(error.filename or "")
        inside = name.startswith(root.path)
        # The refused path may be the root itself, or a folder above it.
        ours = root.protocol not in LOCAL or inside or (name and root.path.startswith(name))
        in_use = error.errno in BUSY
        if not (inside or (ours and (refused or in_use))):
            raise
        folder = "/".join(name.removeprefix(root.path).strip("/").split("/")[:2] if inside else ())
        if not (refused or in_use):
            raise StorageFailed(
                f"a file in {folder or root}: {error.strerror}; check its disk or share, then retry"
            ) from None
        if in_use:
            raise FileInUse(
                f"a file in {folder or root} is in use, for example by Excel on another computer: close it;"
                " the next try continues"
            ) from None
        raise DataRootRefused(
            f"BMS_DATA_ROOT is {root}: this process may not read or write there"
            f"{f', in {folder}' if folder else ''} ({error.strerror or 'refused'});"
            " grant its user access, or set another root"
        ) from None


class DiskFull(Exception):
    """The disk is full; the text names the folder."""

    retriable = True


class NotRegularFile(OSError):
    """A link, pipe, device or folder has the name of a file; the text names no path."""


@contextmanager
def atomic_file(path: UPath, mode: int = 0o600) -> Iterator[IO[bytes]]:
    """Open `path` for writing; the file appears when the block succeeds, or not at all.

    A local file is written under a temporary name in the same folder and renamed. So an existing
    link, pipe or file is replaced, never written through. By default only the owner may read the
    file. An object store shows an object only once it is closed; an interrupted object is discarded.
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
        stored.closed = True  # closing would upload the incomplete object
        raise
    stored.close()


@contextmanager
def private_file(path: UPath) -> Iterator[IO[bytes]]:
    """Open a file of personal data for writing, as `atomic_file` does, in a folder for its owner only.

    The file is on disk (fsync) when the block ends. A link instead of the folder, which other users
    of the parent folder could create, raises `NotADirectoryError`.
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
    """Write the local file `path` under the name `name`, relative to the open `folder` if given.

    Raises `DiskFull` with the folder's name.
    """
    part = f"{name}.{uuid4().hex}{PART}"
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(part, new, mode, dir_fd=folder), "wb") as stream:
            yield stream
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(part, dir_fd=folder)
        if not isinstance(error, OSError) or error.errno not in FULL:
            raise
        raise DiskFull(
            f"no space to write in {path.parent}: {os.strerror(error.errno)}; free some space and "
            "retry; the incomplete file was removed"
        ) from None


def rename_if_free(source: Path, name: Path) -> bool:
    """Rename a local file unless another file has the name; return whether the file has it now."""
    try:
        os.link(source, name, follow_symlinks=False)
    except FileExistsError:
        with suppress(FileNotFoundError):
            if source.samefile(name):
                source.unlink(missing_ok=True)
                return True
        return False
    except FileNotFoundError:
        raise
    except OSError:
        return _replace_own(source, name)
    source.unlink(missing_ok=True)
    return True


def _replace_own(source: Path, name: Path) -> bool:
    """Rename without a hard link, which some shares lack, and which Linux refuses for a file that is only readable."""
    try:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
    except FileExistsError:
        return False
    try:
        source.rename(name)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    return True


def open_regular(path: Path) -> int:
    """Return a read handle for a local file from another user; raise `NotRegularFile`.

    Links are not followed, and a pipe doesn't block.
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
    """Open a file for reading; a local file as `open_regular` does."""
    if path.protocol in LOCAL:
        stream: IO[bytes] = os.fdopen(open_regular(Path(path.path)), "rb")
    else:
        stream = path.open("rb")
    with stream:
        yield stream


def read_file(path: UPath, most: int = -1) -> bytes:
    """Return a file's content, at most `most` bytes; raise `NotRegularFile`."""
    with open_to_read(path) as stream:
        return stream.read(most)


def is_folder(path: UPath) -> bool:
    """Return whether a path is a folder and not a link."""
    if path.protocol in LOCAL:
        here = Path(path.path)
        return here.is_dir() and not here.is_symlink()
    return path.exists()


def write_if_changed(path: UPath, content: bytes, mode: int) -> bool:
    """Write a file unless it has this content already; return whether it was written.

    A folder with the file's name stays; the log names it.
    """
    try:
        if read_file(path, len(content) + 1) == content:
            return False
    except (FileNotFoundError, PermissionError, NotRegularFile):
        pass  # written below
    try:
        with atomic_file(path, mode) as stream:
            stream.write(content)
    except IsADirectoryError:
        log.warning("%s can't be written: a folder has this name; remove the folder", path.name)
    return True
