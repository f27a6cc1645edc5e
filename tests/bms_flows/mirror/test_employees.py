"""Mirror of employees: flags of standby and former employees, entities, private fields."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy import text

from bms.client import Client
from bms_flows.mirror.resource import MirrorSource, RunOptions
from bms_flows.mirror.resources import EMPLOYEES, source
from bms_flows.runtime.settings import FlowSettings
from bms_sandbox.serve import Sandbox
from bms_warehouse.resources import EMPLOYEE
from tests.bms_flows.mirror.environment import KINDS, NEVER, Mirror

OFF = RunOptions(details=False)
FULL = RunOptions(private=True)
SECRETS = {name: f"secret-{name}" for name, _, _ in EMPLOYEE.private_columns} | {
    "resident_permit_expiration_date": "2031-03-07"
}

MISTYPED = 2_840_775_116_042
"""A social security number as a JSON number, which the record cannot decode."""


@pytest.fixture
def guid(sandbox: Sandbox) -> str:
    """An employee with recognisable values in all private fields."""
    key: str = sandbox.rows("employees")[0]["guid_employee"]
    sandbox.edit("employees", key, **SECRETS)
    return key


def written(mirror: Mirror, schema: str) -> str:
    """Return the contents of a schema's tables as text."""
    with mirror.warehouse.connect() as connection:
        tables = connection.scalars(
            text(
                "select oid::regclass::text from pg_class where relnamespace = to_regnamespace(:schema)"
                " and relkind = 'r'"
            ),
            {"schema": schema},
        ).all()
        return "\n".join(
            str(row)
            for name in tables
            for row in connection.exec_driver_sql(f"select * from {name}")
        )


def files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield every file with its decompressed text."""
    for path in folder.rglob("*"):
        if path.is_file():
            with pa.CompressedInputStream(str(path), "zstd") as unpacked:
                yield path, unpacked.read().decode()


def found(texts: str) -> set[str]:
    return {name for name, secret in SECRETS.items() if secret in texts}


def test_the_mirror_includes_standby_and_former_employees(sandbox: Sandbox, mirror: Mirror) -> None:
    truth = {r["guid_employee"]: r for r in sandbox.rows("employees") if r["id_entity"] == 1}
    manifest = mirror.run("employee", id_entity=1)
    stored = mirror.rows("bms.employee")
    assert (manifest["state"], manifest["inserted"]) == ("complete", len(truth))
    assert mirror.requests("list_employees") == 4  # standby, former, and twice all
    for row in stored:
        true = truth[row["guid_employee"]]
        assert row["_standby"] == true["is_standby"]
        assert row["_former"] == bool(
            true["departure_date"] and true["departure_date"] < "2026-03-31"
        )
        assert not row["deleted"]
        for name in ("id_manager", "mission1", "contract_type_code", "id_entity"):
            assert row[name] == true[name]
    assert any(row["_former"] for row in stored)
    again = mirror.run("employee", id_entity=1)
    assert (again["unchanged"], again["changed"]) == (len(truth), 0)


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("operation", ["list_employees", "read_employee"])
def test_a_guid_in_another_form_is_the_same_guid(operation: str, mirror: Mirror) -> None:
    mirror.run("employee", id_entity=1)
    stored = mirror.rows("bms.employee_version")
    mirror.sandbox.set_dialect(shown_forms=f"{operation}.guid_employee=upper+unhyphenated")
    again = mirror.run("employee", id_entity=1, asked=RunOptions(full=True))
    assert (again["changed"], again["inserted"], again["missing"]) == (0, 0, 0)
    assert mirror.rows("bms.employee_version") == stored


def test_employees_whose_guid_is_no_uuid_are_stored_without_their_detail(mirror: Mirror) -> None:
    mirror.sandbox.set_dialect(shown_forms="*_employee*.guid_employee=padded")
    manifest = mirror.run("employee", id_entity=1)
    assert (manifest["state"], manifest["missing"]) == ("complete", 0)
    assert mirror.requests("read_employee") == 0
    assert not any(row["_detailed"] or row["deleted"] for row in mirror.rows("bms.employee"))


def test_runs_of_one_entity_do_not_remove_employees_of_another(mirror: Mirror) -> None:
    for id_entity in (1, 2, 1, 2):
        assert mirror.run("employee", id_entity=id_entity)["missing"] == 0


@pytest.fixture
def overtaken(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each detail request of entity 1 triggers a whole run of entity 2."""

    def slower(client: Client, *, id_entity: int) -> MirrorSource:
        usual = source(client, EMPLOYEES, id_entity=id_entity)

        async def detail(key: Any) -> Any:
            await asyncio.to_thread(mirror.run, "employee", id_entity=2)
            assert usual.detail is not None
            return await usual.detail(key)

        return replace(usual, detail=detail) if id_entity == 1 else usual

    monkeypatch.setitem(KINDS, "employee", (EMPLOYEES, slower))


