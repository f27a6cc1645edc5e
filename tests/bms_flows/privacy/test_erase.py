"""Erasure of one record in all tables and files."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from sqlalchemy import Engine, text
from upath import UPath

from bms_cli.app import main
from bms_flows.mirror.details import Details
from bms_flows.mirror.resource import RunOptions
from bms_flows.mirror.resources import MIRRORED
from bms_flows.mirror.store import locked, locked_for_erasure
from bms_flows.onboarding.inbox import claim
from bms_flows.privacy.erase import erase, find
from bms_sandbox.serve import Sandbox
from bms_warehouse import loads
from bms_warehouse.errors import WarehouseError
from bms_warehouse.locks import Busy, LeaseLost
from stack.processes import until
from tests.bms_flows.mirror.environment import Mirror
from tests.support.drops import add_drop, add_invalid_row, add_plan, add_row
from tests.support.patience import LONG_S
from tests.support.sql import execute, fetch, scalar, scalars

CANARY = "canari-zoe"
DROPPED = datetime(2026, 4, 1, tzinfo=UTC)
ENTERED = f"{DROPPED:%Y%m%dT%H%M%S}"
MAIL = f"{CANARY}@canari.example"


def everything(warehouse: Engine, data_root: Path) -> str:
    """Return all tables and decompressed files as text."""
    found = list[str]()
    tables = fetch(
        warehouse, "select schemaname, tablename from pg_tables where schemaname like 'bms%'"
    )
    for schema, table in tables:
        found += scalars(warehouse, f'select t::text from "{schema}"."{table}" t')
    for path in files(data_root):
        content = path.read_bytes()
        packed = path.name.endswith(".zst")
        found.append((pa.input_stream(path).read() if packed else content).decode())
    return "\n".join(found)


def files(data_root: Path) -> Iterator[Path]:
    return (each for each in data_root.rglob("*") if each.is_file())


def drop_file(
    data_root: Path, kind: str, drop: int, content: str, people: str = "contacts"
) -> Path:
    """Write a file of a drop to the archive or the reports; return its folder."""
    folder = data_root / kind / people / f"{drop:06d}-{ENTERED}"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text(content)
    return folder


@pytest.fixture
def contact(sandbox: Sandbox, warehouse: Engine, tmp_path: Path, mirror: Mirror) -> str:
    """A contact with two versions, responses, a drop, a request body, differences and quarantine."""
    one = sandbox.rows("contacts")[0]["id"]
    sandbox.edit("contacts", one, email=MAIL, notes=CANARY)
    mirror.run()
    sandbox.edit("contacts", one, city=CANARY)
    mirror.run()
    for name in ("a", "b"):
        add_drop(warehouse, DROPPED, resource="contact", path=f"{name}.csv", dag_run_id=name)
    add_row(warehouse, "k", resource="contact", remote_id=str(one))
    statements = (
        "insert into bms.creation_body values (1, :mail)",
        """insert into bms.contact_agreement values (cast(:id as int), 'email', to_jsonb(cast(:mail as text)), now())""",
        """insert into bms.contact_difference values (cast(:id as int), 'email', null,
        to_jsonb(cast(:mail as text)), null, 1, now(), null)""",
    )
    for statement in statements:
        execute(warehouse, statement, id=str(one), mail=MAIL)
    add_invalid_row(warehouse, f"{one} detail", "bad_text", MAIL)
    add_invalid_row(warehouse, "sha256:1", "bad_type", f'{{"id": {one}, "email": "{MAIL}"}}')
    (tmp_path / "inbox" / "contacts").mkdir(parents=True)
    for drop, content in ((1, MAIL), (2, "another person")):
        (tmp_path / "inbox" / "contacts" / f".taken-{drop}-ab-{' ab'[drop]}.csv").write_text(
            content
        )
        for kind in ("archive", "reports"):
            folder = drop_file(tmp_path, kind, drop, content)
            (folder / "receipt.json").write_text(MAIL if (drop, kind) == (1, "archive") else "{}")
    return str(one)


def test_a_contact_is_erased_everywhere_without_affecting_others(
    warehouse: Engine, tmp_path: Path, contact: str
) -> None:
    assert CANARY in everything(warehouse, tmp_path)
    before = scalar(warehouse, "select count(*) from bms.contact")
    digest = "insert into bms.client_invoice_digest values (1, '2026-03-02', '', '{}', '')"
    execute(warehouse, digest)
    erase(warehouse, UPath(tmp_path), MIRRORED["contact"], contact)
    assert not scalar(warehouse, "select count(*) from bms.client_invoice_digest")
    left = everything(warehouse, tmp_path)
    assert CANARY not in left
    assert "another person" in left
    assert (tmp_path / "reports" / "contacts" / f"000001-{ENTERED}" / "receipt.json").exists()
    assert scalar(warehouse, "select count(*) from bms.contact") == before - 1
    ledger = fetch(warehouse, "select state, remote_id from bms.creation")
    assert ledger == [("created", contact)], "it keeps a second record from being created"
    again = erase(warehouse, UPath(tmp_path), MIRRORED["contact"], contact)
    assert not any(again.rows.values())
    assert not again.files


def test_repeated_and_undecided_drops_are_erased_too(
    warehouse: Engine, tmp_path: Path, contact: str
) -> None:
    for name, sha256 in (("again", "s"), ("doubtful", "t"), ("refused", "u")):
        given = {"path": f"{name}.csv", "dag_run_id": name, "sha256": sha256}
        add_drop(warehouse, DROPPED, resource="contact", **given)
    execute(warehouse, "update bms.dropped_file set sha256 = 's' where id = 1")
    review: dict[str, Any] = {"resource": "contact", "state": "review", "attempt": 0}
    add_row(warehouse, "l", **review, drop_id=4, candidates=["7", contact])
    add_row(warehouse, "m", **review, drop_id=2, candidates=["7"])
    bodies = "insert into bms.creation_body values (2, :mail), (3, 'another person')"
    execute(warehouse, bodies, mail=MAIL)
    rows = [{"key": "n", "candidates": ["7", contact]}]
    add_plan(warehouse, drop_id=5, resource="contact", state="refused", rows=rows)
    for drop in (3, 4, 5):
        drop_file(tmp_path, "archive", drop, MAIL)
    found = erase(warehouse, UPath(tmp_path), MIRRORED["contact"], contact)
    assert found.drops == [1, 3, 4, 5]
    left = everything(warehouse, tmp_path)
    assert CANARY not in left
    assert left.count("another person") == 4


def test_private_fields_of_an_employee_are_erased_too(
    sandbox: Sandbox, warehouse: Engine, tmp_path: Path, mirror: Mirror
) -> None:
    one = sandbox.rows("employees")[0]["guid_employee"]
    sandbox.edit("employees", one, last_name=CANARY, social_security_number=CANARY)
    mirror.run("employee", id_entity=1, asked=RunOptions(full=True, private=True))
    assert CANARY in everything(warehouse, tmp_path)
    erase(warehouse, UPath(tmp_path), MIRRORED["employee"], one)
    assert CANARY not in everything(warehouse, tmp_path)


@pytest.mark.parametrize("stored", ["lower", "upper"])
def test_an_employee_is_found_in_either_case_of_the_guid(
    sandbox: Sandbox, warehouse: Engine, tmp_path: Path, stored: str, mirror: Mirror
) -> None:
    one = sandbox.rows("employees")[0]["guid_employee"]
    sandbox.edit("employees", one, last_name=CANARY)
    if stored == "upper":
        sandbox.edit("employees", one, guid_employee=one.upper())
    mirror.run("employee", id_entity=1, asked=RunOptions())
    add_drop(warehouse, DROPPED)
    shown = one.upper() if stored == "upper" else one
    add_plan(warehouse, state="refused", rows=[{"key": "n", "candidates": [shown]}])
    drop_file(tmp_path, "archive", 1, CANARY, "employees")
    assert CANARY in everything(warehouse, tmp_path)
    asked = one if stored == "upper" else one.upper()
    assert erase(warehouse, UPath(tmp_path), MIRRORED["employee"], asked).drops == [1]
    assert CANARY not in everything(warehouse, tmp_path)


def test_incomplete_files_of_a_killed_process_are_erased_too(
    warehouse: Engine, tmp_path: Path, contact: str
) -> None:
    """A partly readable file and an unreadable one: while an erasure runs, no sync does."""
    raw = tmp_path / "raw" / "contact" / "2026-04-01" / "step-9"
    raw.mkdir(parents=True)
    with pa.CompressedOutputStream(str(tmp_path / "whole"), "zstd") as stream:
        stream.write(b'{"id": %s, "email": "%s"}' % (contact.encode(), MAIL.encode()))
        stream.write(os.urandom(1 << 20).hex().encode())
    packed = (tmp_path / "whole").read_bytes()
    (tmp_path / "whole").unlink()
    (raw / "pages.json.zst.ab.part").write_bytes(packed[:-9])
    (raw / "broken.json.zst.cd.part").write_bytes(packed[9:])
    report = tmp_path / "reports" / "contacts" / f"000001-{ENTERED}" / "created.csv.gh.part"
    report.write_text(MAIL)
    found = erase(warehouse, UPath(tmp_path), MIRRORED["contact"], contact)
    assert {"pages.json.zst.ab.part", "created.csv.gh.part"} <= {each.name for each in found.files}
    assert [each.name for each in found.unreadable] == ["broken.json.zst.cd.part"]
    assert not [*raw.iterdir()]
    assert not report.exists()


def test_a_sync_that_lost_its_session_during_an_erasure_stores_no_response(
    sandbox: Sandbox, warehouse: Engine, tmp_path: Path, contact: str, mirror: Mirror
) -> None:
    """As on a machine that is suspended for minutes before it publishes."""
    sandbox.edit("contacts", int(contact), city=f"{CANARY} 2")

    load = Details.load

    async def load_and_suspend(details: Details, *given: Any) -> None:
        await load(details, *given)
        await details.staging.finish()
        session = loads.driver(details.staging.connection).info.backend_pid
        execute(warehouse, "select pg_terminate_backend(:pid, 5000)", pid=session)
        erase(warehouse, UPath(tmp_path), MIRRORED["contact"], contact)

    with patch.object(Details, "load", load_and_suspend), pytest.raises(WarehouseError):
        mirror.run()
    assert CANARY not in everything(warehouse, tmp_path)


def test_files_behind_a_symbolic_link_stay(warehouse: Engine, tmp_path: Path, contact: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "victim").write_text("x")
    folder = tmp_path / "reports" / "contacts" / f"000001-{ENTERED}"
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(elsewhere)
    erase(warehouse, UPath(tmp_path), MIRRORED["contact"], contact)
    assert (elsewhere / "victim").exists()


@pytest.mark.parametrize(
    ("resource", "key"),
    [("contact", "987654321"), ("employee", "00000000-0000-4000-8000-000000000000")],
)
@pytest.mark.parametrize("for_good", [True, False])
def test_finding_nothing_is_a_failure(
    warehouse_uri: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    resource: str,
    key: str,
    for_good: bool,
) -> None:
    given = [resource, key, "--url", warehouse_uri, "--data-root", os.fspath(tmp_path)]
    assert main(["erase", *given, *(["--for-good"] if for_good else [])]) == 3
    told = capsys.readouterr()
    assert f"No data of {resource} {key} was found: check the id" in told.err
    assert "erased" not in told.out


def test_a_quarantined_row_with_an_unrelated_nested_id_stays(
    warehouse: Engine, tmp_path: Path
) -> None:
    """Skills of a consultant have ids too."""
    raw = '{"id": 9, "skills": [{"id": 12}]}'
    add_invalid_row(warehouse, "9", "bad_text", raw, resource="consultant")
    found = erase(warehouse, UPath(tmp_path), MIRRORED["consultant"], "12")
    assert not any(found.rows.values())


def test_erasure_raises_the_idle_timeout_of_its_session(warehouse: Engine, tmp_path: Path) -> None:
    with warehouse.begin() as connection:
        find(connection, UPath(tmp_path), MIRRORED["contact"], "1")
        may = connection.scalar(text("show idle_in_transaction_session_timeout"))
    assert may == "2h"


@pytest.mark.parametrize(("name", "id_entity"), [("contact", None), ("employee", 2)])
def test_nothing_is_erased_while_a_sync_may_store_the_record_again(
    warehouse: Engine,
    warehouse_uri: str,
    tmp_path: Path,
    contact: str,
    capsys: pytest.CaptureFixture[str],
    name: str,
    id_entity: int | None,
) -> None:
    stored = everything(warehouse, tmp_path)
    given = [name, contact, "--url", warehouse_uri, "--data-root", os.fspath(tmp_path)]
    with warehouse.connect() as connection, locked(connection, MIRRORED[name], id_entity):
        assert main(["erase", *given, "--for-good"]) == 1
    assert f"a run is writing to the mirror of {name}" in capsys.readouterr().err
    assert everything(warehouse, tmp_path) == stored
    with (
        warehouse.connect() as one,
        warehouse.connect() as other,
        locked_for_erasure(one, MIRRORED[name]),
        pytest.raises(Busy, match="an erasure locks"),
        locked(other, MIRRORED[name], id_entity),
    ):
        pytest.fail("a sync began during the erasure")


def test_a_run_of_a_drop_stores_nothing_after_the_erasure(
    warehouse: Engine, tmp_path: Path, contact: str
) -> None:
    held, root = claim.get(warehouse, 1), UPath(tmp_path)
    report = tmp_path / "reports" / "contacts" / f"000001-{ENTERED}" / "created.csv"
    with ThreadPoolExecutor(1) as pool:
        with warehouse.begin() as run:  # as it closes the drop
            claim.renew(run, held)
            erasure = pool.submit(erase, warehouse, root, MIRRORED["contact"], contact)
            waits = "select count(*) from pg_locks where not granted"
            assert until(lambda: scalar(warehouse, waits) or erasure.done(), LONG_S)
            report.write_text(MAIL)
        with pytest.raises(Busy, match="a run works on drop 1"):
            erasure.result()
    assert CANARY in everything(warehouse, tmp_path)
    execute(warehouse, "update bms.dropped_file set expires_at = now() where id = 1")
    erase(warehouse, root, MIRRORED["contact"], contact)
    with pytest.raises(LeaseLost), warehouse.begin() as run:
        claim.renew(run, held)
    assert CANARY not in everything(warehouse, tmp_path)
    states = fetch(warehouse, "select state, reason from bms.dropped_file order by id")
    assert states == [("withdrawn", "archive_expired"), ("open", None)]


def test_the_command_erases_only_with_for_good(
    warehouse: Engine,
    warehouse_uri: str,
    tmp_path: Path,
    contact: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    warehouse_given = ["contact", contact, "--url", warehouse_uri, "--data-root"]
    given = [*warehouse_given, os.fspath(tmp_path)]
    mistyped = [*warehouse_given, os.fspath(tmp_path / "mistyped")]
    assert main(["erase", *mistyped, "--for-good"]) == 2
    assert main(["erase", *given]) == 0
    shown = capsys.readouterr().out
    assert "1 rows of bms.contact_superseded" in shown
    assert f"file archive/contacts/000001-{ENTERED}/a.csv" in shown
    assert "Nothing was erased" in shown
    assert CANARY not in shown
    assert CANARY in everything(warehouse, tmp_path)
    assert main(["erase", *given, "--for-good"]) == 0
    assert CANARY not in everything(warehouse, tmp_path)
    assert main(["erase", *given[:2], "--url", "postgresql:///none?host=/nowhere", *given[4:]]) == 2
