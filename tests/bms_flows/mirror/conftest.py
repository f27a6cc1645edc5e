"""A mirror of the test's own: the sandbox on one side, an empty warehouse on the other."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from bms.settings import ClientSettings
from tests.bms_flows.mirror.stand import Mirror


@pytest.fixture
def mirror(warehouse: Engine, tmp_path: Path, client_settings: ClientSettings) -> Mirror:
    """A mirror that holds nothing yet."""
    return Mirror(warehouse, tmp_path, client_settings)
