"""Runs during concurrent changes of the list: no missed rows, no false removals."""

import threading
from random import Random
from typing import Any

import pytest

from bms_flows.mirror.resource import RunOptions
from bms_sandbox.serve import Sandbox
from tests.bms_flows.mirror.environment import Mirror
from tests.support.sql import scalar

LIST_ONLY = RunOptions(details=False, accept_gone=True)


def false_deletions(sandbox: Sandbox, mirror: Mirror, resource: str = "contact") -> set[int]:
    """Return the rows marked as missing that the service still has."""
    there = {row["id"] for row in sandbox.rows(f"{resource}s")}
    return {
        row["id"]
        for row in mirror.rows(f"bms.{resource}", "_removal_reason = 'missing'")
        if row["id"] in there
    }


def missed(stayed: set[int], mirror: Mirror, resource: str = "contact") -> set[int]:
    return stayed - {row["id"] for row in mirror.rows(f"bms.{resource}", "not deleted")}


BOTH = ("page_insert", "page_delete")


@pytest.mark.prove
@pytest.mark.parametrize(
    ("kinds", "order"),
    [
        (("page_insert",), "id"),
        (("page_delete",), "id"),
        (BOTH, "id"),
        (BOTH, "id_desc"),
        (BOTH, "name"),
        (BOTH, "modified_on"),
    ],
)
def test_rows_that_shift_between_pages(mirror: Mirror, kinds: tuple[str, ...], order: str) -> None:
    """Rows change at every tenth request of a later page: far more than 1 % of the rows per pass."""
    mirror.sandbox.fill(contacts=120)
    mirror.sandbox.set_dialect(list_order=order)
    mirror.run(asked=LIST_ONLY)
    before = {row["id"] for row in mirror.sandbox.rows("contacts") if not row["deleted"]}
    for kind in kinds:
        mirror.sandbox.set_fault(kind, "list_contacts", probability=0.1)
    states = set()
    for _ in range(2):
        manifest = mirror.run(asked=LIST_ONLY, concurrency=4)
        states.add(manifest["state"])
        after = {row["id"] for row in mirror.sandbox.rows("contacts") if not row["deleted"]}
        assert false_deletions(mirror.sandbox, mirror) == set()
        if manifest["state"] == "complete":
            assert missed(before & after, mirror) == set()
        before = after
    fired = mirror.sandbox.truth()["faults"]
    assert all(fired[kind] for kind in kinds)
    assert "complete" in states
    mirror.sandbox.clear_faults()
    assert mirror.run(asked=LIST_ONLY)["state"] == "complete"
    live = {row["id"] for row in mirror.sandbox.rows("contacts") if not row["deleted"]}
    assert {row["id"] for row in mirror.rows("bms.contact", "not deleted")} == live


def test_a_constantly_changing_list_is_unstable_and_still_loaded(mirror: Mirror) -> None:
    """With unordered pages and deletions at every page, no row is marked as removed."""
    mirror.sandbox.fill(contacts=60)
    mirror.run(asked=LIST_ONLY)
    mirror.sandbox.set_dialect(page_size_max=1)  # pages without a common row prove nothing
    mirror.sandbox.set_fault("page_delete", "list_contacts", probability=0.2)
    mirror.sandbox.insert("contacts", id=5000)
    manifest = mirror.run(asked=LIST_ONLY)
    assert (manifest["state"], manifest["missing"]) == ("unstable", 0)
    assert mirror.rows("bms.contact", "id = 5000")
    assert false_deletions(mirror.sandbox, mirror) == set()
    reason = scalar(mirror.warehouse, "select reason from bms.step_run order by id desc")
    assert "no two passes agree" in str(reason)


@pytest.mark.prove
def test_concurrent_edits_lose_no_rows(sandbox: Sandbox, mirror: Mirror) -> None:
    """A thread inserts, edits and deletes rows without pause during the runs."""
    sandbox.fill(contacts=300)
    mirror.run(asked=LIST_ONLY, page_size=20)
    before = {row["id"] for row in sandbox.rows("contacts") if not row["deleted"]}
    done = threading.Event()
    made = 0

    def work() -> None:
        nonlocal made
        random = Random(1)
        ids = sorted(before)
        for turn in range(150):
            if done.is_set():
                return
            key: Any = ids.pop(random.randrange(len(ids)))
            match turn % 3:
                case 0:
                    sandbox.delete("contacts", key)
                case 1:
                    sandbox.edit("contacts", key, city=f"city {turn}")
                case 2:
                    sandbox.insert("contacts")
            made += 1

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(3):
            manifest = mirror.run(asked=LIST_ONLY, page_size=20, concurrency=4)
            assert false_deletions(sandbox, mirror) == set()
            after = {row["id"] for row in sandbox.rows("contacts") if not row["deleted"]}
            if manifest["state"] == "complete":
                assert missed(before & after, mirror) == set()
    finally:
        done.set()
        worker.join()
    assert made > 20
    last = mirror.run(asked=LIST_ONLY, page_size=20)
    assert last["state"] == "complete"
    cities = {row["id"]: row["city"] for row in sandbox.rows("contacts") if not row["deleted"]}
    assert {row["id"]: row["city"] for row in mirror.rows("bms.contact", "not deleted")} == cities


@pytest.mark.parametrize("kind", ["page_insert", "page_delete"])
def test_requests_stay_within_two_passes_plus_a_fifth(mirror: Mirror, kind: str) -> None:
    mirror.sandbox.fill(consultants=2_500)
    mirror.sandbox.set_fault(kind, "list_consultants", probability=0.1)
    manifest = mirror.run("consultant", page_size=50, asked=LIST_ONLY)
    assert manifest["state"] == "complete"
    assert manifest["list_calls"] <= 2.2 * 50
