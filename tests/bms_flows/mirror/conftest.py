"""Mirror fixture: a sandbox and an empty warehouse per test."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from bms.settings import ClientSettings
from tests.bms_flows.mirror.environment import Mirror


@pytest.fixture
def mirror(warehouse: Engine, tmp_path: Path, client_settings: ClientSettings) -> Mirror:
    """An empty mirror."""
    return Mirror(warehouse, tmp_path, client_settings)
