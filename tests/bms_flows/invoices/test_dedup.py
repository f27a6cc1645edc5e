"""The deduplication index finds every id that was added before."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bms_flows.invoices.dedup import MAX_DISJOINT, DedupIndex


def test_ids_beyond_64_bits_are_left_out() -> None:
    seen = DedupIndex()
    seen.add([2**63, 2**63 - 1, -(2**63), -(2**63) - 1])
    assert seen.known([2**63, 2**63 - 1, -(2**63), -(2**63) - 1]) == {2**63 - 1, -(2**63)}


def arrays(*portions: list[int]) -> list[list[int]]:
    """Return the sorted arrays of an index to which portions were added."""
    seen = DedupIndex()
    for portion in portions:
        seen.add(portion)
    return [each.tolist() for each in seen._sorted]


@pytest.mark.parametrize("order", [1, -1])
def test_portions_in_separate_ranges_stay_separate_up_to_a_number(order: int) -> None:
    portions = [[2 * n, 2 * n + 1] for n in range(MAX_DISJOINT + 1)][::order]
    assert arrays(*portions[:-1]) == portions[:-1]
    assert arrays(*portions) == [[*range(2 * len(portions))]]


def test_portions_that_share_an_id_are_merged() -> None:
    assert arrays([1, 2], [2, 3]) == [[1, 2, 2, 3]]
    assert arrays([2, 3], [1, 2]) == [[1, 2, 2, 3]]
    assert arrays([3, 1], [2]) == [[1, 3], [2]]


def test_an_array_is_merged_if_it_is_less_than_twice_as_long() -> None:
    assert arrays([1, 2, 9], [3, 4]) == [[1, 2, 3, 4, 9]]
    assert arrays([1, 2, 8, 9], [3, 4]) == [[1, 2, 8, 9], [3, 4]]
    assert arrays([1, 2, 7, 8, 9], [3, 4]) == [[1, 2, 7, 8, 9], [3, 4]]
    assert arrays([1, 2, 3, 4, 9], [5, 6], [6, 7]) == [[1, 2, 3, 4, 5, 6, 6, 7, 9]]


@given(st.lists(st.lists(st.integers(-50, 50) | st.integers(-(2**63), 2**63 - 1), max_size=9)))
def test_it_is_a_set_whatever_the_order(portions: list[list[int]]) -> None:
    seen, expected = DedupIndex(), set[int]()
    for portion in portions:
        assert seen.known(portion) == expected.intersection(portion)
        seen.add(portion)
        expected.update(portion)
    assert seen.known(expected) == expected


@pytest.mark.parametrize("order", ["ascending", "shuffled", "two ranges in turns"])
def test_identifiers_are_moved_a_few_times_only(order: str) -> None:
    """Few arrays are searched for each portion, and their lengths at least double."""
    draws = random.Random(3)
    ids = [*range(200_000)]
    if order == "shuffled":
        draws.shuffle(ids)
    elif order != "ascending":
        ids = [n + 10**9 * (n // 1_000 % 2) for n in ids]
    seen = DedupIndex()
    for start in range(0, len(ids), 1_000):
        seen.add(ids[start : start + 1_000])
        assert len(seen._sorted) <= MAX_DISJOINT + math.log2(len(ids))
    if order == "shuffled":
        lengths = [len(each) for each in seen._sorted]
        assert all(longer >= 2 * shorter for longer, shorter in pairwise(lengths))
    assert sum(map(len, seen._sorted)) == len(ids)
