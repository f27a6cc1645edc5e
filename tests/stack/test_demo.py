import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stack import airflow, demo
from stack.paths import CHECKOUT


def test_json_log_of_a_failed_task_is_printed_as_text(tmp_path: Path) -> None:
    log = tmp_path / "attempt=1.log"
    failure = {
        "level": "error",
        "event": "Task failed with exception",
        "error_detail": [{"exc_type": "MissingScope", "exc_value": "needs read:invoice_client"}],
    }
    log.write_text("no json\n" + json.dumps(failure) + "\n")
    assert demo._readable(log).splitlines() == [
        f"Last lines of {log}:",
        "  no json",
        "  error: Task failed with exception",
        "    MissingScope: needs read:invoice_client",
    ]


def test_the_demo_leaves_out_only_components_that_exist() -> None:
    assert set(demo.UNUSED) < set(airflow.components(4711))


@pytest.fixture(scope="module")
def local() -> Iterator[str]:
    """A folder for the files of two demos."""
    with tempfile.TemporaryDirectory() as folder:
        yield folder


@pytest.mark.prove
@pytest.mark.parametrize("_start", ["first", "second"])
def test_the_demo_proves_its_results_in_thirty_lines(_start: str, local: str) -> None:
    """Off a terminal there is no progress; a second demo proves the same in the same folder."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AIRFLOW", "BMS_"))
    }
    found = subprocess.run(
        [sys.executable, "-m", "stack", "demo"],
        cwd=CHECKOUT,
        env={**own, "BMS_LOCAL_DIR": local},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout
    if _start == "first":
        (shown,) = re.findall(
            r"```text\n(✓.*?)```", (CHECKOUT / "README.md").read_text(), re.DOTALL
        )
        assert shown in found.stdout
    assert found.stderr == ""
    lines = found.stdout.splitlines()
    assert len(lines) <= 30
    assert not [line for line in lines if "\r" in line or "\033" in line]
    for expected in (
        r"26 rows of a file: 11 created, 1 adopted, 14 rejected\.",
        r"1 injected: 12 employees exist in the service, each once",
        r"1 injected: all \d+ undeleted contacts are in the warehouse",
        r"all \d+ invoices have the service's total, to the cent",
    ):
        assert re.search(expected, found.stdout)
