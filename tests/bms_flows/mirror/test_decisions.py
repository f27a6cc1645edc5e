"""Decisions of a mirror run: details to read, missing rows, limits of removals."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from bms_flows.mirror.decisions import (
    MirrorRow,
    Rotation,
    details_to_confirm,
    details_to_read,
    exceeds_limit,
    in_rotation,
    missing_rows,
    newly_missing,
    ring_position,
    rows_with_flag,
)
from bms_flows.mirror.flags import FlagList
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.list_reader import ListReader

THERE = MirrorRow(b"", detailed=True, removal=None, flags=(True,))
GONE = replace(THERE, removal="missing")


def runs_of(
    rotation: int, keys: Callable[[int], set[Key]], budget: int, runs: int
) -> list[list[Key]]:
    """Return the rows whose details each run of a rotation reads, given the rows of each run."""
    read: list[list[Key]] = []
    reached: dict[str, Any] = {}
    for turn in range(runs):
        now = Rotation(rotation, turn, reached.get("reached"))
        read.append(
            details_to_read(changed=[], incomplete=[], due=now.due(keys(turn)), budget=budget)[2]
        )
        reached = now.after([], read[-1])
    return read


@pytest.mark.parametrize(
    ("rotation", "budget", "runs"),
    [(7, 1_000, 7), (7, 40, 25), (100, 1_000, 100), (4_000, 1, 4_000)],
)
def test_a_rotation_reads_every_detail_once(rotation: int, budget: int, runs: int) -> None:
    """A small budget extends the rotation: 1,000 rows at 40 per run are 25 runs."""
    keys: set[Key] = {*range(1_000)}
    read = runs_of(rotation, lambda _: keys, budget, 3 * runs)
    for start in (0, 1, runs // 2, 2 * runs):
        assert sorted(key for each in read[start : start + runs] for key in each) == [*range(1_000)]
    assert max(map(len, read)) - min(map(len, read)) <= 1


def test_new_and_removed_rows_do_not_change_the_rotation_of_other_rows() -> None:
    chance = Random(5)
    stay: set[Key] = {*range(200)}
    others = [{*chance.sample(range(200, 400), 100)} for _ in range(120)]
    read = runs_of(10, lambda turn: stay | others[turn], 25, 120)
    for start in range(120 - 13):  # 300 rows by 25 are 12 runs, one more for the new rows
        assert stay <= {key for each in read[start : start + 13] for key in each}


def test_changed_rows_precede_due_rows_without_repetition() -> None:
    chosen = details_to_read(changed=[1, 2], incomplete=[3, 1], due=[4, 5], budget=4)
    assert chosen == ([1, 2], [3], [4])
    assert details_to_read(changed=[1, 2], incomplete=[3], due=[4], budget=2) == ([1, 2], [], [])


@pytest.mark.parametrize(
    ("incomplete", "due", "read"),
    [(10, 10, (3, 2)), (10, 1, (4, 1)), (1, 10, (1, 4)), (10, 0, (5, 0)), (0, 0, (0, 0))],
)
def test_rows_without_a_detail_and_due_rows_share_what_changed_rows_leave(
    incomplete: int, due: int, read: tuple[int, int]
) -> None:
    _, again, rest = details_to_read(
        changed=[-1, -2, -3], incomplete=[*range(incomplete)], due=[*range(50, 50 + due)], budget=8
    )
    assert (len(again), len(rest)) == read


def test_details_that_stay_invalid_are_read_in_turn() -> None:
    invalid, read, retried = {*range(10)}, list[Key](), None
    for turn in range(5):
        now = Rotation(2, turn, None, retried)
        _, again, _ = details_to_read(
            changed=[], incomplete=now.in_turn(invalid), due=[*range(50, 60)], budget=8
        )
        read += again
        retried = now.after(again, [])["retried"]
    assert sorted(read) == sorted([*invalid] * 2)


def test_due_rows_beyond_the_budget_are_first_in_the_next_run() -> None:
    keys: set[Key] = {*range(10)}
    due = Rotation(2, 1).due(keys)
    after = Rotation(2, 1).after([], due[:2])
    assert after == {"turn": 1, "reached": ring_position(due[1]), "retried": None}
    reached = after["reached"]
    assert Rotation(2, 2, reached).due(keys)[:3] == due[2:]
    assert Rotation(2, 1, "ab").after([], [])["reached"] == "ab"


def test_the_next_run_continues_after_the_last_row_of_either_reading() -> None:
    assert Rotation(2, 1, "ab", "cd").after([5, 7, 1], [9, 8, 3]) == {
        "turn": 1,
        "reached": ring_position(3),
        "retried": ring_position(1),
    }
    assert Rotation(2, 1, "ab", "cd").after([], []) == {
        "turn": 1,
        "reached": "ab",
        "retried": "cd",
    }


@pytest.mark.parametrize(
    ("row", "listed"),
    [
        (replace(THERE, scope=7), True),
        (replace(THERE, scope=8), False),
        (replace(THERE, scope=7, list_hash=None), False),
        (replace(GONE, scope=7), False),
    ],
)
def test_a_current_row_with_a_list_hash_is_listed_by_the_entity_of_its_scope(
    row: MirrorRow, listed: bool
) -> None:
    assert row.is_listed_by({6, 7}) == listed


def test_missing_rows_are_the_current_unseen_rows_of_the_scope() -> None:
    known: dict[Key, MirrorRow] = {1: THERE, 2: THERE, 3: GONE, 4: replace(THERE, scope=7)}
    assert missing_rows(known, {1}, None) == [2]
    assert missing_rows(known, {1}, 7) == [4]


def test_current_and_flagged_rows_with_a_detail_are_in_rotation() -> None:
    known: dict[Key, MirrorRow] = {
        1: THERE,
        2: GONE,
        3: replace(THERE, detailed=False),
        4: replace(THERE, scope=7),
        5: replace(THERE, removal="flagged"),
    }
    assert in_rotation(known, None) == [1, 5]
    assert in_rotation(known, 7) == [4]


def test_the_ring_position_of_a_row_is_stable_across_releases() -> None:
    """A run stores the reached position, from which the next run continues."""
    assert ring_position(1001) == "41cf3c54b6edb00d"
    assert ring_position("1001") == ring_position(1001)


UNLISTED = replace(THERE, list_hash=None)
UNREAD = replace(UNLISTED, detailed=False)


def test_missing_rows_are_confirmed_at_once_or_in_rotation() -> None:
    known: dict[Key, MirrorRow] = {1: THERE, 2: UNLISTED, 3: UNREAD}
    assert newly_missing(known, [1, 2, 3]) == [1]
    assert details_to_confirm(known, [1, 2, 3], rotates=False) == [1, 2, 3]
    assert details_to_confirm(known, [1, 2, 3], rotates=True) == [1, 3]


@pytest.mark.parametrize(
    ("gone", "present", "asks"),
    [(10, 20, False), (11, 20, True), (50, 1000, False), (51, 1000, True)],
)
def test_removals_beyond_a_count_and_a_share_exceed_the_limit(
    gone: int, present: int, asks: bool
) -> None:
    assert exceeds_limit(gone, present, rows=10, percent=5) == asks


def test_a_flag_stays_while_its_list_is_not_proven() -> None:
    known: dict[Key, MirrorRow] = {1: THERE, 2: THERE, 4: GONE}
    flag = FlagList(ListReader(never, never, 10), rows_with_flag(known, 0), seen={1, 3})
    assert [flag(key) for key in (1, 2, 3, 4)] == [True, True, True, False]
    flag.proven = True
    assert [flag(key) for key in (1, 2, 3, 4)] == [True, False, True, False]


async def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing is read")
