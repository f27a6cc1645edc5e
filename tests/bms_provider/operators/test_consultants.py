import json
from pathlib import Path

import pytest

from bms.errors import InvalidRecords
from bms_provider.operators.consultants import (
    BmsCreateConsultantOperator,
    BmsListConsultantsOperator,
    BmsReadConsultantOperator,
)
from bms_sandbox.serve import Sandbox

pytestmark = pytest.mark.usefixtures("connected")


def test_all_pages_are_written_in_order(sandbox: Sandbox, data_root: Path) -> None:
    operator = BmsListConsultantsOperator(task_id="list", page_size=50, path="c.jsonl")
    assert operator.execute({})["rows"] == 120
    ids = [json.loads(line)["id"] for line in (data_root / "c.jsonl").read_text().splitlines()]
    assert ids == [row["id"] for row in sandbox.rows("consultants")]
    assert sandbox.truth()["requests"]["list_consultants"] == {"200": 3}


@pytest.mark.usefixtures("data_root")
def test_a_type_filters_the_list(sandbox: Sandbox) -> None:
    kind = sandbox.rows("consultants")[0]["type"]
    expected = [row["id"] for row in sandbox.rows("consultants") if row["type"] == kind]
    operator = BmsListConsultantsOperator(task_id="list", type=kind, path="c.jsonl")
    assert operator.execute({})["rows"] == len(expected) < 120


def test_one_consultant_is_written_as_one_object(sandbox: Sandbox, data_root: Path) -> None:
    expected = sandbox.rows("consultants")[2]
    operator = BmsReadConsultantOperator(
        task_id="read", id_consultant=str(expected["id"]), path="c.json"
    )
    assert operator.execute({})["rows"] == 1
    record = json.loads((data_root / "c.json").read_text())
    assert (record["id"], record["rate"]) == (expected["id"], expected["rate"])


def test_an_invalid_amount_raises_with_its_row_and_page_and_leaves_no_file(
    sandbox: Sandbox, data_root: Path
) -> None:
    """A file has all rows of the list, or does not exist."""
    sandbox.edit("consultants", sandbox.rows("consultants")[53]["id"], rate="canary")
    operator = BmsListConsultantsOperator(task_id="list", page_size=50, path="c.jsonl")
    with pytest.raises(InvalidRecords, match="row 3: rate bad_type") as raised:
        operator.execute({})
    assert raised.value.__notes__ == ["These rows are on page 2."]
    assert "canary" not in str(raised.value)
    assert not (data_root / "c.jsonl").exists()


def test_creating_a_consultant_returns_its_id_only(sandbox: Sandbox, data_root: Path) -> None:
    data_root.mkdir()
    (data_root / "b.json").write_text('{"first_name": "Zoé", "last_name": "Canari"}')
    created = BmsCreateConsultantOperator(task_id="create", body_path="b.json").execute({})
    [row] = [row for row in sandbox.rows("consultants") if row["last_name"] == "Canari"]
    assert created == {"id": row["id"]}
