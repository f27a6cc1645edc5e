"""Which differences stand after a second look: the law of the self-audit, without a service."""

from datetime import UTC, datetime

from bms_flows.reconcile.compare import Tally, doubled, judged, mark, standing
from bms_flows.reconcile.lists import Listed, against_mirror, planned
from bms_flows.reconcile.warehouse import Held, Word

A, B, C = b"a", b"b", b"c"
NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)
LATER = datetime(2026, 3, 31, 13, tzinfo=UTC)


def test_a_difference_stands_where_neither_side_changed() -> None:
    assert standing([{1: A, 2: A}, {1: A, 2: A}], [{1: B}, {1: B}]) == {1, 2}


def test_what_came_went_or_changed_between_two_readings_does_not_stand() -> None:
    came = standing([{}, {1: A}], [{1: A}, {1: A}])
    went = standing([{1: A}, {1: A}], [{1: A}, {}])
    changed = standing([{1: A}, {1: B}], [{1: B}, {1: B}])
    changed_twice = standing([{1: A}, {1: B}], [{1: B}, {1: C}])
    assert came | went | changed | changed_twice == set()


def test_a_difference_from_the_warehouse_counts_once_it_outlived_a_read() -> None:
    marks = {1: mark(1, A, 4), 2: mark(2, B, 1)}
    assert judged(marks, [marks[1]], read_since=True) == {1}
    assert judged(marks, [marks[1]], read_since=False) == set()
    assert judged({1: mark(1, C, 4)}, [marks[1]], read_since=True) == set()  # changed again
    assert judged({1: mark(1, A, 5)}, [marks[1]], read_since=True) == set()  # loaded since
    assert doubled([1, 2, 1]) == {1}


def test_a_day_is_not_reconciled_before_it_is_not_checked() -> None:
    tally = Tally()
    assert (tally.state, tally.because) == ("reconciled", [])
    tally.unasked.add("budget_spent")
    assert tally.state == "not_checked"
    tally.found["doubled"] += 1
    assert (tally.state, tally.because) == ("not_reconciled", ["budget_spent", "doubled"])


def mirrored(held: dict[int | str, Held], word: Word | None, *, whole: bool = True) -> Tally:
    tally = Tally()
    listed = {1: A, 2: B, 3: None}
    against_mirror(tally, listed, held, word, whole=whole, read_at=LATER)
    return tally


def test_a_mirror_may_hold_what_is_gone_and_lack_what_no_table_can_hold() -> None:
    held: dict[int | str, Held] = {
        1: Held(A, 1),
        2: Held(B, 7, gone="flagged"),
        4: Held(C, 1, gone="vanished"),
    }
    assert mirrored(held, None).changed == 0


def test_a_mirror_that_lacks_keeps_or_forgets_to_flag_a_row_differs() -> None:
    held: dict[int | str, Held] = {2: Held(B, 1, gone="vanished"), 4: Held(C, 1)}
    first = mirrored(held, None)
    assert (first.changed, len(first.waiting), first.state) == (3, 3, "reconciled")
    again = mirrored(held, Word(NOON, sorted(first.waiting)))
    assert again.found == {"warehouse_differs": 3}
    assert mirrored(held, Word(NOON, sorted(first.waiting)), whole=False).found == {
        "warehouse_differs": 2
    }


def page(rows: int, total_pages: int) -> Listed:
    return Listed({}, dict.fromkeys(range(rows), A), frozenset(), {}, total_pages)


def test_a_short_list_is_read_whole_on_pages_of_both_sizes() -> None:
    plan = planned(100, [page(100, 3), page(50, 5)], most=11, turn=7)
    assert (len(plan.large), len(plan.small), plan.whole) == (3, 5, True)


def test_a_long_list_is_read_in_parts_that_cover_it_in_turn() -> None:
    plans = [planned(100, [page(100, 10), page(50, 19)], most=11, turn=turn) for turn in range(4)]
    assert [number for plan in plans for number, _ in plan.large] == [*range(1, 11)]
    assert [number for plan in plans for number, _ in plan.small] == [*range(1, 20)]


def test_pages_that_are_cut_to_one_size_are_not_held_against_each_other() -> None:
    plan = planned(100, [page(30, 40), page(30, 40)], most=11, turn=0)
    assert (len(plan.large), plan.small) == (3, [])
