"""Lists that change during the read, simulated: no row is missed once passes agree."""

import asyncio
from random import Random
from typing import Any

import pytest

from bms.errors import NotFound
from bms.responses import Page
from bms_flows.runtime.coverage import Coverage, Segment, page_across
from bms_flows.runtime.list_reader import FetchPage, ListReader
from proofs.simulation.moving_list import LISTS, MovingList, read, take

ORDERS = ("id", "id_desc", "name", "modified_on", "modified_on_desc")


async def once(fetch: FetchPage) -> ListReader:
    """Read a list with pages of ten rows."""
    reading = ListReader(fetch, take, 10)
    await reading.until_agreed(3)
    return reading


def segment(keys: str, start: int = 0, *, first: bool = False, last: bool = False) -> Segment:
    return Segment([(ord(key), b"") for key in keys], start, first=first, last=last)


def test_segments_that_share_rows_cover_a_list_in_any_order() -> None:
    coverage = Coverage()
    for each in (segment("EFG", 4, last=True), segment("ABC", first=True), segment("CDE", 2)):
        assert not coverage.complete
        coverage.add(each)
    assert coverage.complete


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        (
            [segment("ABC", first=True), segment("DEF", 3, last=True)],
            {"complete": False, "gap": 3, "edited": False},
        ),
        (
            [
                Segment([(1, b"a"), (2, b"a")], 0, first=True),
                Segment([(2, b"b"), (3, b"a")], 2, last=True),
            ],
            {"complete": False, "edited": True},
        ),
        (
            [segment("ABC", first=True), segment("CBD", 2, last=True)],
            {"complete": False, "disordered": True},
        ),
        (
            [segment("ABC", first=True), segment("BBC", 1), segment("ABCA", first=True)],
            {"disordered": False},
        ),
        ([segment("", first=True, last=True)], {"complete": True}),
    ],
    ids=["pages side by side", "an edited row", "two orders", "a repeated row", "an empty list"],
)
def test_only_pages_that_share_unedited_rows_in_one_order_cover_a_list(
    segments: list[Segment], expected: dict[str, Any]
) -> None:
    coverage = Coverage()
    for each in segments:
        coverage.add(each)
    assert {name: getattr(coverage, name) for name in expected} == expected


def test_add_returns_the_number_of_new_rows() -> None:
    coverage = Coverage()
    assert coverage.add(segment("ABAC", first=True)) == 3
    assert not coverage.edited | coverage.disordered
    coverage = Coverage()
    assert not coverage.edited
    assert coverage.add(segment("ABC", first=True)) == 3
    assert coverage.add(segment("BCD", 1)) == 1
    assert coverage.add(segment("ABC", first=True)) == 0
    assert not coverage.edited
    assert coverage.add(Segment([(ord("A"), b"edited"), (ord("B"), b"")], 0)) == 1
    assert coverage.edited


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 10, 23, 100])
def test_the_largest_page_is_chosen_that_holds_a_place_well_inside(size: int) -> None:
    """No page is smaller than half of the size; without a good one it is the page of that size."""
    for position in range(6 * size):
        good = [
            (position // each + 1, each)
            for each in range(size // 2 + 1, size + 1)
            if each // 4 <= position % each <= each - each // 4
        ]
        assert page_across(position, size) == (good[-1] if good else (position // size + 1, size))


@pytest.mark.parametrize("runs", [1_250, pytest.param(5_000, marks=pytest.mark.prove)])
def test_nothing_that_stayed_is_missed_in_shifted_passes(runs: int) -> None:
    """In each of its passes, 1 % or more of the rows come, go and are edited, in every order."""
    passes = agreed = shifted = 0

    async def run(seed: int) -> None:
        nonlocal passes, agreed, shifted
        random = Random(seed)
        chance = random.choice((0.02, 0.1, 0.3))
        moving = MovingList(
            random,
            rows=random.randrange(60, 140),
            order=ORDERS[seed % len(ORDERS)],
            inserted=chance,
            deleted=chance,
            edited=chance,
            past_end=random.choice(("empty", "not_found", "last_page")),
        )
        reading, seen = await read(moving, size=10)
        passes += len(reading.passes)
        shifted += not reading.calm
        if reading.agreed:
            agreed += 1
            assert moving.stayed <= seen, f"seed {seed}"

    async def all_runs() -> None:
        for seed in range(runs):
            await run(seed)

    asyncio.run(all_runs())
    assert passes >= 2 * runs
    assert shifted > 0.6 * runs
    assert agreed > 0.8 * runs


def test_a_page_refused_past_an_end_that_comes_back_ends_the_reading_well() -> None:
    """The list is shorter while its last page is asked for, and long again just after."""
    moving = MovingList(Random(1), rows=100)
    refused: list[int] = []

    async def fetch(number: int, size: int) -> Page[Any]:
        if number == 10 and len(refused) < 2:
            refused.append(number)
            raise NotFound(LISTS, "no such page", status=404)
        return await moving.fetch(number, size)

    reading = asyncio.run(once(fetch))
    assert len(refused) == 2
    assert reading.agreed
    assert reading.coverage.complete


def test_a_page_that_is_always_refused_leaves_the_reading_without_agreement() -> None:
    moving = MovingList(Random(1), rows=100)

    async def fetch(number: int, size: int) -> Page[Any]:
        if number > 1 and (number - 1) * size <= 55 < number * size:
            raise NotFound(LISTS, "no such page", status=404)
        return await moving.fetch(number, size)

    assert not asyncio.run(once(fetch)).agreed


@pytest.mark.parametrize("seeds", [3, pytest.param(10, marks=pytest.mark.prove)])
@pytest.mark.parametrize("order", ORDERS)
def test_a_list_of_some_pages_costs_two_passes_and_a_tenth(order: str, seeds: int) -> None:
    """At 1 % of the rows moving in a pass, edits and all."""
    spent = []
    for seed in range(seeds):
        moving = MovingList(
            Random(seed), rows=6_000, order=order, inserted=0.33, deleted=0.33, edited=0.33
        )
        reading, seen = asyncio.run(read(moving, size=100))
        assert reading.agreed
        assert moving.stayed <= seen
        spent.append(reading.calls / reading.longest_pass)
    assert max(spent) <= 2.2


@pytest.mark.parametrize("chance", [0.0, 0.1])
def test_a_list_without_an_order_agrees_only_if_two_passes_are_equal(chance: float) -> None:
    for seed in range(50):
        moving = MovingList(Random(seed), order="none", deleted=chance)
        reading, seen = asyncio.run(read(moving))
        assert not reading.agreed or moving.stayed <= seen


def test_a_service_with_a_fixed_page_size_agrees_if_no_row_changes() -> None:
    reading, seen = asyncio.run(read(moving := MovingList(Random(1), fixed_size=7)))
    assert reading.agreed
    assert seen == moving.stayed
