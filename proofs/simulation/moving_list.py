"""A list that changes during its reads: rows are inserted, deleted and edited between requests."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Final

import msgspec

from bms.decoding import RecordReader
from bms.endpoints import BY_NAME
from bms.errors import NotFound
from bms.records import ContactItem
from bms.responses import FindRows, Page
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.list_reader import ListReader

LISTS = BY_NAME["list_contacts"]
READER: Final = RecordReader(LISTS, ContactItem)


@dataclass
class MovingList:
    """Rows as id and state; random changes precede each request."""

    random: Random
    rows: int = 120
    order: str = "id"
    inserted: float = 0.0
    deleted: float = 0.0
    edited: float = 0.0
    assigned: float = 0.0
    """Chance of a row being assigned, or not any more; the row shows when."""
    removed: float = 0.0
    """Chance of a row being flagged as deleted."""
    past_end: str = "empty"
    fixed_size: int | None = None
    clock: int = 0
    states: dict[int, tuple[float, int]] = field(default_factory=dict)
    """By id: a name, and when it was last edited."""
    touched: set[int] = field(default_factory=set)
    """Came, went or was edited since the list was made."""
    members: set[int] = field(default_factory=set)
    """The rows that the list with filter=ASSIGNED has."""
    flagged: set[int] = field(default_factory=set)
    """The rows that are flagged as deleted: only the list with filter=DELETED has them."""

    def __post_init__(self) -> None:
        for number in range(self.rows):
            self.clock += 1
            self.states[2 * number] = (self.random.random(), self.clock)
        self.stayed = set(self.states)
        self.fetch = partial(self._page, lambda key: key not in self.flagged)
        self.fetch_assigned = partial(self._page, lambda key: key in self.members - self.flagged)
        self.fetch_deleted = partial(self._page, lambda key: key in self.flagged)

    async def _page(
        self, has: Callable[[int], bool], number: int, size: int, find: FindRows | None = None
    ) -> Page[Any]:
        """Answer one page of the rows that a list `has`, after a while of others' requests."""
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)  # lets other requests go first: no time passes
        self.move()
        size = self.fixed_size or size
        listed = [key for key in self._listed() if has(key)]
        pages = -(-len(listed) // size)
        if number > max(pages, 1):
            if self.past_end == "not_found":
                raise NotFound(LISTS, "no such page", status=404)
            if self.past_end == "last_page":
                number = pages
        shown = listed[(number - 1) * size : number * size]
        records = [
            ContactItem(id=key, signal=str(self.states[key]), deleted=key in self.flagged)
            for key in shown
        ]
        body = msgspec.json.encode({"total_pages": pages, "data": records})
        if self.clock % 3 == 0:  # another server of the service, which writes blanks
            body = msgspec.json.format(body, indent=1)
        return READER.page(body, number=number, size=size, find=find)

    def move(self) -> None:
        """Insert, delete and edit a row, each with its chance."""
        self.clock += 1
        if self.random.random() < self.inserted:
            span = max(self.rows, 1)
            key = self.random.randrange(-span, 4 * span) * 2 + 1
            self.states.setdefault(key, (self.random.random(), self.clock))
        if self.states and self.random.random() < self.deleted:
            key = self.random.choice(list(self.states))
            del self.states[key]
            self.stayed.discard(key)
            self.members.discard(key)
            self.flagged.discard(key)
        if self.states and self.random.random() < self.edited:
            key = self.random.choice(list(self.states))
            self._touch(key)
        if self.states and self.random.random() < self.assigned:
            self.members ^= {key := self.random.choice(list(self.states))}
            self._touch(key)
        if self.states and self.random.random() < self.removed:
            self.flagged.add(key := self.random.choice(list(self.states)))
            self._touch(key)

    def _touch(self, key: int) -> None:
        self.states[key] = (self.states[key][0], self.clock)
        self.touched.add(key)

    def _listed(self) -> list[int]:
        if self.order == "none":
            shuffled = list(self.states)
            self.random.shuffle(shuffled)
            return shuffled
        fields: dict[str, Callable[[int], float]] = {
            "id": lambda key: key,
            "name": lambda key: self.states[key][0],
            "modified_on": lambda key: self.states[key][1],
        }
        by = fields[self.order.removesuffix("_desc")]
        return sorted(self.states, key=by, reverse=self.order.endswith("_desc"))


async def take(page: Page[Any]) -> list[tuple[Key, bytes]]:
    """Return keys and digests of a page of such a list."""
    return [(record.id, record.signal.encode()) for record in page.records]


async def read(
    moving: MovingList, *, size: int = 10, passes: int = 3
) -> tuple[ListReader, set[Key]]:
    """Read the list; return the reading and all that was seen."""
    seen: set[Key] = set()

    async def taken(page: Page[Any]) -> list[tuple[Key, bytes]]:
        rows = await take(page)
        seen.update(key for key, _ in rows)
        return rows

    reading = ListReader(moving.fetch, taken, size)
    await reading.until_agreed(passes)
    return reading, seen
