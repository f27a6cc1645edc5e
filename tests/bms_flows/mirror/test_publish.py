"""Publication of a mirror run: release of quarantine, and removed rows."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from bms_flows.mirror.resource import RunOptions
from bms_sandbox.serve import Sandbox
from bms_warehouse import mirrors
from bms_warehouse.history import Stamp
from bms_warehouse.tables import contact
from tests.bms_flows.mirror.environment import Mirror
from tests.support.sql import scalars

LIST_ONLY = RunOptions(details=False)
UNREADABLE = "Ly\x00on"
LATER = datetime(2030, 1, 1, tzinfo=UTC)


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


def test_removed_rows_keep_their_removal_reason(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(contacts=20)
    mirror.run(asked=LIST_ONLY)
    stamp = Stamp(77, LATER)
    with mirror.warehouse.begin() as connection:
        marked = [
            mirrors.mark_missing(connection, contact, keys, stamp)
            for keys in ([1001], [1001, 1002])
        ]
        connection.execute(
            text(
                "update bms.contact set deleted = true, _removal_reason = 'flagged' where id = 1003"
            )
        )
        marked.append(mirrors.mark_missing(connection, contact, [1003], stamp))
    assert marked == [1, 1, 0]
    assert [row["_version"] for row in mirror.rows("bms.contact_version", "id = 1001")] == [1, 2]
    assert [row["_removal_reason"] for row in mirror.rows("bms.contact", "id = 1003")] == [
        "flagged"
    ]
