"""Which details, who is gone, when to ask: pure."""

import pytest
from msgspec.structs import replace

from bms_flows.mirror.coverage import Key
from bms_flows.mirror.decisions import (
    Known,
    Rotation,
    absent,
    details_to_read,
    members,
    too_many,
)

THERE = Known(b"", detailed=True, gone=None, flags=(True,))
GONE = replace(THERE, gone="vanished")


def test_every_detail_has_its_turn_once_in_a_rotation() -> None:
    keys = range(1_000)
    turns = [[key for key in keys if Rotation(7, turn).due(key)] for turn in range(100, 107)]
    assert sorted(key for turn in turns for key in turn) == list(keys)
    assert max(map(len, turns)) < 2 * 1_000 / 7


def test_changed_rows_come_before_those_whose_turn_it_is_and_each_once() -> None:
    chosen = details_to_read(changed=[1, 2], incomplete=[3, 1], due=[2, 4, 5], budget=4)
    assert chosen == [1, 2, 3, 4]


def test_gone_are_those_present_so_far_in_this_scope_and_not_seen() -> None:
    known: dict[Key, Known] = {1: THERE, 2: THERE, 3: GONE, 4: replace(THERE, scope=7)}
    assert absent(known, {1}, None) == [2]
    assert absent(known, {1}, 7) == [4]


@pytest.mark.parametrize(
    ("gone", "present", "asks"),
    [(10, 20, False), (11, 20, True), (50, 1000, False), (51, 1000, True)],
)
def test_beyond_a_count_and_a_share_a_person_is_asked(gone: int, present: int, asks: bool) -> None:
    assert too_many(gone, present, rows=10, percent=5) == asks


def test_a_flag_stays_where_its_list_cannot_be_believed() -> None:
    known: dict[Key, Known] = {1: THERE, 2: THERE}
    assert members(known, 0, {1, 3}, believed=True) == {1, 3}
    assert members(known, 0, {1, 3}, believed=False) == {1, 2, 3}
