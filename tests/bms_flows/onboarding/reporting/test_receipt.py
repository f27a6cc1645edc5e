"""Receipts: every row of a drop is counted once."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reporting.receipt import NotBalanced, receipt
from bms_flows.onboarding.reporting.report import RowOutcome
from bms_flows.onboarding.resources.employee import EMPLOYEE

SHEET = read(b"Nom;Matricule\nDupont;000001\nMartin;000002\n", "a.csv", EMPLOYEE)
PLAN: Any = SimpleNamespace(
    drop_id=7,
    resource="employee",
    id="plan",
    state="applied",
    bound={},
    counts={},
    breaches=[],
    decided_by="setting",
    decided_at=None,
)


def ended(*lines: int) -> list[RowOutcome]:
    return [RowOutcome(line=line, state="created") for line in lines]


@pytest.mark.parametrize("lines", [(), (2,), (2, 2), (2, 3, 3), (2, 4)])
def test_a_receipt_requires_every_row_exactly_once(lines: tuple[int, ...]) -> None:
    with pytest.raises(NotBalanced, match=f"the file has 2 rows, the receipt {len(lines)}"):
        receipt(PLAN, SHEET, ended(*lines), [])


def test_a_receipt_contains_no_personal_data() -> None:
    content = json.loads(receipt(PLAN, SHEET, ended(3, 2), []))
    assert content["file_sha256"] == SHEET.sha256
    assert (content["rows_in"], content["counts"]["created"]) == (2, 2)
    assert "Dupont" not in json.dumps(content)
