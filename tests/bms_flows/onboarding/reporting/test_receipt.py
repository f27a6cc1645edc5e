"""Receipts: every row of a drop is counted once."""

from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bms_flows.onboarding.ledger.entry import Entry, State
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reporting.duplicates import contradictions
from bms_flows.onboarding.reporting.receipt import NotBalanced, receipt
from bms_flows.onboarding.reporting.report import RowOutcome
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.resources.snapshot import ServiceLists
from bms_flows.runtime.list_snapshot import ListSnapshot

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


NAMES = ("last_name", "first_name")


@pytest.mark.parametrize(
    ("equal", "different", "codes"),
    [
        (["job_title"], [*NAMES, "payroll_number"], ["created_not_found"]),
        (["payroll_number"], NAMES, []),  # a service that stores names otherwise
        (["last_name"], ["payroll_number"], []),
        (["last_name"], [], []),
        ([], ["job_title"], []),
    ],
)
def test_a_confirmed_id_of_another_person_is_no_creation(
    equal: Sequence[str], different: Sequence[str], codes: list[str]
) -> None:
    """A gateway returned the response to another user's create."""
    entry = Entry(
        id=1, key="k", digest="d", max_attempts=5, state=State.CREATED, attempt=1, remote_id="g"
    )
    shown = ServiceLists(
        taken_at=datetime.now(UTC), lists={"1": ListSnapshot({"g": 0})}, records={}
    )
    verified = {1: {"equal": equal, "different": different}}
    found = contradictions([entry], verified, shown, [], {*NAMES, "payroll_number"})
    assert [code for code, _ in found.values()] == codes
