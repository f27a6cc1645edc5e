"""A terminated test run stops the servers it started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stack.processes import find_tagged

WAITING = """
import threading

def test_waits(postgres):
    print("up", flush=True)
    threading.Event().wait()
"""


@pytest.mark.prove
def test_a_terminated_run_leaves_no_server_behind(project: Path, tmp_path: Path) -> None:
    (tmp_path / "test_waiting.py").write_text(WAITING)
    plugin = ("-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir", os.fspath(project))
    with subprocess.Popen(  # noqa: S603 - our own pytest
        [sys.executable, "-m", "pytest", "-s", *plugin, os.fspath(tmp_path)],
        cwd=project,
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout
        assert any(line.endswith("up\n") for line in run.stdout)
        assert find_tagged(f"tests-{run.pid}")
        run.send_signal(signal.SIGTERM)
        assert "KeyboardInterrupt" in run.stdout.read()
    assert not find_tagged(f"tests-{run.pid}")
