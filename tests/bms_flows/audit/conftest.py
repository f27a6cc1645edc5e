"""Audit fixture."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from bms.settings import ClientSettings
from tests.bms_flows.audit.environment import Auditor
from tests.bms_flows.mirror.environment import Mirror


@pytest.fixture
def auditor(
    warehouse: Engine,
    tmp_path: Path,
    client_settings: ClientSettings,
    extract: Callable[..., dict[str, Any]],
) -> Auditor:
    """Audits of an empty warehouse, which `load` fills."""
    mirror = Mirror(warehouse, tmp_path, client_settings)
    return Auditor(warehouse, tmp_path, client_settings, extract, mirror)
