"""Details: budget, rotation and invalid details."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from bms.errors import BmsError, Forbidden, ServiceUnavailable
from bms_flows.mirror import details
from bms_flows.mirror.resource import RunOptions
from bms_flows.mirror.rows import DetailItem
from bms_flows.mirror.staging import Staging
from bms_flows.runtime.settings import FlowSettings
from bms_sandbox.serve import Sandbox
from bms_warehouse import loads
from bms_warehouse.errors import WarehouseError
from tests.bms_flows.mirror.environment import NEVER, Mirror
from tests.support.sql import execute, fetch


def notes(mirror: Mirror) -> list[Any]:
    return [row["notes"] for row in mirror.rows("bms.contact")]


@pytest.mark.parametrize(
    ("rows", "settings", "listed", "read"),
    [
        (
            20,
            FlowSettings(mirror_details=8, mirror_rotation=NEVER),
            True,
            [(8, 8), (8, 16), (4, 20), (0, 20)],
        ),
        # Twelve rows in two runs need six per run; with a budget of two they take six runs.
        (
            12,
            FlowSettings(mirror_details=2, mirror_rotation=2),
            False,
            [(2, 2 * n) for n in range(1, 7)],
        ),
    ],
    ids=["changed", "in rotation"],
)
def test_rows_beyond_the_budget_are_read_in_the_next_runs(
    mirror: Mirror, rows: int, settings: FlowSettings, listed: bool, read: list[tuple[int, int]]
) -> None:
    mirror.sandbox.fill(contacts=rows)
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    mirror.run()
    mirror.settings = settings
    for row in mirror.sandbox.rows("contacts"):
        shown = {"city": "Brest"} if listed else {"modified_on": row["modified_on"]}
        mirror.sandbox.edit("contacts", row["id"], notes="edited", **shown)
    found = []
    for _ in read:
        mirror.run()
        found.append((mirror.requests("read_contact"), notes(mirror).count("edited")))
    assert found == read


def test_the_next_run_with_details_reads_those_that_a_run_without_details_skipped(
    mirror: Mirror,
) -> None:
    mirror.sandbox.fill(contacts=20)
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    mirror.run()
    kept = mirror.rows("bms.contact", "id = 1003")[0]
    mirror.sandbox.edit("contacts", 1003, city="Brest", notes="seen with it")
    assert mirror.run(asked=RunOptions(details=False))["changed"] == 1
    assert mirror.requests("read_contact") == 0
    row = mirror.rows("bms.contact", "id = 1003")[0]
    assert (row["city"], row["notes"]) == ("Brest", kept["notes"])
    assert mirror.run(asked=RunOptions(details=False))["changed"] == 0
    assert mirror.run()["changed"] == 1
    assert mirror.requests("read_contact") == 1
    assert mirror.rows("bms.contact", "id = 1003")[0]["notes"] == "seen with it"
    mirror.run()
    assert mirror.requests("read_contact") == 0


def test_a_detail_that_contradicts_its_list_item_is_read_once_more(mirror: Mirror) -> None:
    """A replica that lags returns the state before the change."""
    mirror.sandbox.fill(contacts=20)
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    mirror.run()
    mirror.sandbox.edit("contacts", 1003, city="Brest")
    mirror.sandbox.set_fault("stale_detail", operation="read_contact", count=1)
    mirror.run()
    read = []
    for _ in range(2):
        mirror.run()
        read.append(mirror.requests("read_contact"))
    assert mirror.rows("bms.contact", "id = 1003")[0]["city"] == "Brest"
    assert read == [1, 0]


def test_a_run_that_lost_its_session_soon_ends(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.sandbox.fill(contacts=200)
    monkeypatch.setattr(details, "STAGE_S", 0)
    stage = Staging.detailed

    async def stage_and_end_the_session(staging: Staging, items: Sequence[DetailItem]) -> None:
        await stage(staging, items)
        await staging.finish()
        session = loads.driver(staging.connection).info.backend_pid
        execute(mirror.warehouse, "select pg_terminate_backend(:pid, 5000)", pid=session)

    with (
        patch.object(Staging, "detailed", stage_and_end_the_session),
        pytest.raises(WarehouseError),
    ):
        mirror.run()
    assert 0 < mirror.requests("read_contact") < 50


def quarantined(mirror: Mirror) -> list[tuple[Any, ...]]:
    found = fetch(mirror.warehouse, "select row_key, code from bms.quarantine order by 1")
    return [tuple(row) for row in found]


def test_permanently_invalid_details_delay_no_other_detail_for_ever(mirror: Mirror) -> None:
    """Six of twelve details are invalid for good; a run reads four details."""
    mirror.sandbox.fill(contacts=12)
    bad = [row["id"] for row in mirror.sandbox.rows("contacts")[:6]]
    for key in bad:
        mirror.sandbox.edit("contacts", key, notes="a\0b")
    mirror.run()
    aside = [(f"{key} detail", "bad_text") for key in bad]
    assert quarantined(mirror) == aside
    mirror.settings = FlowSettings(mirror_details=4, mirror_rotation=2)
    for row in mirror.sandbox.rows("contacts")[6:]:
        mirror.sandbox.edit("contacts", row["id"], notes="unseen", modified_on=row["modified_on"])
    modified_on = mirror.contact(bad[5])["modified_on"]
    mirror.sandbox.edit("contacts", bad[5], notes="valid", modified_on=modified_on)
    for _ in range(8):
        mirror.run()
        assert mirror.requests("read_contact") <= 4
        assert [row for row in quarantined(mirror) if row in aside[:5]] == aside[:5]
    assert notes(mirror).count("unseen") == 6
    assert notes(mirror).count("valid") == 1
    assert quarantined(mirror) == aside[:5]


def test_an_invalid_detail_stays_in_quarantine_while_details_are_off(mirror: Mirror) -> None:
    mirror.sandbox.fill(contacts=3)
    mirror.sandbox.edit("contacts", 1001, notes="a\0b")
    mirror.run()
    mirror.run(asked=RunOptions(details=False))
    assert quarantined(mirror) == [("1001 detail", "bad_text")]
    mirror.sandbox.delete("contacts", 1001)
    mirror.run(asked=RunOptions(details=False))
    assert quarantined(mirror) == []


def test_an_invalid_detail_is_requested_until_it_is_valid(sandbox: Sandbox, mirror: Mirror) -> None:
    """In rotation or after a change; the row stays in quarantine until then."""
    sandbox.fill(contacts=20)
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    mirror.run()
    kept = mirror.rows("bms.contact", "id in (1003, 1004)")
    sandbox.edit("contacts", 1003, city="Brest", notes="a\0b")
    modified_on = mirror.contact(1004)["modified_on"]
    sandbox.edit("contacts", 1004, notes="a\0b", modified_on=modified_on)
    mirror.run(asked=RunOptions(full=True))
    for _ in range(2):
        assert quarantined(mirror) == [("1003 detail", "bad_text"), ("1004 detail", "bad_text")]
        written = mirror.places()
        mirror.run()
        assert mirror.requests("read_contact") == 2
        assert mirror.places() == written
    stored = mirror.rows("bms.contact", "id in (1003, 1004)")
    assert [row["notes"] for row in stored] == [row["notes"] for row in kept]
    assert stored[0]["city"] == "Brest"
    for number in (1003, 1004):
        modified_on = mirror.contact(number)["modified_on"]
        sandbox.edit("contacts", number, notes="ab", modified_on=modified_on)
    mirror.run()
    assert quarantined(mirror) == []
    stored = mirror.rows("bms.contact", "id in (1003, 1004)")
    assert [row["notes"] for row in stored] == ["ab", "ab"]


def test_a_forbidden_detail_concerns_its_row_only(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(contacts=20)
    sandbox.set_fault("gateway", "read_contact", status=403, seconds=0, count=2)
    assert mirror.run()["state"] == "complete"
    found = fetch(mirror.warehouse, "select code, field from bms.quarantine")
    assert found == [("forbidden", None), ("forbidden", None)]
    assert sum(not row["_detailed"] for row in mirror.rows("bms.contact")) == 2
    mirror.run()
    assert all(row["_detailed"] for row in mirror.rows("bms.contact"))


@pytest.mark.parametrize(
    ("fault", "given"),
    [
        ("gateway", {"status": 500, "seconds": 0}),
        ("gateway", {"status": 400, "seconds": 0}),
        ("malformed_json", {}),
    ],
)
def test_a_detail_that_the_service_fails_to_give_concerns_its_row_only(
    mirror: Mirror, fault: str, given: dict[str, Any]
) -> None:
    mirror.sandbox.fill(contacts=12)
    mirror.client_settings = replace(mirror.client_settings, attempts=1)
    mirror.sandbox.set_fault(fault, "read_contact", count=3, **given)
    assert mirror.run()["state"] == "complete"
    assert [code for _, code in quarantined(mirror)] == ["unavailable"] * 3
    assert sum(not row["_detailed"] for row in mirror.rows("bms.contact")) == 3
    mirror.run()
    assert quarantined(mirror) == []
    assert all(row["_detailed"] for row in mirror.rows("bms.contact"))


def test_a_missing_row_whose_detail_fails_is_not_removed(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(contacts=12)
    mirror.run()
    sandbox.delete("contacts", sandbox.rows("contacts")[3]["id"])
    mirror.client_settings = replace(mirror.client_settings, attempts=1)
    sandbox.set_fault("gateway", "read_contact", status=500, seconds=0, count=1)
    assert mirror.run()["missing"] == 0
    assert mirror.run()["missing"] == 1


@pytest.mark.parametrize(
    ("status", "error", "loaded"),
    [(403, Forbidden, False), (502, ServiceUnavailable, False), (502, ServiceUnavailable, True)],
)
def test_an_outage_of_details_fails_the_run(
    mirror: Mirror, status: int, error: type[BmsError], *, loaded: bool
) -> None:
    mirror.sandbox.fill(contacts=12)
    if loaded:
        mirror.run()
    mirror.client_settings = replace(mirror.client_settings, attempts=1)
    mirror.sandbox.set_fault("gateway", "read_contact", status=status, seconds=0)
    with pytest.raises(error):
        mirror.run(asked=RunOptions(full=True))
    assert bool(mirror.rows("bms.contact")) is loaded
