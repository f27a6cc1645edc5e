import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from stack.processes import (
    TAG_VARIABLE,
    Child,
    Children,
    StackError,
    find_tagged,
    kill_tagged,
    until,
)
from tests.support.patience import LONG_S

ENVIRONMENT = {"PATH": os.defpath}
FOREVER = "import time; print('up', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {FOREVER}"
# Starts three processes without the tag, as tasks may be: a child, a child in its own session, and
# an orphan in the same session.
PARENT = """
import subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
spawn = f"import subprocess; print(subprocess.Popen({sleep}, env={{}}, stdout=2).pid)"
child = subprocess.Popen(sleep, env={}).pid
detached = subprocess.Popen(sleep, env={}, start_new_session=True).pid
orphan = int(subprocess.check_output([sys.executable, "-c", spawn]))
print(child, detached, orphan, "up", flush=True)
time.sleep(600)
"""
LAUNCHER = """
import os, sys, time
from pathlib import Path
from stack.processes import Children
tag, folder, *codes = sys.argv[1:]
children = Children(tag, Path(folder))
for number, code in enumerate(codes):
    children.start(f"leftover-{number}", [sys.executable, "-c", code], os.environ, folder=Path(folder))
time.sleep(600)
"""


@pytest.fixture
def tag(tmp_path: Path) -> Iterator[str]:
    name = f"test-{tmp_path.name}-{os.getpid()}"
    yield name
    kill_tagged(name)


@pytest.fixture
def children(tag: str, tmp_path: Path) -> Children:
    return Children(tag, tmp_path)


def started(children: Children, code: str, tmp_path: Path, name: str = "child") -> psutil.Process:
    child = children.start(name, [sys.executable, "-c", code], ENVIRONMENT, folder=tmp_path)
    assert until(lambda: "up" in child.log.read_text(), LONG_S)
    return psutil.Process(child.process.pid)


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_child_leads_its_own_session_and_carries_the_tag(
    children: Children, tag: str, tmp_path: Path
) -> None:
    process = started(children, FOREVER, tmp_path)
    assert os.getsid(process.pid) == process.pid
    assert process.environ()[TAG_VARIABLE] == tag
    assert find_tagged(tag) == [process]
    children.stop(grace=5)
    assert has_ended(process)


def test_descendants_without_the_tag_or_the_session_are_killed_too(
    children: Children, tag: str, tmp_path: Path
) -> None:
    parent = started(children, PARENT, tmp_path)
    pids = (tmp_path / "child.log").read_text().split()[:3]
    family = {parent, *(psutil.Process(int(pid)) for pid in pids)}
    assert set(find_tagged(tag)) == family
    kill_tagged(tag)
    assert all(has_ended(process) for process in family)
    children.stop(grace=5)


def test_child_that_ignores_sigterm_is_killed_after_the_grace_period(
    children: Children, tmp_path: Path
) -> None:
    process = started(children, STUBBORN, tmp_path)
    children.stop(grace=0.2)
    assert has_ended(process)


def test_next_start_kills_the_processes_of_a_killed_launcher(tag: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LAUNCHER, tag, str(tmp_path), FOREVER, STUBBORN]
    logs = [tmp_path / f"leftover-{number}.log" for number in range(2)]
    with subprocess.Popen(command) as launcher:  # noqa: S603 - our own code above
        assert until(lambda: all(log.exists() and "up" in log.read_text() for log in logs), LONG_S)
        launcher.kill()
    leftovers = find_tagged(tag)
    assert len(leftovers) == 2
    assert kill_tagged(tag) == 2
    assert all(has_ended(process) for process in leftovers)
    assert kill_tagged(tag) == 0


def test_other_checkouts_and_the_launchers_ancestors_are_not_killed(
    children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = started(children, FOREVER, tmp_path)
    monkeypatch.setenv(TAG_VARIABLE, "another")
    assert kill_tagged("another") == 0
    assert kill_tagged("unknown") == 0
    assert process.is_running()
    children.stop(grace=5)


def test_error_for_an_exited_child_contains_the_end_of_its_log(
    children: Children, tmp_path: Path
) -> None:
    code = "import sys; [print('line', n) for n in range(100)]; sys.exit(3)"
    child = children.start("scheduler", [sys.executable, "-c", code], ENVIRONMENT, folder=tmp_path)
    child.process.wait()
    with pytest.raises(StackError) as caught:
        children.check()
    text = str(caught.value)
    assert "scheduler exited with code 3" in text
    assert str(tmp_path / "scheduler.log") in text
    assert text.splitlines()[-2].strip() == "line 99"
    assert text.splitlines()[-1].startswith("To do:")
    assert "line 84" not in text


def test_command_is_finished_only_if_it_exits_with_0(children: Children, tmp_path: Path) -> None:
    def ended(code: str) -> Child:
        command = [sys.executable, "-c", code]
        child = children.start("migrate", command, ENVIRONMENT, folder=tmp_path, long_running=False)
        child.process.wait()
        return child

    good = ended("")
    children.check()
    assert good.finished()
    with pytest.raises(StackError, match="no such table"):
        ended("raise SystemExit('no such table')").finished()
