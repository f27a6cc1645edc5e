"""Start, identification and termination of the stack's processes."""

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

TAG_VARIABLE = "BMS_STACK"
LOG_TAIL = 15


class StackError(Exception):
    """The stack cannot start or continue; the text names the cause and the remedy."""


@dataclass(frozen=True)
class Child:
    """A process that the launcher started, with the log of its output."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    long_running: bool

    def finished(self) -> bool:
        """Return whether the process exited with 0; raise StackError if it exited otherwise."""
        code = self.process.poll()
        if code:
            raise self.failure()
        return code == 0

    def failure(self) -> StackError:
        """Return an error with the exit code and the last lines of the log."""
        code = self.process.poll()
        return StackError(
            f"{self.name} exited with code {code}; the stack cannot run without it and stops.\n"
            f"{last_lines(self.log)}\n"
            "To do: fix the cause that the log names and start again."
        )


@dataclass(frozen=True)
class SystemUser:
    """The system user a process runs as, if it is not the launcher's."""

    uid: int
    gid: int


class Children:
    """All processes of one stack, identified by a tag in their environment."""

    def __init__(self, tag: str, logs: Path) -> None:
        self._tag = tag
        self._logs = logs
        self._started: list[Child] = []

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        *,
        folder: Path,
        long_running: bool = True,
        user: SystemUser | None = None,
    ) -> Child:
        """Start a process in `folder`; write its output to a new `<logs>/<name>.log`.

        The process leads its own session, so that Ctrl-C reaches only the launcher, which then
        stops the processes in order.
        """
        log = self._logs / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - commands are this package's own
                [os.fspath(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                # SPT_NOENV: a process that changes its title would overwrite the tag.
                env={**environment, TAG_VARIABLE: self._tag, "SPT_NOENV": "1"},
                start_new_session=True,
                user=user.uid if user else None,
                group=user.gid if user else None,
                extra_groups=[] if user else None,
            )
        child = Child(name, process, log, long_running)
        self._started.append(child)
        return child

    def check(self) -> None:
        """Raise StackError if a long-running process has exited."""
        for child in self._started:
            if child.long_running and child.process.poll() is not None:
                raise child.failure()

    def stop(self, *, grace: float, exclude: Child | None = None) -> None:
        """Terminate all children except `exclude`; kill what remains after `grace` seconds."""
        processes = [child.process for child in self._started if child is not exclude]
        family = _with_descendants(_handles(process.pid for process in processes))
        for process in processes:
            process.terminate()
        until(lambda: all(process.poll() is not None for process in processes), grace)
        kill(family)
        for process in processes:
            process.wait()


def find_tagged(tag: str) -> list[psutil.Process]:
    """Return the processes that carry a tag, with the rest of their sessions and descendants.

    Tasks may drop the tag from their environment. The launcher, its ancestors and the launcher's
    session are excluded.
    """
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    tagged = [process for process in psutil.process_iter() if _carries(process, tag)]
    sessions = {_session(process.pid) for process in tagged} - {_session(os.getpid()), None}
    members = [process for process in psutil.process_iter() if _session(process.pid) in sessions]
    return [p for p in _with_descendants({*tagged, *members}) if p.pid not in own]


def kill_tagged(tag: str) -> int:
    """Kill the processes of a tag until none is left; return their number."""
    count = 0
    while found := find_tagged(tag):
        count += len(found)
        kill(found)
    return count


def kill(processes: Iterable[psutil.Process], limit: float = 60) -> None:
    """Kill processes and wait for their end; raise StackError if one survives `limit` seconds."""
    # psutil compares the creation time before it sends a signal, so a reused pid is safe.
    targets = [process for process in processes if not _has_ended(process)]
    for process in targets:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    if not until(lambda: all(_has_ended(process) for process in targets), limit):
        alive = sorted(process.pid for process in targets if not _has_ended(process))
        raise StackError(f"These processes cannot be killed: {alive}. End them yourself.")


def until(condition: Callable[[], bool], limit: float) -> bool:
    """Wait up to `limit` seconds for a condition, ignoring signals; return whether it was met."""
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def last_lines(log: Path, count: int = LOG_TAIL) -> str:
    """Return the path of a log and its last lines, indented."""
    lines = log.read_text(errors="replace").splitlines()[-count:] if log.exists() else []
    return "\n".join([f"Last lines of {log}:", *(f"  {line}" for line in lines)])


def _handles(pids: Iterable[int]) -> list[psutil.Process]:
    handles = []
    for pid in pids:
        try:
            handles.append(psutil.Process(pid))
        except psutil.NoSuchProcess:
            continue
    return handles


def _with_descendants(processes: Iterable[psutil.Process]) -> set[psutil.Process]:
    found = set(processes)
    for process in list(found):
        try:
            found.update(process.children(recursive=True))
        except psutil.NoSuchProcess:
            continue
    return found


def _carries(process: psutil.Process, tag: str) -> bool:
    try:
        found = process.environ().get(TAG_VARIABLE)
        return found == tag and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):  # ended, or another user's process
        return False


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:  # ended, or another user's process
        return None


def _has_ended(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
