"""Look-back: the latest days always, open days at growing intervals, all days in rotation."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bms_flows.invoices.lookback import (
    LONGEST_GAP,
    LONGEST_INTERVAL,
    DayState,
    LookbackPlan,
    connected_start,
    join_windows,
    plan_lookback,
)
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY, Window

TODAY = date(2026, 11, 21)
YESTERDAY = Window(TODAY - DAY, TODAY - DAY)


def settings(**given_: int) -> FlowSettings:
    return FlowSettings(**{f"lookback_{name}": each for name, each in given_.items()})  # type: ignore[arg-type]


def ago(days: int) -> date:
    return TODAY - timedelta(days=days)


def looked(day: int, *, read: int = 1, changed: int = 1, open_invoices: int = 1) -> DayState:
    return DayState(ago(day), ago(read), ago(changed), open_invoices)


def finding(day: int, *, read: int, found: int, open_invoices: int = 0) -> DayState:
    return replace(
        looked(day, read=read, changed=found, open_invoices=open_invoices), found_on=ago(found)
    )


def whole(stored: Iterable[DayState]) -> list[DayState]:
    """Add the days between, with nothing open and looked at today."""
    known = {each.day: each for each in stored}
    between = Window(min(known), ago(36)) if known else ()
    return [known.get(day, DayState(day, TODAY, TODAY, 0)) for day in between]


def planned(stored: Iterable[DayState], **given_: int) -> LookbackPlan:
    options = {"days": 35, "budget": 100, "rotation": 10**9, "gap": 0} | given_
    return plan_lookback(YESTERDAY, [*stored], settings(**options), today=TODAY)


def read_days(*stored: DayState) -> list[int]:
    """Days ago that are read beyond the tail."""
    windows = planned(stored).windows
    return [(TODAY - day).days for window in windows for day in window if day < ago(35)]


def test_the_latest_days_are_always_read() -> None:
    assert planned([]).windows == [Window(ago(35), ago(1))]


def test_without_a_look_back_only_the_asked_days_are_read() -> None:
    assert planned([], days=0).windows == [YESTERDAY]


def test_reads_of_an_unchanged_open_day_are_1_2_4_up_to_32_days_apart() -> None:
    changed = date(2026, 1, 1)
    read, looks = changed, list[int]()
    while len(looks) < 8:
        state = DayState(ago(200), read, changed, 1)
        read = next(day for n in range(1, 99) if state.due(changed, day := read + n * DAY))
        looks.append((read - changed).days)
    assert looks == [1, 2, 4, 8, 16, 32, 64, 96]


def test_a_day_without_open_invoices_is_left_to_the_rotation() -> None:
    closed = looked(50, read=20, changed=20, open_invoices=0)
    assert read_days(*whole([closed])) == [50], "one in 10^9, rounded up: the oldest look"
    quieter = looked(60, read=30, changed=30, open_invoices=0)
    assert read_days(*whole([closed, quieter])) == [60]


def test_the_budget_takes_the_longest_unseen_first_and_counts_the_rest() -> None:
    stored = whole(looked(40 + n, read=n, changed=n) for n in range(2, 12))
    found = planned(stored, budget=3)
    older = [window for window in found.windows if window.end < ago(35)]
    assert sum(window.days for window in older) == 3
    assert min(window.start for window in older) == ago(51)
    assert found.over_budget == 7


def test_days_that_no_run_has_read_come_before_open_ones() -> None:
    """The DAG was paused for longer than it looks back."""
    stored = [looked(day, read=20, changed=20) for day in (60, 59, 50)]
    assert read_days(*stored) == [60, 59, *range(58, 50, -1), 50, *range(49, 35, -1)]
    first = planned(stored, budget=9)
    assert [window for window in first.windows if window.end < ago(35)] == [
        Window(ago(60), ago(60)),  # of the rotation
        Window(ago(58), ago(51)),
        Window(ago(49), ago(49)),
    ]
    assert first.over_budget == 13 + 3


def test_days_before_the_first_that_was_ever_read_are_not_due() -> None:
    assert read_days(looked(37, read=1)) == [37, 36]
    assert read_days() == []


def test_a_day_that_is_read_anyway_takes_no_part_of_the_budget() -> None:
    found = planned([looked(35, read=20, changed=20)], budget=0, rotation=1)
    assert (found.windows, found.over_budget) == ([Window(ago(35), ago(1))], 0)


def test_an_open_day_is_read_on_the_day_that_it_is_due() -> None:
    rotated = looked(60, read=5, changed=5, open_invoices=0)
    due_today = looked(50, read=1, changed=1)
    due_tomorrow = looked(40, read=1, changed=3)
    assert read_days(*whole([rotated, due_today, due_tomorrow])) == [60, 50]


def test_the_rotation_leaves_out_days_that_were_read_today() -> None:
    assert read_days(*whole([looked(50, read=0, changed=0, open_invoices=0)])) == []


def test_findings_take_half_of_the_budget_and_then_what_is_left() -> None:
    findings = [finding(100 - n, read=10, found=15) for n in range(6)]
    due = [looked(80 - n, read=20, changed=20) for n in range(4)]
    stored = whole([*findings, finding(70, read=1, found=5, open_invoices=1), *due])
    found = planned(stored, budget=5)
    older = [(TODAY - day).days for each in found.windows for day in each if day < ago(35)]
    assert (older, found.over_budget) == ([100, 99, 80, 79, 78], 5)
    assert planned(stored, budget=20).over_budget == 0


def test_a_day_with_open_invoices_and_a_finding_is_due_once() -> None:
    stored = whole([finding(50, read=10, found=15, open_invoices=1)])
    assert planned(stored, budget=0).over_budget == 1


def test_a_finding_that_reads_did_not_confirm_for_the_longest_interval_is_over() -> None:
    unconfirmed = finding(50, read=40, found=40 + LONGEST_INTERVAL)
    assert not unconfirmed.has_finding
    assert replace(unconfirmed, held=True).has_finding
    assert finding(50, read=40, found=40 + LONGEST_INTERVAL - 1).has_finding
    assert planned(whole([unconfirmed]), budget=0).over_budget == 0


def test_the_longest_gap_is_read_and_a_longer_one_reported() -> None:
    last = looked(36, read=0)
    for length, over in ((LONGEST_GAP, LONGEST_GAP), (LONGEST_GAP + 1, 0)):
        found = planned([last, looked(37 + length, read=0)], budget=0)
        gap = Window(ago(36 + length), ago(37))
        assert (found.over_budget, found.gaps) == (over, [] if over else [gap])
        start = ago(36) if length > LONGEST_GAP else ago(37 + length)
        assert connected_start([ago(36), ago(37 + length)]) == start
    assert connected_start([]) is None


def test_near_days_become_one_request() -> None:
    windows = [Window(ago(50), ago(50)), Window(ago(47), ago(47)), Window(ago(40), ago(40))]
    assert join_windows(windows, gap=2) == [Window(ago(50), ago(47)), Window(ago(40), ago(40))]


@given(
    st.lists(
        st.builds(
            lambda day, read, quiet: DayState(ago(day), ago(read), ago(read + quiet), 1),
            st.integers(36, 2000),
            st.integers(1, 400),
            st.integers(0, 400),
        ),
        unique_by=lambda each: each.day,
        max_size=60,
    )
)
def test_no_open_day_is_unseen_for_longer_than_the_longest_interval(stored: list[DayState]) -> None:
    """Within the budget, a day whose last look is further back than that is always read."""
    found = planned(whole(stored), budget=60, rotation=90, gap=2)
    read = {day for window in found.windows for day in window}
    assert found.over_budget == 0
    assert all(
        each.day in read for each in stored if (TODAY - each.attempted_on).days >= LONGEST_INTERVAL
    )


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 5)), min_size=1), st.integers(0, 9))
def test_joined_windows_cover_the_same_days_and_are_apart(
    given_: list[tuple[int, int]], gap: int
) -> None:
    windows = [Window(ago(start + length), ago(start)) for start, length in given_]
    joined = join_windows(windows, gap)
    covered = {day for window in joined for day in window}
    assert covered >= {day for window in windows for day in window}
    assert all((after.start - before.end).days > gap + 1 for before, after in pairwise(joined))
