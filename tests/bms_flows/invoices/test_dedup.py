"""The deduplication index finds every id that was added before."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bms_flows.invoices.dedup import MAX_DISJOINT, DedupIndex


def test_those_that_came_before_are_found_among_others() -> None:
    seen = DedupIndex()
    seen.add([10, 30, 20])
    seen.add([5, 25])
    assert seen.known([1, 5, 15, 20, 25, 99]) == {5, 20, 25}


def test_nothing_is_found_among_nothing_nor_before_anything_came() -> None:
    seen = DedupIndex()
    assert seen.known([1]) == set()
    seen.add([])
    seen.add([1])
    assert seen.known([]) == set()


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
