"""An audit of the test's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from bms.settings import ClientSettings
from tests.bms_flows.audit.stand import Auditor
from tests.bms_flows.mirror.stand import Mirror


@pytest.fixture
def auditor(
    warehouse: Engine,
    tmp_path: Path,
    client_settings: ClientSettings,
    extract: Callable[..., dict[str, Any]],
) -> Auditor:
    """Audits of an empty warehouse; `load` fills it."""
    mirror = Mirror(warehouse, tmp_path, client_settings)
    return Auditor(warehouse, tmp_path, client_settings, extract, mirror)
