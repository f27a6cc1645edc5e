import json
import subprocess
import sys
from pathlib import Path

import pytest

from stack.lock import Lock
from stack.processes import StackError

HOLD = """
import sys
from pathlib import Path
from stack.lock import Lock
owner = {"pid": 4711, "command": "make up", "root": "/clone", "url": "http://x:1"}
Lock(Path(sys.argv[1])).acquire(owner)
print("held", flush=True)
sys.stdin.read()
"""


def test_released_lock_has_no_file_and_can_be_acquired(tmp_path: Path) -> None:
    first, second = Lock(tmp_path / "stack.lock"), Lock(tmp_path / "stack.lock")
    first.acquire({"pid": 1})
    first.release()
    assert list(tmp_path.iterdir()) == []
    second.acquire({"pid": 2})
    assert second.held


def test_an_error_names_the_owner_of_a_lock_until_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "stack.lock"
    lock = Lock(path)
    with subprocess.Popen(  # noqa: S603 - our own code above
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StackError, match=r"4711.*make up.*/clone.*http://x:1"):
            lock.acquire({})
        assert not lock.held
        holder.kill()
        holder.wait()
    assert path.exists()
    lock.acquire({"pid": 2})
    assert json.loads(path.read_text()) == {"pid": 2}


def test_release_by_another_launcher_keeps_the_file(tmp_path: Path) -> None:
    first, second = Lock(tmp_path / "stack.lock"), Lock(tmp_path / "stack.lock")
    first.acquire({"pid": 1})
    second.release()
    assert (tmp_path / "stack.lock").exists()
