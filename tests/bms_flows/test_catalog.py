"""Rows of the catalog against the DAG files, the warehouse's tables and the settings."""

from pathlib import Path

from bms_flows.catalog import FLOWS, POOL_USERS
from bms_flows.runtime.settings import FlowSettings
from bms_warehouse.tables import METADATA, PRIVATE_METADATA


def test_every_dag_file_has_a_row(project: Path) -> None:
    assert {file.stem for file in (project / "dags").glob("*.py")} == {*FLOWS}


def test_the_tables_of_a_flow_exist() -> None:
    tables = {
        name.partition(".")[2] for each in (METADATA, PRIVATE_METADATA) for name in each.tables
    }
    assert {table for flow in FLOWS.values() for table in flow.tables} <= tables


def test_every_freshness_target_has_a_setting() -> None:
    settings = {name for name in vars(FlowSettings()) if name.startswith("fresh_hours_")}
    assert settings == {f"fresh_hours_{name}" for name, flow in FLOWS.items() if flow.freshness}


def test_flows_that_load_or_create_records_use_the_pool() -> None:
    assert {name for name, flow in FLOWS.items() if flow.loads or flow.creates} <= {*POOL_USERS}
