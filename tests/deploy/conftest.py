"""Secrets from scripts/secrets, in a separate checkout; the wheel."""

import subprocess
from pathlib import Path

import pytest

from tests.deploy.compose import PROJECT, draw_secrets, variables


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a first run draws, by name."""
    return variables(draw_secrets(tmp_path_factory.mktemp("secrets")))


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make wheel` fills: the wheel and its constraints."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([PROJECT / "scripts/wheel", folder], check=True, capture_output=True)  # noqa: S603 - ours
    return folder
