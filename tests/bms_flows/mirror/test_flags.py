"""Flags and deleted rows of complete runs are proven."""

from collections.abc import Iterator
from typing import Any

import pytest

from bms_flows.mirror.resource import RunOptions
from bms_sandbox.serve import Sandbox
from tests.bms_flows.mirror.environment import Mirror
from tests.support.sql import execute

LIST_ONLY = RunOptions(details=False, accept_gone=True)


def shifted(
    sandbox: Sandbox, mirror: Mirror, *, deleted: int = 0, **dialect: Any
) -> Iterator[dict[str, Any]]:
    """Run first loads; in each, a served row is deleted before a different request."""
    for after in range(30):
        sandbox.reset()
        sandbox.fill(contacts=40)
        sandbox.set_dialect(**dialect)
        for key in range(1001, 1001 + deleted):
            sandbox.edit("contacts", key, deleted=True)
        execute(mirror.warehouse, "truncate bms.contact, bms.contact_superseded")
        sandbox.reset_counts()
        sandbox.set_fault("page_delete", "list_contacts", after=after, count=1)
        manifest = mirror.run(asked=LIST_ONLY, concurrency=1)
        if not sandbox.truth()["faults"]:
            return
        if manifest["state"] == "complete":
            yield manifest


def test_a_new_row_that_moves_between_pages_has_its_flag(sandbox: Sandbox, mirror: Mirror) -> None:
    runs = 0
    for _ in shifted(sandbox, mirror):
        runs += 1
        true = {
            row["id"]: row["id_account_manager"] is not None and not row["deleted"]
            for row in sandbox.rows("contacts")
        }
        stored = {row["id"]: row["_assigned"] for row in mirror.rows("bms.contact")}
        assert {key: flag for key, flag in stored.items() if key in true} == true
    assert runs > 5


def test_a_deleted_row_that_moves_between_pages_is_stored(sandbox: Sandbox, mirror: Mirror) -> None:
    """The service lists deleted rows only with filter=DELETED."""
    runs = 0
    for _ in shifted(sandbox, mirror, deleted=15, all_includes_deleted=False):
        runs += 1
        true = {row["id"] for row in sandbox.rows("contacts") if row["deleted"]}
        assert true <= {row["id"] for row in mirror.rows("bms.contact", "deleted")}
    assert runs > 5


@pytest.mark.parametrize("filter_", ["ACTIVE", "DELETED"])
def test_a_flag_is_unknown_until_its_list_is_read(mirror: Mirror, filter_: str) -> None:
    mirror.sandbox.fill(contacts=30)
    mirror.run(filter=filter_, asked=LIST_ONLY)
    stored = mirror.rows("bms.contact")
    assert stored
    assert {row["_assigned"] for row in stored} == {None}
    mirror.run(asked=LIST_ONLY)
    assert {row["_assigned"] for row in mirror.rows("bms.contact")} == {True, False}
    flags = [row["_assigned"] for row in mirror.rows("bms.contact")]
    mirror.run(filter=filter_, asked=LIST_ONLY)
    assert [row["_assigned"] for row in mirror.rows("bms.contact")] == flags


def test_a_filtered_list_is_read_twice_only_if_rows_are_new_or_changed(mirror: Mirror) -> None:
    mirror.sandbox.fill(contacts=30)
    mirror.run(asked=LIST_ONLY)
    assigned = sum(bool(row["_assigned"]) for row in mirror.rows("bms.contact"))
    pages = -(-assigned // 10)
    mirror.run(asked=LIST_ONLY)
    at_rest = mirror.requests("list_contacts")
    mirror.sandbox.edit("contacts", 1001, city="Brest")
    mirror.run(asked=LIST_ONLY)
    seen = next(row for row in mirror.rows("bms.contact", "id = 1001"))
    more = 0 if seen["_assigned"] else pages + 1
    assert mirror.requests("list_contacts") <= at_rest + more + 1
