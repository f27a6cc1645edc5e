"""Calls of one function in child processes with limits of memory and time.

A server process imports the function once and forks a child per call, so a call costs no start of
Python. The kernel enforces the limits: whatever a child reads, only the child ends.

python -m bms_flows.runtime.fork_server MODULE:FUNCTION MEMORY CPU WALL
"""

import importlib
import os
import resource
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Final

BEGUN: Final = b"."
DONE: Final = b"+"
FAILED: Final = b"!"
START_S: Final = 120.0
"""Seconds in which the server must import the function; on a busy machine that takes longer than a call."""
GRACE_S: Final = 2.0
"""Seconds after the child's own limit in which its end must arrive."""


class LimitExceeded(Exception):
    """The child exceeded its memory or time, or died."""


class CallFailed(RuntimeError):
    """The function raised an error; the text has type and place, since a message may hold a cell."""


class ServerBusy(RuntimeError):
    """All children are in use."""


@dataclass(frozen=True)
class CallLimits:
    """Limits of one call."""

    memory: int = 512 << 20
    """Bytes in addition to those of the imported modules."""
    cpu_s: int = 10
    wall_s: int = 20
    calls: int = 2
    """Children at the same time."""


@dataclass
class ForkServer:
    """Server of calls of `function`, `module:name`, which maps bytes to bytes."""

    function: str
    limits: CallLimits = field(default_factory=CallLimits)

    def __post_init__(self) -> None:
        self._lock, self._free = Lock(), BoundedSemaphore(self.limits.calls)
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, request: bytes) -> bytes:
        """Return the function's response; raise `LimitExceeded`, `ServerBusy` or `CallFailed`."""
        if not self._free.acquire(timeout=self.limits.wall_s):
            raise ServerBusy
        try:
            ours, theirs = socket.socketpair()
            with ours:
                with theirs:
                    self._send(theirs)
                response = _exchange(ours, request, self.limits.wall_s + GRACE_S)
        finally:
            self._free.release()
        if response[:1] == FAILED:
            raise CallFailed(response[1:].decode())
        if response[:1] != DONE:
            raise LimitExceeded
        return response[1:]

    def start(self) -> None:
        """Start the server unless it runs."""
        with self._lock:
            self._started()

    def close(self) -> None:
        """End the server."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._control and self._process:
            self._control.close()
            self._process.wait()
        self._control = self._process = None

    def _started(self) -> socket.socket:
        if self._control is None or self._process is None or self._process.poll() is not None:
            self._end()
            ours, theirs = socket.socketpair()
            limits = (self.limits.memory, self.limits.cpu_s, self.limits.wall_s)
            command = [sys.executable, "-m", __name__, self.function, *map(str, limits)]
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 - our own module
                    command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL
                )
            self._control = ours
        return self._control

    def _send(self, connection: socket.socket) -> None:
        """Hand a connection to the server; start another server if it died."""
        with self._lock:
            try:
                socket.send_fds(self._started(), [DONE], [connection.fileno()])
            except OSError:
                self._end()
                socket.send_fds(self._started(), [DONE], [connection.fileno()])


def _exchange(connection: socket.socket, request: bytes, wall_s: float) -> bytes:
    """Send the request and return what arrives until the end; nothing of a child that ended early.

    The `wall_s` seconds count from the child's begin.
    """
    try:
        connection.settimeout(START_S)
        if connection.recv(1) != BEGUN:
            return b""
        connection.settimeout(wall_s)
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 20), b""))
    except OSError:
        return b""


def _serve(function: Callable[[bytes], bytes], memory: int, cpu_s: int, wall_s: int) -> None:
    """Fork a child for each connection until the caller's process ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel removes ended children
    with socket.socket(fileno=0) as control:
        while True:
            message, handles, _, _ = socket.recv_fds(control, 1, 1)
            if not message:
                return
            if os.fork() == 0:
                try:
                    used = int(Path("/proc/self/statm").read_text().split()[0])
                    most = used * resource.getpagesize() + memory
                    resource.setrlimit(resource.RLIMIT_AS, (most, most))
                    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
                    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                    signal.alarm(wall_s)
                    control.close()
                    _answer(function, socket.socket(fileno=handles[0]))
                finally:
                    os._exit(0)
            os.close(handles[0])


def _answer(function: Callable[[bytes], bytes], connection: socket.socket) -> None:
    with suppress(OSError, MemoryError), connection:
        try:
            connection.sendall(BEGUN)
            request = b"".join(iter(lambda: connection.recv(1 << 20), b""))
            response = DONE + function(request)
        except MemoryError:
            return
        except Exception as error:  # noqa: BLE001 - reported without its text
            frames = traceback.extract_tb(error.__traceback__)[-3:]
            places = (f"{Path(each.filename).name}:{each.lineno}" for each in frames)
            response = FAILED + f"{type(error).__name__} at {' '.join(places)}".encode()
        connection.sendall(response)


def main() -> None:
    """Import the function and serve calls."""
    module, _, name = sys.argv[1].partition(":")
    _serve(getattr(importlib.import_module(module), name), *map(int, sys.argv[2:]))


if __name__ == "__main__":
    main()
