import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from stack.processes import MARK, Children, StackError, marked, sweep, until

QUIET = {"PATH": os.defpath}
FOREVER = "import time; print('up', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {FOREVER}"
# Three that shed the mark, as task processes may: a child, one that also left the session, and an
# orphan that stayed in it.
PARENT = """
import subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
spawn = f"import subprocess; print(subprocess.Popen({sleep}, env={{}}, stdout=2).pid)"
child = subprocess.Popen(sleep, env={}).pid
apart = subprocess.Popen(sleep, env={}, start_new_session=True).pid
orphan = int(subprocess.check_output([sys.executable, "-c", spawn]))
print(child, apart, orphan, "up", flush=True)
time.sleep(600)
"""
LAUNCHER = """
import os, sys, time
from pathlib import Path
from stack.processes import Children
mark, folder, *codes = sys.argv[1:]
children = Children(mark, Path(folder))
for number, code in enumerate(codes):
    children.start(f"left-{number}", [sys.executable, "-c", code], os.environ, folder=Path(folder))
time.sleep(600)
"""


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    name = f"test-{tmp_path.name}-{os.getpid()}"
    yield name
    sweep(name)


@pytest.fixture
def children(mark: str, tmp_path: Path) -> Children:
    return Children(mark, tmp_path)


def started(children: Children, code: str, tmp_path: Path, name: str = "child") -> psutil.Process:
    child = children.start(name, [sys.executable, "-c", code], QUIET, folder=tmp_path)
    assert until(lambda: "up" in child.log.read_text(), 20)
    return psutil.Process(child.process.pid)


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_child_leads_a_session_of_its_own_and_carries_the_mark(
    children: Children, mark: str, tmp_path: Path
) -> None:
    process = started(children, FOREVER, tmp_path)
    assert os.getsid(process.pid) == process.pid
    assert process.environ()[MARK] == mark
    assert marked(mark) == [process]
    children.stop(grace=5)
    assert gone(process)


def test_family_is_ended_with_what_shed_the_mark_or_the_session(
    children: Children, mark: str, tmp_path: Path
) -> None:
    parent = started(children, PARENT, tmp_path)
    pids = (tmp_path / "child.log").read_text().split()[:3]
    family = {parent, *(psutil.Process(int(pid)) for pid in pids)}
    assert set(marked(mark)) == family
    sweep(mark)
    assert all(gone(process) for process in family)
    children.stop(grace=5)


def test_deaf_child_is_ended_by_force_after_its_grace(children: Children, tmp_path: Path) -> None:
    process = started(children, STUBBORN, tmp_path)
    children.stop(grace=0.2)
    assert gone(process)


def test_next_start_ends_what_a_killed_launcher_left(mark: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LAUNCHER, mark, str(tmp_path), FOREVER, STUBBORN]
    logs = [tmp_path / f"left-{number}.log" for number in range(2)]
    with subprocess.Popen(command) as launcher:  # noqa: S603 - our own code above
        assert until(lambda: all(log.exists() and "up" in log.read_text() for log in logs), 20)
        launcher.kill()
    left = marked(mark)
    assert len(left) == 2
    assert sweep(mark) == 2
    assert all(gone(process) for process in left)
    assert sweep(mark) == 0


def test_other_checkouts_and_the_launchers_own_line_are_left_alone(
    children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = started(children, FOREVER, tmp_path)
    monkeypatch.setenv(MARK, "another")
    assert sweep("another") == 0
    assert sweep("unknown") == 0
    assert process.is_running()
    children.stop(grace=5)


def test_death_of_a_lasting_child_is_told_with_the_end_of_its_log(
    children: Children, tmp_path: Path
) -> None:
    code = "import sys; [print('line', n) for n in range(100)]; sys.exit(3)"
    child = children.start("scheduler", [sys.executable, "-c", code], QUIET, folder=tmp_path)
    child.process.wait()
    with pytest.raises(StackError) as caught:
        children.check()
    told = str(caught.value)
    assert "scheduler ended with code 3" in told
    assert str(tmp_path / "scheduler.log") in told
    assert told.endswith("line 99")
    assert "line 84" not in told


def test_command_that_ends_well_is_no_failure(children: Children, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ""]
    child = children.start("migrate", command, QUIET, folder=tmp_path, lasting=False)
    child.process.wait()
    children.check()
    assert child.finished()


def test_command_that_ends_badly_is_a_failure(children: Children, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such table')"]
    child = children.start("migrate", command, QUIET, folder=tmp_path, lasting=False)
    child.process.wait()
    with pytest.raises(StackError, match="no such table"):
        child.finished()
