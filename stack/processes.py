"""Processes of the stack: started in sessions of their own, recognised later, ended together."""

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

MARK = "BMS_STACK"
TAIL = 15


class StackError(Exception):
    """Something the stack needs went wrong; the text says what, and what to do."""


@dataclass(frozen=True)
class Child:
    """One started process: what it is called, its handle, where its output goes."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    lasting: bool

    def finished(self) -> bool:
        """Return whether the process ended well; raise StackError when it ended badly."""
        code = self.process.poll()
        if code:
            raise self.failure()
        return code == 0

    def failure(self) -> StackError:
        """Return the error that tells of this process's end, with the last lines of its log."""
        code = self.process.poll()
        return StackError(f"{self.name} ended with code {code}.\n{last_lines(self.log)}")


@dataclass(frozen=True)
class Account:
    """The system user a process runs as, when not the launcher's own."""

    uid: int
    gid: int


class Children:
    """All processes of one stack."""

    def __init__(self, mark: str, logs: Path) -> None:
        self._mark = mark
        self._logs = logs
        self._started: list[Child] = []

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        *,
        folder: Path,
        lasting: bool = True,
        account: Account | None = None,
    ) -> Child:
        """Start a process whose output goes to `<logs>/<name>.log`, a fresh file.

        It leads a session of its own: the terminal's Ctrl-C reaches the launcher alone, which
        ends the others in order. One that is not `lasting` is expected to finish by itself.
        """
        log = self._logs / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - commands are this package's own
                [os.fspath(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                # Without SPT_NOENV a process that renames itself overwrites its environment,
                # and with it the mark.
                env={**environment, MARK: self._mark, "SPT_NOENV": "1"},
                start_new_session=True,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )
        child = Child(name, process, log, lasting)
        self._started.append(child)
        return child

    def check(self) -> None:
        """Raise StackError when a process that should last has ended."""
        for child in self._started:
            if child.lasting and child.process.poll() is not None:
                raise child.failure()

    def stop(self, *, grace: float, but: Child | None = None) -> None:
        """End all children except `but`: a polite signal to each, then force for what is left."""
        leaving = [child.process for child in self._started if child is not but]
        family = _with_descendants(_handles(process.pid for process in leaving))
        for process in leaving:
            process.terminate()
        until(lambda: all(process.poll() is not None for process in leaving), grace)
        kill(family)
        for process in leaving:
            process.wait()


def marked(mark: str) -> list[psutil.Process]:
    """Return every process that carries the mark, shares such a one's session or descends from it.

    The launcher, its ancestors and their session are never among them.
    """
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    carriers = [process for process in psutil.process_iter() if _carries(process, mark)]
    sessions = {_session(process.pid) for process in carriers} - {_session(os.getpid()), None}
    members = [process for process in psutil.process_iter() if _session(process.pid) in sessions]
    return [p for p in _with_descendants({*carriers, *members}) if p.pid not in own]


def kill(processes: Iterable[psutil.Process], limit: float = 5) -> None:
    """End processes by force and wait until they are gone."""
    # psutil compares the creation time before it signals: a reused pid is safe.
    targets = [process for process in processes if not _gone(process)]
    for process in targets:
        _kill(process)
    if not until(lambda: all(_gone(process) for process in targets), limit):
        alive = sorted(process.pid for process in targets if not _gone(process))
        raise StackError(f"cannot end processes {alive}")


def sweep(mark: str) -> int:
    """End by force whatever carries the mark until nothing does; return how many there were."""
    count = 0
    while found := marked(mark):
        count += len(found)
        kill(found)
    return count


def until(condition: Callable[[], bool], limit: float) -> bool:
    """Wait for a condition, at most `limit` seconds; return whether it came. Not interruptible."""
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def last_lines(log: Path, count: int = TAIL) -> str:
    """Return the last lines of a log, indented, below its path."""
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


def _carries(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):  # gone, or somebody else's
        return False


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:  # gone, or on this system not for us to know
        return None


def _gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return
