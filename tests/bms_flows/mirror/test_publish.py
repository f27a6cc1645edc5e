"""Publication of a mirror run: release of quarantine, and removed rows."""

import pytest

from bms_flows.mirror.resource import RunOptions
from bms_sandbox.serve import Sandbox
from tests.bms_flows.mirror.environment import Mirror
from tests.support.sql import scalars

LIST_ONLY = RunOptions(details=False)
UNREADABLE = "Ly\x00on"


def quarantined(mirror: Mirror) -> list[str]:
    return [*scalars(mirror.warehouse, "select row_key from bms.quarantine order by 1")]


@pytest.fixture
def bad_row(sandbox: Sandbox, mirror: Mirror) -> str:
    """The key of a quarantined row that lists no longer contain."""
    sandbox.fill(contacts=60)
    sandbox.edit("contacts", 1003, city=UNREADABLE)
    assert mirror.run(asked=LIST_ONLY)["state"] == "complete"
    assert quarantined(mirror) == ["1003"]
    sandbox.edit("contacts", 1003, city="Lyon", active=False)
    return "1003"


def test_a_restricted_run_releases_no_quarantine(mirror: Mirror, bad_row: str) -> None:
    mirror.run(asked=LIST_ONLY, filter="ACTIVE")
    assert quarantined(mirror) == [bad_row]
    mirror.run(asked=LIST_ONLY)
    assert quarantined(mirror) == []


def test_an_unstable_run_releases_no_quarantine(mirror: Mirror, bad_row: str) -> None:
    mirror.sandbox.set_dialect(page_size_max=1)  # pages without a common row prove nothing
    mirror.sandbox.set_fault("page_delete", "list_contacts", probability=0.2)
    assert mirror.run(asked=LIST_ONLY)["state"] == "unstable"
    assert quarantined(mirror) == [bad_row]
