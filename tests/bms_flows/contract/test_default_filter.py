"""Tests of the default employee filter."""

import pytest

from bms_flows.contract.default_filter import default_filter

LISTS = {
    "ACTIVE": frozenset({1, 2}),
    "STANDBY": frozenset({3}),
    "FORMER": frozenset({4}),
    "ALL": frozenset({1, 2, 3, 4}),
}


@pytest.mark.parametrize(
    ("before", "after", "value"),
    [
        ({1, 2}, {1, 2}, "ACTIVE"),
        ({1, 2, 3, 4}, {1, 2, 3, 4}, "ALL"),
        ({1, 2}, {1}, None),
        ({1}, {1}, None),
        (set(), set(), None),
        (None, None, None),
    ],
)
def test_the_default_lists_the_same_employees(
    before: set[int] | None, after: set[int] | None, value: str | None
) -> None:
    first, second = (None if each is None else frozenset(each) for each in (before, after))
    assert default_filter(first, second, LISTS).value == value


def test_two_equal_lists_or_a_refused_one_leave_the_default_undetermined() -> None:
    active = LISTS["ACTIVE"]
    assert not default_filter(active, active, LISTS | {"ALL": active}).known
    assert not default_filter(active, active, LISTS | {"FORMER": None}).known
