"""New rows of a list: they are found at its end with few requests."""

import asyncio
from copy import copy
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal

import pytest

from bms.endpoints import BY_NAME
from bms.errors import Forbidden, Refused
from bms.records import ContactItem
from bms.responses import Page
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.list_reader import FetchPage, ListReader
from bms_flows.runtime.list_snapshot import KeyedRows, ListOrder, ListSnapshot
from bms_flows.runtime.new_rows import new_rows

LISTS = BY_NAME["list_contacts"]
ORDERS = {
    "id": lambda item: item.id,
    "id_desc": lambda item: -item.id,
    "created_on": lambda item: item.created_on,
    "modified_on_desc": lambda item: -int(item.modified_on),
    "name": lambda item: item.last_name,
}
KNOWN_ORDERS = [order for order in ORDERS if order != "name"]


@dataclass
class Crm:
    """A service's list of contacts; ids grow unless `ids` sets another order."""

    order: str = "id"
    page_size_max: int = 0
    refuses: bool = False
    announces: Literal["given", "asked", "rounded down"] = "given"
    """Of what `total_pages` is computed: pages as given, as asked for, or full pages only."""
    largest: int = 10
    past_end: str = "empty"
    items: dict[int, ContactItem] = field(default_factory=dict)
    calls: int = 0
    clock: int = 1_000_000
    random: Random = field(default_factory=lambda: Random(7))

    def add(self, number: int | None = None) -> int:
        number = max(self.items, default=0) + 3 if number is None else number
        self.clock += 1
        self.items[number] = ContactItem(
            id=number,
            last_name=f"{self.random.random():.9f}",
            email=f"{number}@x.example",
            created_on=str(self.clock),
            modified_on=str(self.clock),
        )
        return number

    def edit(self, number: int) -> None:
        self.clock += 1
        changed = {"email": f"{self.clock}@x.example", "modified_on": str(self.clock)}
        item = self.items[number]
        for name, value in changed.items():
            setattr(item, name, value)

    async def fetch(self, number: int, size: int) -> Page[Any]:
        self.calls += 1
        asked = size
        if self.page_size_max and size > self.page_size_max:
            if self.refuses:
                raise Refused(LISTS, "page_size", status=422)
            size = self.page_size_max
        listed = sorted(self.items.values(), key=ORDERS[self.order])
        pages = -(-len(listed) // size)
        announced = {
            "given": pages,
            "asked": -(-len(listed) // asked),
            "rounded down": len(listed) // size,
        }[self.announces]
        if number > max(pages, 1):
            if self.past_end == "refused":
                raise Refused(LISTS, "no such page", status=404)
            if self.past_end == "last_page":
                number = pages
        return Page(
            endpoint=LISTS,
            records=[copy(item) for item in listed[(number - 1) * size : number * size]],
            body=b"",
            number=number,
            size=size,
            total_pages=announced,
        )

    async def whole(self) -> ListSnapshot:
        return await whole(self.fetch, self.largest)

    async def new(self, before: ListSnapshot) -> dict[Key, str] | None:
        return await new_rows(self.fetch, take, before)


async def whole(fetch: FetchPage, largest: int) -> ListSnapshot:
    """Read the whole list; return its rows, and where it shows new rows."""
    order, rows = ListOrder(), dict[Key, str]()

    async def note(page: Page[Any]) -> KeyedRows:
        order.note(page)
        taken = await take(page)
        rows.update(taken)
        return taken

    reader = ListReader(fetch, note, 10, largest=largest)
    await reader.until_agreed(3)
    assert reader.agreed
    return ListSnapshot(rows, reader.passes[0].page_size, order.newest)


async def take(page: Page[Any]) -> KeyedRows:
    """Return the e-mail address of each row, which every edit changes."""
    return [(item.id, item.email) for item in page]


def filled(rows: int = 45, **given: Any) -> Crm:
    crm = Crm(**given)
    for _ in range(rows):
        crm.add()
    return crm


@pytest.mark.parametrize("order", KNOWN_ORDERS)
async def test_two_requests_show_that_a_list_has_no_new_records(order: str) -> None:
    crm = filled(order=order)
    state = await crm.whole()
    crm.calls = 0
    assert await crm.new(state) == {}
    ends = 2 if order.endswith("desc") else 1
    assert crm.calls == 2 * ends


@pytest.mark.parametrize("order", KNOWN_ORDERS)
@pytest.mark.parametrize("new", [1, 7, 35])
async def test_new_records_at_the_end_of_the_list_are_found(order: str, new: int) -> None:
    crm = filled(order=order)
    state = await crm.whole()
    numbers = {crm.add() for _ in range(new)}
    crm.calls = 0
    found = await crm.new(state)
    assert found is not None
    assert found.keys() == numbers
    assert crm.calls <= 2 * (new // 10 + 5)
    assert await crm.new(replace(state, rows=state.rows | found)) == {}


@pytest.mark.parametrize("order", ORDERS)
async def test_an_unexplained_count_requires_a_complete_read(order: str) -> None:
    crm = filled(order=order)
    state = await crm.whole()
    del crm.items[crm.random.choice(sorted(crm.items))]
    assert await crm.new(state) is None
    crm.add()
    assert await crm.new(state) is None


@pytest.mark.parametrize("order", ["id", "id_desc", "name"])
async def test_a_list_of_one_page_needs_one_request(order: str) -> None:
    crm = filled(8, order=order)
    state = await crm.whole()
    number = crm.add()
    del crm.items[min(crm.items)]
    assert await crm.new(state) is None, "one came and one went"
    crm = filled(8, order=order)
    state = await crm.whole()
    number = crm.add()
    crm.calls = 0
    assert (await crm.new(state) or {}).keys() == {number}
    assert crm.calls == 2


async def test_edited_records_at_the_end_of_the_list_are_found_in_their_current_state() -> None:
    crm = filled()
    state = await crm.whole()
    newest = max(crm.items)
    crm.edit(newest)
    assert await crm.new(state) == {newest: crm.items[newest].email}


async def test_ids_reused_by_a_restored_service_are_recognized_as_other_records() -> None:
    crm = filled()
    state = await crm.whole()
    reused = sorted(crm.items)[-25:]
    for number in reused:
        del crm.items[number]
    for number in reused:
        crm.add(number)
        crm.edit(number)
    assert (await crm.new(state) or {}).keys() == {*reused}


@pytest.mark.parametrize("refuses", [True, False])
async def test_the_largest_page_size_that_the_service_gives_is_used_and_remembered(
    refuses: bool,
) -> None:
    crm = filled(100, page_size_max=10, refuses=refuses, largest=50)
    state = await crm.whole()
    assert (len(state.rows), state.page_size) == (100, 10)
    number = crm.add()
    crm.calls = 0
    assert (await crm.new(state) or {}).keys() == {number}
    assert crm.calls <= 6
    assert (await filled(100, largest=50).whole()).page_size == 50


@pytest.mark.parametrize("order", KNOWN_ORDERS)
async def test_a_total_of_pages_that_is_rounded_down_hides_no_new_record(order: str) -> None:
    crm = filled(20, order=order, announces="rounded down")
    state = await crm.whole()
    new = {crm.add() for _ in range(7)}
    assert (await crm.new(state) or {}).keys() == new


async def test_edits_of_many_records_hide_no_new_record() -> None:
    """The list is ordered by the time of edits, and a deletion balances the count."""
    crm = filled(100, order="modified_on_desc")
    state = await crm.whole()
    oldest, *others = sorted(crm.items)
    new = crm.add()
    del crm.items[oldest]
    for number in others:
        crm.edit(number)
    answer = await crm.new(state)
    assert answer is None or new in answer
    assert new in (await crm.whole()).rows


async def test_a_refusal_that_is_not_about_the_page_size_is_raised() -> None:
    async def forbidden(*_: Any, **__: Any) -> Page[Any]:
        raise Forbidden(LISTS, "forbidden", status=403)

    with pytest.raises(Forbidden):
        await whole(forbidden, 1000)
    with pytest.raises(Forbidden):
        await new_rows(forbidden, take, ListSnapshot({}, 100))


@pytest.mark.parametrize("past_end", ["empty", "refused", "last_page"])
async def test_a_list_that_shrank_by_a_page_is_read_again_completely(past_end: str) -> None:
    crm = filled(past_end=past_end)
    state = await crm.whole()
    for number in sorted(crm.items)[20:]:
        del crm.items[number]
    assert await crm.new(state) is None


@pytest.mark.parametrize("stale_first", [True, False])
async def test_a_record_missing_from_one_of_two_lists_is_found(stale_first: bool) -> None:
    crm = filled()
    state = await crm.whole()
    stale = replace(crm, items=dict(crm.items))
    number = crm.add()
    replicas = [stale, crm] if stale_first else [crm, stale]
    begun = 0

    async def fetch(number: int, size: int) -> Page[Any]:
        nonlocal begun
        begun += number == len(stale.items) // size + 1  # each reading begins with the last page
        return await replicas[begun - 1].fetch(number, size)

    assert (await new_rows(fetch, take, state) or {}).keys() == {number}


@pytest.mark.parametrize("seed", range(300))
def test_no_new_record_is_missed_whatever_happened_meanwhile(seed: int) -> None:
    random = Random(seed)

    async def main() -> None:
        crm = filled(
            random.choice((0, 1, 9, 10, 11, 45)),
            order=random.choice(list(ORDERS)),
            page_size_max=random.choice((0, 5)),
            past_end=random.choice(("empty", "refused", "last_page")),
            announces=random.choice(("given", "asked", "rounded down")),
            largest=random.choice((10, 20)),
            random=random,
        )
        state = await crm.whole()
        assert state.rows.keys() == crm.items.keys()
        before: set[Key] = set(crm.items)
        for _ in range(random.choice((5, 40, 400))):
            act = random.choice(("add", "add", "edit", "delete"))
            if act == "add":
                crm.add()
            elif act == "edit" and crm.items:
                crm.edit(random.choice(list(crm.items)))
            elif act == "delete" and crm.items and random.random() < 0.1:
                del crm.items[random.choice(list(crm.items))]
        answer = await crm.new(state)
        if answer is not None:
            assert crm.items.keys() - before <= answer.keys()

    asyncio.run(main())
