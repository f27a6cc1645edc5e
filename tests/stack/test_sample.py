"""The demo's file stays right, whenever the demo is played."""

from datetime import UTC, date, datetime

import pytest

from bms_flows.creation import rules
from bms_flows.creation.employees import EMPLOYEE
from bms_flows.drops.reading import read
from stack import sample


@pytest.mark.parametrize("today", [date(2026, 11, 21), date(2027, 12, 31), date(2040, 1, 1)])
def test_its_people_start_within_what_a_plan_takes_unasked(today: date) -> None:
    limits = rules.read(EMPLOYEE).plan
    sheet = read(sample.content(today), sample.NAME, EMPLOYEE)
    starts = [row.values["start_date"] for row in sheet.rows if "start_date" in row.values]
    assert len(starts) >= 20
    assert all(0 < (start - today).days <= limits.start_days_after for start in starts)


def test_what_is_wrong_in_it_stays_wrong() -> None:
    as_it_is = read(sample.PATH.read_bytes(), sample.NAME, EMPLOYEE)
    moved = read(sample.content(datetime.now(UTC).date()), sample.NAME, EMPLOYEE)
    assert [(f.line, f.code) for f in moved.faults] == [(f.line, f.code) for f in as_it_is.faults]
    assert len(moved.rows) == len(as_it_is.rows)
