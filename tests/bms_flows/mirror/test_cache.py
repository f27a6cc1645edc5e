"""Rows that an earlier run compared: any state of the cache gives the same tables."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from bms_flows.mirror.resource import RunOptions
from bms_flows.mirror.rows import Extra, digest_of
from bms_sandbox.serve import Sandbox
from tests.bms_flows.mirror.environment import Mirror
from tests.support.sql import execute, scalars

CACHE = "bms.list_digest"
STATES: dict[str, str] = {
    "missing": f"truncate {CACHE}",
    "old": f"delete from {CACHE}; insert into {CACHE} select * from public.first_cache",
    "damaged": f"update {CACHE} set rows = overlay(rows placing '\\x00' from 99)",
    "of_other_code": f"update {CACHE} set digest = ''",
}
RESULTS = {
    "contact_version": "id, _version",
    "contact": "id",
    "load_profile": "step_run_id",
    "quarantine": "row_key",
    "step_run": "id",
}


def edit(key: int, **changes: Any) -> Callable[[Mirror], object]:
    return lambda mirror: mirror.sandbox.edit("contacts", key, **changes)


def forget(key: int) -> Callable[[Mirror], object]:
    """Write what another program, or a restored warehouse, has in a row."""
    statement = f"update bms.contact set _list_hash = '', city = 'Brest' where id = {key}"
    return lambda mirror: execute(mirror.warehouse, statement)


def dialect(**given: Any) -> Callable[[Mirror], object]:
    return lambda mirror: mirror.sandbox.set_dialect(**given)


NIGHTS: list[list[Callable[[Mirror], object]]] = [
    [],
    [],
    [
        edit(1003, city="Nantes"),
        edit(1004, id_account_manager=None),
        edit(1005, deleted=True),
        lambda mirror: mirror.sandbox.delete("contacts", 1007),
    ],
    [
        edit(1004, id_account_manager=7),
        edit(1005, deleted=False),
        forget(1006),
        lambda mirror: mirror.sandbox.insert("contacts", id=1007, last_name="Dupré"),
    ],
    [lambda mirror: execute(mirror.warehouse, "update bms.contact set _assigned = not _assigned")],
    [dialect(json_text="escaped")],
    [dialect(extra_fields=True)],
    [dialect(all_includes_deleted=False)],
    [],
]
"""Changes of a night, each of another row or of all rows."""


def results(mirror: Mirror, prepare: str) -> dict[str, Any]:
    """Return the tables, without times, after nights in which the cache was prepared."""
    tables = ", ".join(f"bms.{name}" for name in RESULTS if not name.endswith("version"))
    everything = f"{tables}, bms.contact_superseded, {CACHE}"
    execute(mirror.warehouse, f"truncate {everything} restart identity cascade")
    mirror.sandbox.reset()
    mirror.sandbox.fill(contacts=14, consultants=0, employees=0)
    for number, changes in enumerate(NIGHTS):
        for change in changes:
            change(mirror)
        if prepare and number:
            execute(mirror.warehouse, prepare)
        mirror.run(page_size=5, asked=RunOptions(accept_gone=True))
        if number == 0:
            execute(mirror.warehouse, "drop table if exists public.first_cache")
            execute(mirror.warehouse, f"create table public.first_cache as table {CACHE}")
    left_out = "latency|_at$|_since$|^created_on$|^modified_on$|^raw$|^dag_run_id$|^requests$"
    query = (
        "select (select jsonb_object_agg(key, case when key = 'details' then value - 'raw' else "
        "value end) from jsonb_each(to_jsonb(t)) where key !~ '{left_out}') "
        "from bms.{table} t order by {order}"
    )
    return {
        table: scalars(mirror.warehouse, query.format(left_out=left_out, table=table, order=order))
        for table, order in RESULTS.items()
    }


def test_a_cache_in_any_state_gives_the_same_tables(mirror: Mirror) -> None:
    cached = results(mirror, "")
    assert len(cached["contact_version"]) > len(cached["contact"]) > 13
    for state, prepare in STATES.items():
        with_state = results(mirror, prepare)
        for table, stored in cached.items():
            assert with_state[table] == stored, (state, table)


def test_a_row_with_the_same_bytes_is_compared_once(
    sandbox: Sandbox, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []

    def counted(line: bytes, extra: Extra | None, of_list: bytes) -> bytes:
        compared.append(msgspec.json.decode(line)["id"])
        return digest_of(line, extra, of_list)

    monkeypatch.setattr("bms_flows.mirror.diff.digest_of", counted)
    sandbox.fill(contacts=30)
    sandbox.edit("contacts", 1005, deleted=True)
    present = [row["id"] for row in sandbox.rows("contacts")]

    def run() -> list[int]:
        compared.clear()
        mirror.run(asked=RunOptions(details=False))
        return compared

    def stored() -> Sequence[Any]:
        return scalars(mirror.warehouse, f"select xmin::text from {CACHE}")

    assert sorted(run()) == present
    unchanged = stored()
    assert run() == []
    assert stored() == unchanged, "the cache was written again"
    sandbox.edit("contacts", present[3], city="Nantes")
    assert run() == 2 * [present[3]]
    assert stored() != unchanged