@pytest.mark.usefixtures("overtaken")
def test_an_employee_who_moves_belongs_to_the_new_entity(sandbox: Sandbox, mirror: Mirror) -> None:
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    for id_entity in (1, 2):
        mirror.run("employee", id_entity=id_entity, asked=OFF)
    moved = next(r["guid_employee"] for r in sandbox.rows("employees") if r["id_entity"] == 1)
    sandbox.edit("employees", moved, id_entity=2)
    for _ in range(2):
        mirror.run("employee", id_entity=1, asked=OFF)
    versions = mirror.rows("bms.employee_version", f"guid_employee = '{moved}'")
    assert [(row["_entity"], row["id_entity"]) for row in versions] == [(1, 1), (2, 2)]
    assert mirror.rows("bms.employee", f"guid_employee = '{moved}'")[0]["_entity"] == 2


def test_an_employee_who_moves_to_an_unread_entity_stays_without_new_versions(
    mirror: Mirror, guid: str
) -> None:
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    mirror.run("employee", id_entity=1)
    mirror.sandbox.edit("employees", guid, id_entity=2)
    for details in (1, 1, 0):
        mirror.run("employee", id_entity=1)
        assert mirror.requests("read_employee") == details
    row = mirror.rows("bms.employee", f"guid_employee = '{guid}'")[0]
    assert (row["_entity"], row["id_entity"], row["deleted"]) == (1, 2, False)


@pytest.mark.parametrize("asked", [OFF, RunOptions()], ids=["off", "directory"])
def test_an_employee_whom_two_lists_contain_belongs_to_the_first_entity(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, asked: RunOptions
) -> None:
    """The service ignores `id_entity`: entity 2 has the list of entity 1."""

    def unfiltered(client: Client, *, id_entity: int) -> MirrorSource:
        one = source(client, EMPLOYEES, id_entity=1)
        own = source(client, EMPLOYEES, id_entity=id_entity, entities=[1, 2])
        return replace(own, rows=one.rows, members=one.members)

    monkeypatch.setitem(KINDS, "employee", (EMPLOYEES, unfiltered))
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    for id_entity in (2, 1):
        mirror.run("employee", id_entity=id_entity, asked=asked)
    before = mirror.places("bms.employee", "bms.employee_superseded")
    for id_entity in (1, 2, 2, 1):
        again = mirror.run("employee", id_entity=id_entity, asked=asked)
        assert (again["changed"], again["inserted"], again["missing"]) == (0, 0, 0)
        assert again["unchanged"] == again["rows_read"]
        assert mirror.requests("read_employee") == 0
    assert mirror.places("bms.employee", "bms.employee_superseded") == before
    assert {row["_entity"] for row in mirror.rows("bms.employee")} == {1}


