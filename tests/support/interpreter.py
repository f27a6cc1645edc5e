"""Code in a fresh interpreter, for what a test's own process has already imported."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def last_line(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Run code in a fresh interpreter and return the last line that it prints.

    `environment` replaces this process's. An error of the code fails the test with its traceback.
    """
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1]
