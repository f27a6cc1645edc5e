"""Runs of a mirror against the sandbox: first sync, changes, removals and returns."""

from typing import Any

import pytest

from bms_flows.mirror.resource import RunOptions
from bms_flows.monitoring.freshness import read_freshness
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.settings import FlowSettings
from bms_sandbox.serve import Sandbox
from tests.bms_flows.mirror.environment import NEVER, Mirror

DETAILS_LATER = RunOptions(details=False)


def balanced(counts: dict[str, Any]) -> bool:
    accounted = ("inserted", "changed", "unchanged", "quarantined")
    return bool(counts["rows_read"] == sum(counts[name] for name in accounted))


def test_the_first_sync_loads_every_contact_with_its_detail(mirror: Mirror) -> None:
    truth = mirror.sandbox.rows("contacts")
    manifest = mirror.run()
    stored = mirror.rows("bms.contact")
    assert manifest["state"] == "complete"
    assert manifest["inserted"] == len(truth) == len(stored)
    for row, true in zip(stored, truth, strict=True):
        for name in ("id", "email", "phone_number", "notes", "active", "domains", "deleted"):
            assert row[name] == true[name]
        assert row["_removal_reason"] == ("flagged" if true["deleted"] else None)
        assert row["_assigned"] == (true["id_account_manager"] is not None and not true["deleted"])
        assert row["_detailed"]
        assert row["_extra"] is None
    versions = mirror.rows("bms.contact_version")
    assert [row["_version"] for row in versions] == [1] * len(truth)
    assert balanced(mirror.last_step())


@pytest.mark.prove
def test_a_hundred_runs_without_a_change_write_nothing(sandbox: Sandbox, mirror: Mirror) -> None:
    """Neither writes nor versions; only the details in rotation are read, each once."""
    sandbox.fill(contacts=40, consultants=0, employees=0)
    first = mirror.run(page_size=100)
    written = mirror.places()
    details = 0
    for _ in range(100):
        manifest = mirror.run(page_size=100)
        assert manifest["unchanged"] == manifest["rows_read"] == first["inserted"]
        # Two passes, the list of assigned contacts, and the next page of either: a page may be capped.
        assert mirror.requests("list_contacts") == 2 + 1 + 2
        details += mirror.requests("read_contact")
    assert mirror.places() == written
    assert details == 40  # a rotation takes a hundred runs: each contact once


def test_a_changed_list_item_adds_a_version_and_reads_one_detail(mirror: Mirror) -> None:
    mirror.sandbox.fill(contacts=30)
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    mirror.run()
    mirror.sandbox.edit("contacts", 1003, email="new@example.org", notes="seen with it")
    manifest = mirror.run()
    assert manifest["changed"] == 1
    assert mirror.requests("read_contact") == 1
    before, after = mirror.rows("bms.contact_version", "id = 1003")
    assert (after["email"], after["notes"]) == ("new@example.org", "seen with it")
    assert (before["_version"], after["_version"]) == (1, 2)
    assert after["_observed_at"] > before["_observed_at"]
    assert mirror.run()["changed"] == 0


def test_the_rotation_finds_changes_that_the_list_does_not_show(mirror: Mirror) -> None:
    mirror.sandbox.fill(contacts=20)
    mirror.settings = FlowSettings(mirror_rotation=4)
    mirror.run()
    modified_on = mirror.contact(1005)["modified_on"]
    mirror.sandbox.edit("contacts", 1005, notes="only in the detail", modified_on=modified_on)
    changed = [mirror.run()["changed"] for _ in range(4)]
    assert sorted(changed) == [0, 0, 0, 1]
    assert mirror.rows("bms.contact", "id = 1005")[0]["notes"] == "only in the detail"


