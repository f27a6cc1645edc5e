"""Points at which a process can be killed or paused, found by wrapping functions with an external effect.

`watch`: each commit of a database connection, each COPY into it, each creation, closing and renaming
of a file, and each write to the service's connection is a point. `watch_durable`: the moments before
and after each commit, and before, during and after each create are points. Points are numbered in order.
"""

import asyncio
import builtins
import functools
import io
import itertools
import os
import resource
import signal
from asyncio import selector_events
from collections.abc import Callable
from typing import Any, Self

import psycopg
from sqlalchemy.engine.default import DefaultDialect

from bms.transport import Request, Transport

SOCKET: Any = vars(selector_events)["_SelectorSocketTransport"]
"""Private in asyncio; every byte that is sent passes here."""

EFFECTS: tuple[tuple[Any, str], ...] = (
    (psycopg.Connection, "commit"),
    (psycopg.Copy, "write"),
    (os, "rename"),
    (os, "replace"),
    (SOCKET, "write"),
    (SOCKET, "writelines"),
)


class File:
    """A file open for writing, whose beginning and closing can be watched."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._begun = False

    def begin(self) -> None:
        """Write for the first time: nothing is on the disk yet."""
        self._begun = True

    def write(self, content: Any) -> int:
        """Write and flush to disk at once, so that a kill leaves partial files."""
        if not self._begun:
            self.begin()
        written = self._file.write(content)
        self._file.flush()
        return int(written)

    def close(self) -> None:
        """Close."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def kill() -> None:
    """End this process as a machine that loses its power would."""
    os.kill(os.getpid(), signal.SIGKILL)


def pause() -> None:
    """Stop this process until somebody sends it SIGCONT."""
    os.kill(os.getpid(), signal.SIGSTOP)


def fill_disk() -> None:
    """Leave this process no room in any file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def watch(at: int | None, act: Callable[[], None] = kill) -> list[str]:
    """Wrap all effects of this process; return the growing list of reached points.

    At point `at`, counted from 0, `act` is done before the effect, or in its place if it kills.
    """
    reached: list[str] = []
    numbers = itertools.count()

    def wrapped(name: str, effect: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(effect)
        def point(*args: Any, **kwargs: Any) -> Any:
            if next(numbers) == at:
                act()
            reached.append(name)
            return effect(*args, **kwargs)

        return point

    for owner, name in (*EFFECTS, (File, "begin"), (File, "close")):
        where = getattr(owner, "__qualname__", owner.__name__)
        setattr(owner, name, wrapped(f"{where}.{name}", getattr(owner, name)))
    opened = io.open

    def watched(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        stream = opened(file, mode, *args, **kwargs)
        return File(stream) if set(mode) & set("wax+") else stream

    io.open = watched  # what pathlib opens files by
    builtins.open = watched  # and everybody else
    return reached


def watch_durable(at: int | None, act: Callable[[], None] = kill) -> list[str]:
    """Wrap all commits and creates of this process; return the growing list of reached points.

    At point `at`, counted from 1, `act` is done.
    """
    reached: list[str] = []

    def point(name: str) -> None:
        reached.append(name)
        if len(reached) == at:
            act()

    wrap_durable(point)
    return reached


def wrap_durable(point: Callable[[str], None]) -> None:
    """Call `point` before and after each commit, and before, during and after each create of this process."""
    commit, send = DefaultDialect.do_commit, Transport.send

    def commits(dialect: Any, connection: Any) -> None:
        point("before commit")
        commit(dialect, connection)  # type: ignore[no-untyped-call]
        point("after commit")

    async def sends(transport: Transport, request: Request) -> Any:
        if not request.endpoint.name.startswith("create_"):
            return await send(transport, request)
        point("before create")
        loop = asyncio.get_running_loop()
        under_way = loop.call_later(0.01, point, "during create")
        try:
            return await send(transport, request)
        finally:
            if not under_way.cancelled() and under_way.when() > loop.time():
                under_way.cancel()
                point("during create")
            point("after create")

    DefaultDialect.do_commit = commits  # type: ignore[method-assign]  # this process ends with it
    Transport.send = sends  # type: ignore[method-assign, assignment]
