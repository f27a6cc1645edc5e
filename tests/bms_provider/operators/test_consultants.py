from pathlib import Path

import pytest

from bms.errors import InvalidRecords
from bms_provider.operators.consultants import (
    BmsListConsultantsOperator,
)
from bms_sandbox.serve import Sandbox

pytestmark = pytest.mark.usefixtures("connected")


@pytest.mark.usefixtures("data_root")
def test_a_type_filters_the_list(sandbox: Sandbox) -> None:
    kind = sandbox.rows("consultants")[0]["type"]
    expected = [row["id"] for row in sandbox.rows("consultants") if row["type"] == kind]
    operator = BmsListConsultantsOperator(task_id="list", type=kind, path="c.jsonl")
    assert operator.execute({})["rows"] == len(expected) < 120


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
