"""Rows of the catalog against the DAG files and the warehouse's tables."""

from pathlib import Path

from bms_flows.catalog import FLOWS, POOL_USERS
from bms_warehouse.tables import METADATA, PRIVATE_METADATA


def test_every_dag_has_a_row(project: Path) -> None:
    assert {file.stem for file in (project / "dags").glob("*.py")} == {*FLOWS}


def test_the_tables_of_a_flow_exist() -> None:
    tables = {
        name.partition(".")[2] for each in (METADATA, PRIVATE_METADATA) for name in each.tables
    }
    assert {table for flow in FLOWS.values() for table in flow.tables} <= tables


def test_flows_that_load_or_create_records_use_the_pool() -> None:
    assert {name for name, flow in FLOWS.items() if flow.loads or flow.creates} <= {*POOL_USERS}
