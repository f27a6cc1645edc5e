"""`scripts/carry_over`: a warehouse of an unreleased version gets the current schema with its rows."""

import os
import subprocess
from pathlib import Path

from sqlalchemy import Engine

from bms_sandbox.serve import Sandbox
from tests.bms_flows.onboarding.conftest import Drop, csv
from tests.bms_flows.onboarding.onboarding import onboard
from tests.support.sql import execute, scalar

FORMER = """
    drop table bms.load_profile, bms.client_invoice_finding;
    alter table bms.alarm drop column refused_at;
    alter table bms.quarantine drop column loads, drop column accepted_by;
    alter table bms.creation drop column boot_id, drop column in_flight_until_s;
    alter table bms.creation_snapshot add column _obsolete text;
    create table bms.obsolete (id bigint);
"""
"""A former schema: without later tables and columns, with a table and a column that were removed."""

NAMES = "Alix Bruno Chloé Denis Elsa Fabien Gaëlle Hugo Inès Jean Karl Lise Marc Nina Omar Paul Rose Sami Théo Yann"
PEOPLE = csv(
    *(f"{900001 + n};Nom-{each};{each};2026-05-15;" for n, each in enumerate(NAMES.split()))
)


def rows(warehouse: Engine) -> dict[str, int]:
    tables = "dropped_file creation creation_event creation_plan creation_match creation_snapshot step_run"
    return {name: scalar(warehouse, f"select count(*) from bms.{name}") for name in tables.split()}


def test_a_file_dropped_after_a_carry_over_creates_nothing(
    project: Path, warehouse: Engine, warehouse_uri: str, sandbox: Sandbox, drop: Drop
) -> None:
    onboard(drop(PEOPLE))
    execute(warehouse, FORMER)
    before = rows(warehouse)
    for _ in range(2):  # a carry-over can run again
        carried = subprocess.run(  # noqa: S603 - our own script
            [project / "scripts/carry_over"],
            env=os.environ | {"BMS_WAREHOUSE_URL": warehouse_uri},
            capture_output=True,
            text=True,
            check=False,
        )
        assert carried.returncode == 0, carried.stderr
        assert "bms.creation: 20 rows" in carried.stdout
        assert rows(warehouse) == before
    assert {outcome.state for outcome in onboard(drop(PEOPLE))} == {"already_there"}
    assert len(sandbox.truth()["created"]["employees"]) == 20
