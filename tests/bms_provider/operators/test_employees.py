import json
from pathlib import Path

import pytest

from bms_provider.operators.employees import BmsListEmployeesOperator
from bms_sandbox.serve import Sandbox

pytestmark = pytest.mark.usefixtures("connected")


def test_the_employees_of_an_entity_are_written(sandbox: Sandbox, data_root: Path) -> None:
    operator = BmsListEmployeesOperator(
        task_id="list", id_entity="2", filter="ALL", path="employees.jsonl"
    )
    assert operator.execute({})["rows"] == 40
    lines = (data_root / "employees.jsonl").read_text().splitlines()
    expected = [row["guid_employee"] for row in sandbox.rows("employees") if row["id_entity"] == 2]
    assert sorted(json.loads(line)["guid_employee"] for line in lines) == sorted(expected)


def test_without_a_filter_the_service_s_default_applies(data_root: Path) -> None:
    """The sandbox lists active employees by default; the operator adds no filter."""
    BmsListEmployeesOperator(task_id="list", id_entity=1, path="e.jsonl").execute({})
    rows = [json.loads(line) for line in (data_root / "e.jsonl").read_text().splitlines()]
    assert 0 < len(rows) < 40
    assert not any(row["is_standby"] for row in rows)
