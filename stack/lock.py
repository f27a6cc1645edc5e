"""Lock file that allows one running stack per checkout."""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path

from stack.processes import StackError


class Lock:
    """A lock on a file; the kernel releases it when the launcher dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this process holds the lock."""
        return self._descriptor is not None

    def acquire(self, owner: Mapping[str, object]) -> None:
        """Take the lock and write its owner to the file; raise StackError if another holds it."""
        while True:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(descriptor, 4096).decode()
                os.close(descriptor)
                raise StackError(_already_running(holder, self._path)) from None
            # A launcher that ends removes the file: the locked file may no longer be at the path.
            if self._is_current(descriptor):
                break
            os.close(descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(dict(owner)).encode(), 0)
        self._descriptor = descriptor

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(self._path.stat(), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Remove the file, then release the lock."""
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None


def _already_running(holder: str, path: Path) -> str:
    try:
        owner = json.loads(holder)
    except ValueError:  # the holder has not written its details yet
        owner = {}
    return (
        f"A stack of this checkout is already running: process {owner.get('pid', '?')}, "
        f"`{owner.get('command', '?')}` in {owner.get('root', path.parent)}, "
        f"at {owner.get('url', '?')}. "
        f"Stop it with Ctrl-C in its terminal, or run: kill {owner.get('pid', '…')}"
    )
