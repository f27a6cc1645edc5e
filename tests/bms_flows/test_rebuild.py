"""Rebuild of the invoice tables from stored responses."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event
from upath import UPath

from bms_cli.app import main
from bms_flows.rebuild import rebuild
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.settings import FlowSettings
from bms_sandbox.serve import Sandbox
from tests.support.sql import execute, fetch, scalars

Extract = Callable[..., dict[str, Any]]
MARCH = ("2026-03-01", "2026-03-31")
TABLES = ("client_invoice", "client_invoice_version", "client_invoice_day", "control_total")


def content(warehouse: Engine) -> dict[str, list[Any]]:
    return {
        table: list(fetch(warehouse, f"select * from bms.{table} order by 1, 2, 3"))
        for table in TABLES
    }


@pytest.fixture
def history(sandbox: Sandbox, extract: Extract) -> None:
    """Three loads: a month, the same month after a payment and a deletion, and half of it in English."""
    extract(*MARCH)
    first, second = sandbox.invoices(1, date(2026, 3, 1), date(2026, 3, 31))[:2]
    sandbox.pay(1, first["id_invoice"])
    sandbox.delete_invoice(1, second["id_invoice"])
    extract(*MARCH)
    extract("2026-03-16", "2026-03-31", language="EN")


@pytest.mark.usefixtures("history")
def test_a_rebuild_gives_the_same_tables(warehouse: Engine, tmp_path: Path) -> None:
    before = content(warehouse)
    execute(warehouse, "update bms.client_invoice set client_name = 'damaged'")
    made = rebuild(warehouse, UPath(tmp_path))
    assert made.steps == 3
    assert made.before != made.after
    after = content(warehouse)
    for table in TABLES:
        assert after[table] == before[table], table


@pytest.mark.usefixtures("history")
def test_a_rebuild_reads_steps_of_versions_that_knew_no_volatile_fields(
    warehouse: Engine, warehouse_uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(warehouse)
    execute(warehouse, "update bms.step_run set details = details - 'volatile' - 'measures'")
    assert main(["rebuild", "--url", warehouse_uri, "--data-root", str(tmp_path)]) == 0
    assert "Loaded 3 steps again: the same rows as before" in capsys.readouterr().out
    assert content(warehouse) == before


AHEAD = """
import sitecustomize
sitecustomize.jump(7200)
from bench import unit
unit.main()
"""


def test_wrong_worker_clocks_do_not_change_the_order_of_steps(
    sandbox: Sandbox,
    warehouse: Engine,
    warehouse_uri: str,
    extract: Extract,
    tmp_path: Path,
    project: Path,
) -> None:
    """The clock of the first worker is two hours ahead."""
    clock = {"PYTHONPATH": f"{project / 'tests/proofs/wall_clock'}:{project / 'include'}:{project}"}
    program = [sys.executable, "-c", AHEAD, "invoices", sandbox.url, warehouse_uri, str(tmp_path)]
    subprocess.run(  # noqa: S603 - this file's own program
        [*program, "--first", "2026-03-01", "--days", "31"],
        check=True,
        cwd=project,
        env=os.environ | clock,
    )
    first = sandbox.invoices(1, date(2026, 3, 1), date(2026, 3, 31))[0]
    sandbox.edit_invoice(1, first["id_invoice"], invoice_subject="changed since")
    assert extract(*MARCH)["changed"] == 1
    before = content(warehouse)
    assert rebuild(warehouse, UPath(tmp_path)).steps == 2
    assert content(warehouse) == before


def days(warehouse: Engine) -> list[Any]:
    rows = "select id_invoice, _version, _day, (created_on at time zone 'Europe/Paris')::date"
    return list(fetch(warehouse, f"{rows} from bms.client_invoice_version order by 1, 2"))


def test_a_rebuild_keeps_the_range_date_of_each_step(
    sandbox: Sandbox, warehouse: Engine, warehouse_uri: str, tmp_path: Path, extract: Extract
) -> None:
    """The command runs without the deployment's settings."""
    sandbox.set_dialect(range_date="created_on")
    early = sandbox.invoices(1, date(2026, 3, 2), date(2026, 3, 2))[0]["id_invoice"]
    sandbox.edit_invoice(1, early, created_on="2026-03-04T00:30:00+01:00")
    extract(*MARCH, settings=FlowSettings(invoice_range_date="created_on"))
    before = days(warehouse)
    assert all(day == entered for *_, day, entered in before)
    other = "select id_invoice from bms.client_invoice where _day <> invoice_date"
    assert scalars(warehouse, other) == [early]
    assert main(["rebuild", "--url", warehouse_uri, "--data-root", str(tmp_path)]) == 0
    assert days(warehouse) == before


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(
    ("lost", "left"),
    [("step-2-*", None), *(("step-2-*/*_2026-03-08_*", left) for left in (None, 0, 5, -5))],
)
def test_a_missing_or_damaged_response_leaves_the_tables_unchanged(
    warehouse: Engine,
    tmp_path: Path,
    warehouse_uri: str,
    capsys: pytest.CaptureFixture[str],
    lost: str,
    left: int | None,
) -> None:
    """A file is empty or cut after a crash of the machine."""
    before = content(warehouse)
    (path,) = (tmp_path / "raw").rglob(lost)
    if left is not None:
        path.write_bytes(path.read_bytes()[:left])
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    assert main(["rebuild", "--url", warehouse_uri, "--data-root", str(tmp_path)]) == 1
    told = capsys.readouterr().err.replace("\n", " ")
    assert "Nothing was changed" in told
    assert ("steps 2 are missing" if left is None else path.name) in told.replace("- ", "-")
    assert content(warehouse) == before


