"""Secrets as scripts/secrets draws them, in a checkout of their own."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Draw = Callable[[Path], str]


@pytest.fixture(scope="session")
def draw(project: Path) -> Draw:
    """Run scripts/secrets in a folder as if it were a checkout; return the text of its .env."""

    def run(folder: Path) -> str:
        script = folder / "scripts/secrets"
        script.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(project / "scripts/secrets", script)
        subprocess.run([script], check=True, capture_output=True)  # noqa: S603 - our own script
        return (folder / ".env").read_text()

    return run


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory, draw: Draw) -> dict[str, str]:
    """What a first run draws, by name."""
    lines = draw(tmp_path_factory.mktemp("secrets")).splitlines()
    return dict(line.split("=", 1) for line in lines)
