"""Audit fixture."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.bms_flows.audit.environment import Auditor
from tests.bms_flows.mirror.environment import Mirror


@pytest.fixture
def auditor(mirror: Mirror, extract: Callable[..., dict[str, Any]]) -> Auditor:
    """Audits of an empty warehouse, which `load` fills."""
    return Auditor(mirror, extract)
