"""Comparison of rows: persistent, pending and resolved differences."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from bms_flows.audit.compare import (
    Comparison,
    Key,
    StoredRow,
    compare_with_warehouse,
    differences_by_key,
    digest,
    persistent_differences,
    repeated,
    still_open,
)
from bms_flows.audit.lists import ListedRows, planned

A, B, C = b"a", b"b", b"c"
LOADED = datetime(2026, 3, 31, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize("readings", [1, 2])
def test_a_difference_persists_if_neither_side_changed(readings: int) -> None:
    one: dict[Key, bytes] = {1: A, 2: A, 3: C}
    other: dict[Key, bytes] = {1: B, 3: C}
    assert persistent_differences([one] * readings, [other] * readings) == {1, 2}


def test_rows_that_changed_between_two_readings_are_no_persistent_difference() -> None:
    came = persistent_differences([{}, {1: A}], [{1: A}, {1: A}])
    went = persistent_differences([{1: A}, {1: A}], [{1: A}, {}])
    changed = persistent_differences([{1: A}, {1: B}], [{1: B}, {1: B}])
    changed_twice = persistent_differences([{1: A}, {1: B}], [{1: B}, {1: C}])
    assert came | went | changed | changed_twice == set()


def compared(
    listed: dict[Key, bytes | None],
    held: dict[Key, StoredRow],
    seen: Comparison | None = None,
    quarantined: Collection[Key] = (),
    loaded_at: datetime = LOADED,
) -> Comparison:
    comparison = Comparison()
    marks = differences_by_key([seen.rows]) if seen else {}
    now = loaded_at + HOUR
    compare_with_warehouse(
        comparison, {*listed, *held}, listed, held, quarantined, marks, loaded_at=loaded_at, now=now
    )
    return comparison


def test_a_difference_that_outlives_a_load_is_a_fault() -> None:
    first = compared({1: A, 2: B}, {1: StoredRow(B, 4)})
    assert first.pending == {"rows_differ": 1, "rows_missing": 1}
    assert first.state == "pending"
    not_later = compared({1: A, 2: B}, {1: StoredRow(B, 4)}, first, loaded_at=LOADED + HOUR)
    assert not_later.found == {}
    later = LOADED + 2 * HOUR
    again = compared({1: A, 2: B}, {1: StoredRow(B, 4)}, first, loaded_at=later)
    assert (again.found, again.pending) == ({"warehouse_differs": 2}, {})
    still = compared({1: A, 2: B}, {1: StoredRow(B, 4)}, again, loaded_at=later)
    assert still.found == {"warehouse_differs": 2}  # another audit before the next load
    changed = compared(
        {1: C, 2: B}, {1: StoredRow(B, 4), 2: StoredRow(B, 1)}, first, loaded_at=later
    )
    assert (changed.found, changed.pending) == ({}, {"rows_differ": 1})
    loaded = compared({1: A, 2: C}, {1: StoredRow(B, 5)}, first, loaded_at=later)
    assert (loaded.found, loaded.pending) == ({}, {"rows_differ": 1, "rows_missing": 1})
    assert repeated([1, 2, 1]) == {1}


def test_only_the_values_of_a_row_decide_its_digest() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})


def test_a_load_resolves_the_differences_that_it_repaired_or_changed() -> None:
    listed: dict[Key, bytes | None] = {1: A, 2: B, 3: C, 5: None}
    held: dict[Key, StoredRow] = {1: StoredRow(B, 4), 3: StoredRow(A, 1), 4: StoredRow(A, 1)}
    rows = compared(listed, held, quarantined={5}).rows
    assert still_open(rows, held, {5}) == rows
    after: dict[Key, StoredRow] = {
        1: StoredRow(A, 5),
        2: StoredRow(B, 1),
        3: StoredRow(B, 2),
        4: StoredRow(A, 2, gone="missing"),
    }
    assert still_open(rows, after, {}) == {}
    listed_again = compared({6: A}, {6: StoredRow(A, 3, gone="missing")}).rows
    assert still_open(listed_again, {6: StoredRow(A, 3)}, {}) == {}
    assert still_open({"detail_differs": {1: None}}, after, {}) == {"detail_differs": {1: None}}


def test_an_unstorable_row_is_quarantined_or_missing() -> None:
    mixed = compared({1: None, 2: A}, {}, quarantined={1})
    assert mixed.pending == {"quarantined": 1, "rows_missing": 1}
    assert compared({1: None}, {1: StoredRow(A, 1)}, quarantined={1}).pending == {"quarantined": 1}
    assert compared({1: None}, {}).pending == {"rows_missing": 1}
    assert compared({1: None}, {1: StoredRow(A, 1)}).pending == {"rows_differ": 1}
    assert differences_by_key([compared({1: None}, {}, quarantined={1}).rows]) == {}


def test_faults_precede_failed_comparisons_in_the_state_of_a_day() -> None:
    comparison = Comparison()
    assert (comparison.state, comparison.reasons) == ("reconciled", [])
    comparison.not_compared.add("budget_spent")
    assert comparison.state == "not_checked"
    comparison.add("quarantined", 1)
    assert comparison.state == "pending"
    comparison.add("doubled", 1)
    assert (comparison.state, comparison.reasons) == (
        "not_reconciled",
        ["budget_spent", "doubled", "quarantined"],
    )


def test_a_mirror_may_contain_removed_rows() -> None:
    held: dict[Key, StoredRow] = {
        1: StoredRow(A, 1),
        2: StoredRow(B, 7, gone="flagged"),
        4: StoredRow(C, 1, gone="missing"),
    }
    assert compared({1: A, 2: B}, held).pending == {}


def test_a_mirror_with_a_missing_extra_or_unflagged_row_differs() -> None:
    missing = StoredRow(B, 1, gone="missing")
    held: dict[Key, StoredRow] = {0: StoredRow(A, 1), 2: missing, 4: StoredRow(C, 1)}
    first = compared({0: A, 1: A, 2: B}, held)
    assert first.pending == {"rows_missing": 2, "rows_extra": 1}
    later = LOADED + 2 * HOUR
    again = compared({0: A, 1: A, 2: B}, held, first, loaded_at=later)
    assert again.found == {"warehouse_differs": 3}
    assert still_open(again.rows, {}, {}) == again.rows, "a later audit decides"


def page(rows: int, total_pages: int) -> ListedRows:
    return ListedRows(dict.fromkeys(range(rows), A), received=rows, totals={total_pages})


def test_a_short_list_is_read_whole_on_pages_of_both_sizes() -> None:
    plan = planned(100, [page(100, 3), page(50, 5)], 11, lambda parts: parts)
    assert (len(plan.large), len(plan.small), plan.whole) == (3, 5, True)


def one_part(part: int, _parts: int) -> int:
    return part


def test_a_long_list_is_read_in_parts_that_cover_it() -> None:
    plans = [
        planned(100, [page(100, 10), page(50, 19)], 11, partial(one_part, part))
        for part in range(1, 5)
    ]
    assert [number for plan in plans for number, _ in plan.large] == [*range(1, 11)]
    assert [number for plan in plans for number, _ in plan.small] == [*range(1, 20)]
    assert {(plan.parts, plan.whole) for plan in plans} == {(4, False)}


def first_part(_: int) -> int:
    return 1


@pytest.mark.parametrize(
    ("large", "small", "compared"),
    [
        (page(100, 12), page(50, 24), True),
        (page(100, 12), page(49, 24), True),  # a row is missing there, which the comparison finds
        (page(30, 40), page(30, 40), False),
        (page(100, 12), page(100, 12), False),
        (page(100, 12), page(25, 48), False),
    ],
)
def test_pages_of_other_sizes_than_requested_are_not_compared_with_each_other(
    large: ListedRows, small: ListedRows, compared: bool
) -> None:
    plan = planned(100, [large, small], 11, first_part)
    assert (len(plan.large), bool(plan.small)) == (3, compared)