def test_flagged_and_missing_contacts_are_both_deleted(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(contacts=30)
    mirror.run()
    sandbox.edit("contacts", 1003, deleted=True, deleted_on="2026-03-30T10:00:00+00:00")
    sandbox.delete("contacts", 1004)
    manifest = mirror.run()
    assert (manifest["changed"], manifest["missing"]) == (1, 1)
    flagged, missing = mirror.rows("bms.contact", "id in (1003, 1004)")
    assert (flagged["deleted"], flagged["_removal_reason"]) == (True, "flagged")
    assert (missing["deleted"], missing["_removal_reason"]) == (True, "missing")
    assert missing["email"]  # its values stay
    assert mirror.rows("bms.contact_version", "id = 1004")[-1]["deleted"]
    again = mirror.run()
    assert (again["changed"], again["missing"]) == (0, 0)


@pytest.mark.parametrize("asked", [RunOptions(), DETAILS_LATER], ids=["details", "list only"])
def test_a_contact_that_returns_has_a_new_version(mirror: Mirror, asked: RunOptions) -> None:
    mirror.sandbox.fill(contacts=30)
    mirror.run(asked=asked)
    true = mirror.contact(1004)
    mirror.sandbox.delete("contacts", 1004)
    assert mirror.run(asked=asked)["missing"] == 1
    mirror.sandbox.insert("contacts", **true)
    back = mirror.run(asked=asked)
    assert (back["changed"], back["missing"]) == (1, 0)
    states = [row["_removal_reason"] for row in mirror.rows("bms.contact_version", "id = 1004")]
    assert states == [None, "missing", None]
    assert mirror.run(asked=asked)["changed"] == 0


def test_many_missing_rows_need_confirmation(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(contacts=60)
    mirror.run()
    for number in range(1001, 1021):
        sandbox.delete("contacts", number)
    sandbox.edit("contacts", 1030, city="Nantes")
    with pytest.raises(LoadHeld, match="accept_gone") as asks:
        mirror.run()
    assert not asks.value.retriable
    assert mirror.requests("read_contact") <= 3  # details of the missing rows are not read
    recorded = mirror.last_step()
    assert (recorded["state"], recorded["missing"]) == ("suspect", 0)
    assert "Missing: 19" in recorded["reason"]  # one of the twenty was already flagged
    assert mirror.rows("bms.contact", "id = 1030")[0]["city"] == "Nantes"
    accepted = mirror.run(asked=RunOptions(accept_gone=True))
    assert (accepted["state"], accepted["missing"]) == ("complete", 19)


def test_the_budget_spreads_first_details_over_runs(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(contacts=50)
    mirror.settings = FlowSettings(mirror_details=20, mirror_rotation=NEVER)
    read = []
    for _ in range(4):
        mirror.run()
        read.append(mirror.requests("read_contact"))
    assert read == [20, 20, 10, 0]
    assert all(row["_detailed"] and row["phone_number"] for row in mirror.rows("bms.contact"))


RESTRICTED: list[dict[str, Any]] = [
    {"filter": "ACTIVE"},
    {"filter": "ASSIGNED"},
    {"filter": "DELETED"},
    {"id_client": 101},
    {"is_lead": True},
]


@pytest.mark.parametrize("given", RESTRICTED, ids=str)
def test_a_restricted_run_agrees_with_a_whole_run_and_leaves_other_rows_unchanged(
    mirror: Mirror, given: dict[str, Any]
) -> None:
    mirror.sandbox.fill(contacts=60)
    some, rest = mirror.run(**given), mirror.run()
    assert some["inserted"] + rest["inserted"] == 60
    if given.get("filter") == "ASSIGNED":
        assert rest["changed"] == 0
    stored = mirror.rows("bms.contact")
    mirror.sandbox.delete("contacts", 1004)
    again = mirror.run(**given)
    assert (again["missing"], again["changed"]) == (0, 0)
    assert mirror.rows("bms.contact") == stored


def test_a_restricted_run_does_not_count_for_freshness(sandbox: Sandbox, mirror: Mirror) -> None:
    def complete_at() -> Any:
        with mirror.warehouse.connect() as connection:
            return read_freshness(connection, mirror.settings)["contact_sync"].complete_at

    sandbox.fill(contacts=20)
    mirror.run(id_client=101)
    assert complete_at() is None
    mirror.run()
    whole = complete_at()
    mirror.run(filter="ACTIVE")
    assert complete_at() == whole is not None


def test_a_contact_that_is_no_longer_assigned_loses_its_flag(mirror: Mirror) -> None:
    mirror.sandbox.fill(contacts=30)
    mirror.run()
    modified_on = mirror.contact(1001)["modified_on"]
    mirror.sandbox.edit("contacts", 1001, id_account_manager=None, modified_on=modified_on)
    assert mirror.run()["changed"] == 1
    states = [row["_assigned"] for row in mirror.rows("bms.contact_version", "id = 1001")]
    assert states == [True, False]
