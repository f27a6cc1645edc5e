"""One launcher per checkout."""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path

from stack.processes import StackError


class Lock:
    """A lock file held while a launcher works; the system frees it when the launcher dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this process holds the lock."""
        return self._descriptor is not None

    def acquire(self, about: Mapping[str, object]) -> None:
        """Take the lock and write into it who we are; raise StackError naming who holds it."""
        while True:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(descriptor, 4096).decode()
                os.close(descriptor)
                raise StackError(_told(holder, self._path)) from None
            # A launcher that ends removes the file: what we locked may be no longer there.
            if self._names(descriptor):
                break
            os.close(descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(dict(about)).encode(), 0)
        self._descriptor = descriptor

    def _names(self, descriptor: int) -> bool:
        """Return whether the path still leads to the file that we opened."""
        try:
            return os.path.samestat(self._path.stat(), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Remove the file, then let go of it."""
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None


def _told(holder: str, path: Path) -> str:
    try:
        about = json.loads(holder)
    except ValueError:  # it has the lock and not yet written who it is
        about = {}
    return (
        f"a stack of this checkout is running already: process {about.get('pid', '?')}, "
        f"`{about.get('command', '?')}` in {about.get('root', path.parent)}, "
        f"at {about.get('url', '?')}. Stop it there with Ctrl-C, or: kill {about.get('pid', '…')}"
    )
