import json
import uuid
from pathlib import Path

import pytest

from bms_provider.operators.arguments import BadArgument
from bms_provider.operators.employees import (
    BmsCreateEmployeeOperator,
    BmsListEmployeesOperator,
    BmsReadEmployeeOperator,
)
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


def test_one_employee_is_written_as_one_object(sandbox: Sandbox, data_root: Path) -> None:
    guid = sandbox.rows("employees")[0]["guid_employee"]
    BmsReadEmployeeOperator(task_id="read", guid_employee=guid, path="e.json").execute({})
    assert json.loads((data_root / "e.json").read_text())["guid_employee"] == guid


@pytest.mark.usefixtures("data_root")
def test_guid_employee_must_be_a_uuid() -> None:
    operator = BmsReadEmployeeOperator(task_id="read", guid_employee="../contacts", path="e.json")
    with pytest.raises(BadArgument, match="guid_employee takes a UUID"):
        operator.execute({})


def test_creating_an_employee_returns_its_ids_only(sandbox: Sandbox, data_root: Path) -> None:
    data_root.mkdir()
    body = {"id_entity": 1, "first_name": "Zoé", "last_name": "Canari", "salary_base": 1234.10}
    (data_root / "body.json").write_text(json.dumps(body))
    created = BmsCreateEmployeeOperator(task_id="create", body_path="body.json").execute({})
    [row] = [row for row in sandbox.rows("employees") if row["last_name"] == "Canari"]
    assert created == {
        "guid_employee": row["guid_employee"],
        "id_employee": row["id_employee"],
        "is_standby": True,
    }
    assert uuid.UUID(created["guid_employee"])