@pytest.mark.usefixtures("history")
def test_a_missing_response_whose_days_a_later_step_read_is_skipped(
    warehouse: Engine, tmp_path: Path, warehouse_uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (gone,) = (tmp_path / "raw").rglob("step-1-*")
    shutil.rmtree(gone)
    current = "select id_invoice, _row_hash, _missing_since from bms.client_invoice order by 1"
    before = fetch(warehouse, current)
    assert main(["rebuild", "--url", warehouse_uri, "--data-root", str(tmp_path)]) == 0
    assert "1 steps have no stored responses any more" in capsys.readouterr().out
    after = fetch(warehouse, current)
    deleted = {row.id_invoice for row in before if row[2]}
    assert after == [row for row in before if row.id_invoice not in deleted]


def test_a_rebuild_keeps_the_quarantine_of_held_days(
    sandbox: Sandbox, extract: Extract, warehouse: Engine, tmp_path: Path
) -> None:
    extract(*MARCH)
    for row in sandbox.invoices(1, date(2026, 3, 1), date(2026, 3, 31)):
        sandbox.edit_invoice(1, row["id_invoice"], invoice_subject="a\0b")
    with pytest.raises(LoadHeld):
        extract(*MARCH)
    before = fetch(warehouse, "select * from bms.quarantine order by row_key")
    assert before

    columns = "code, raw, first_day, last_day, step_run_id, first_seen_at, last_seen_at"
    another = f"""insert into bms.quarantine (resource, id_entity, row_key, {columns})
        select resource, id_entity, 'z', {columns} from bms.quarantine limit 1"""
    waiting = [another]

    def hold_another(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        """Commit a row of a load that holds its days while the rebuild runs."""
        if statement.startswith("DELETE FROM bms.quarantine") and waiting:
            execute(warehouse, waiting.pop())

    event.listen(warehouse, "before_cursor_execute", hold_another)
    rebuild(warehouse, UPath(tmp_path))
    event.remove(warehouse, "before_cursor_execute", hold_another)
    after = fetch(warehouse, "select * from bms.quarantine order by row_key")
    assert after[:-1] == before
    assert after[-1].row_key == "z"


def test_a_rebuild_keeps_the_language_shown(
    extract: Extract, warehouse: Engine, tmp_path: Path
) -> None:
    """The shell of the command has no BMS_LANGUAGE."""
    english = FlowSettings(language="EN")
    extract("2026-03-01", "2026-03-05", language="EN", settings=english)
    extract("2026-03-03", "2026-03-10", language="FR", settings=english)
    before = content(warehouse)
    rebuild(warehouse, UPath(tmp_path))
    assert content(warehouse) == before


def test_a_step_number_of_a_lost_warehouse_shares_no_files(
    extract: Extract, warehouse: Engine, tmp_path: Path
) -> None:
    """The data root has files of a step run of entity 1, whose warehouse was lost."""
    extract("2026-03-01", "2026-03-10")
    for table in ("step_run", "client_invoice", "client_invoice_day"):
        execute(warehouse, f"truncate bms.{table} restart identity cascade")
    extract("2026-03-01", "2026-03-10", id_entity=2)
    before = content(warehouse)
    assert {row.id_entity for row in before["client_invoice"]} == {2}
    rebuild(warehouse, UPath(tmp_path))
    assert content(warehouse) == before