def test_an_employee_who_moves_from_the_first_entity_belongs_to_the_new_one(
    mirror: Mirror, guid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run of the new entity at the latest: the first may precede that of the old one."""
    both = partial(source, resource=EMPLOYEES, entities=[1, 2])
    monkeypatch.setitem(KINDS, "employee", (EMPLOYEES, both))
    for id_entity in (1, 2):
        mirror.run("employee", id_entity=id_entity)
    mirror.sandbox.edit("employees", guid, id_entity=2)
    for id_entity in (2, 1, 2, 1):
        mirror.run("employee", id_entity=id_entity)
    [row] = mirror.rows("bms.employee", f"guid_employee = '{guid}'")
    assert (row["_entity"], row["id_entity"], row["deleted"]) == (2, 2, False)


def test_leaving_the_company_is_a_change_not_a_removal(mirror: Mirror, guid: str) -> None:
    mirror.run("employee", id_entity=1)
    mirror.sandbox.edit("employees", guid, departure_date="2026-03-01")
    assert mirror.run("employee", id_entity=1)["changed"] == 1
    row = mirror.rows("bms.employee", f"guid_employee = '{guid}'")[0]
    assert (row["_former"], row["deleted"]) == (True, False)
    mirror.sandbox.delete("employees", guid)
    assert mirror.run("employee", id_entity=1)["missing"] == 1
    row = mirror.rows("bms.employee", f"guid_employee = '{guid}'")[0]
    assert (row["deleted"], row["_removal_reason"]) == (True, "missing")


@pytest.mark.parametrize("asked", [OFF, RunOptions()], ids=["off", "directory"])
def test_private_fields_are_not_stored_by_default(
    mirror: Mirror, guid: str, asked: RunOptions
) -> None:
    """Neither in rows, versions, unknown fields, responses or quarantine, nor after a failed run."""
    mirror.run("employee", id_entity=1, asked=asked)
    mirror.sandbox.edit("employees", guid, job_title="changed", skills="with a \0 in it")
    other = mirror.sandbox.rows("employees")[1]["guid_employee"]
    mirror.sandbox.edit("employees", other, social_security_number=MISTYPED, job_title="changed")
    mirror.sandbox.set_dialect(extra_fields=True)
    manifest = mirror.run("employee", id_entity=1, asked=asked)
    assert manifest["changed"]
    tables = written(mirror, "bms")
    assert ("bad_text" in tables) == asked.details
    assert written(mirror, "bms_private") == ""
    kept = dict(files(mirror.data_root))
    assert kept
    for texts in (tables, "".join(kept.values())):
        assert found(texts) == set()
        assert str(MISTYPED) not in texts


def test_full_details_store_private_fields_in_their_tables_with_versions(
    mirror: Mirror, guid: str
) -> None:
    stored = mirror.run("employee", id_entity=1)["inserted"]
    versions = mirror.rows("bms.employee_version")
    manifest = mirror.run("employee", id_entity=1, asked=FULL)
    assert (manifest["changed"], manifest["unchanged"]) == (stored, 0)
    assert mirror.rows("bms.employee_version") == versions
    mirror.sandbox.edit("employees", guid, address="moved", modified_on="2026-03-30T10:00:00+00:00")
    assert mirror.run("employee", id_entity=1, asked=FULL)["changed"] == 1
    mirror.sandbox.edit("employees", guid, address="away")
    manifest = mirror.run("employee", id_entity=1, asked=RunOptions(private=True, full=True))
    assert (manifest["changed"], manifest["unchanged"]) == (1, stored - 1)
    states = mirror.rows("bms_private.employee_private_version", f"guid_employee = '{guid}'")
    assert [row["address"] for row in states] == ["secret-address", "moved", "away"]
    assert {name: states[0][name] for name in SECRETS} == SECRETS
    assert found(written(mirror, "bms")) == set()
    for path, content in files(mirror.data_root):
        assert "employee_private" in str(path) or found(content) == set()
    mirror.run("employee", id_entity=1, asked=FULL)
    assert mirror.requests("read_employee") <= 2  # due details


def test_an_invalid_private_field_is_requested_until_it_is_valid(mirror: Mirror, guid: str) -> None:
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    mirror.run("employee", id_entity=1, asked=FULL)
    mirror.sandbox.edit("employees", guid, address="a\0b", modified_on="2026-03-30T10:00:00+00:00")
    for _ in range(2):
        mirror.run("employee", id_entity=1, asked=FULL)
        assert mirror.requests("read_employee") == 1
        assert f"{guid} private" in written(mirror, "bms")
    mirror.sandbox.edit("employees", guid, address="moved", modified_on="2026-03-30T10:00:00+00:00")
    mirror.run("employee", id_entity=1, asked=FULL)
    row = mirror.rows("bms_private.employee_private", f"guid_employee = '{guid}'")[0]
    assert row["address"] == "moved"
    assert f"{guid} private" not in written(mirror, "bms")
