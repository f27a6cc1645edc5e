"""Secrets from scripts/secrets, in a separate checkout."""

import pytest

from tests.deploy.compose import draw_secrets, variables


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a first run draws, by name."""
    return variables(draw_secrets(tmp_path_factory.mktemp("secrets")))
