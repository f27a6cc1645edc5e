"""Stamp of published figures: command, commit, day and machine."""

import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.support.measurement import PROJECT, machine

STAMP: Final = re.compile(
    r"Measured by `(?P<command>[^`]+)` at commit (?P<commit>[0-9a-f]{7,40})(?P<changed>\+?)"
    r" on (?P<day>\d{4}-\d\d-\d\d)"
)
CODE: Final = (
    "bench",
    "proofs",
    ":!bench/results",
    ":!proofs/results",
    "include",
    "plugins",
    "stack",
    "tests",
    "requirements.lock",
)


def stamp(command: str = "") -> str:
    """Return where the running script's figures come from; `command` where it isn't that script."""
    return (
        f"Measured by `{command or running()}` at commit {commit()} on "
        f"{datetime.now(UTC):%Y-%m-%d}: {machine()}."
    )


def running() -> str:
    """Return the command of the running script."""
    spec = sys.modules["__main__"].__spec__
    name = spec.name if spec else Path(sys.argv[0]).stem
    return shlex.join(["python", "-m", name, *sys.argv[1:]])


def commit() -> str:
    """Return the commit of the checkout, with `+` where code differs from it."""
    changed = git("status", "--porcelain", "--untracked-files=no", "--", *CODE)
    return git("rev-parse", "--short=8", "HEAD").strip() + ("+" if changed else "")


def git(*arguments: str) -> str:
    """Run git in the project and return its output."""
    return subprocess.run(  # noqa: S603 - constant commands
        ["git", *arguments],  # noqa: S607 - the git that the checkout came with
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
