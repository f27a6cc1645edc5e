"""Incremental reader of CRM lists: the whole list once, then only its new records.

The interface has no filter by time, but lists have an order: if ids or creation times only rise or
only fall in a full read, new records appear at one end. An incremental read requests the last page
to compute the number of records, then reads from that end until all new records are found. If the
numbers do not add up, the whole list is read again.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import msgspec

from bms.errors import Forbidden, Refused
from bms.responses import Page
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.remote import ListUnsettled
from bms_flows.onboarding.resources.snapshot import End, ListState
from bms_flows.runtime.list_reader import FetchPage, ListReader

ORDERS: Final = ("id", "created_on", "modified_on")
"""Fields with the highest value in a new record."""
ANSWERS: Final = 2
"""Number of incremental reads, because one response may lack a record of the other."""
EDITED_PAGES: Final = 5
"""Maximum number of pages with only edited records, after which the whole list is read."""

Found = tuple[dict[str, ServiceRecord], ListState]


@dataclass(frozen=True)
class CrmList:
    """A paged list. `known` converts an item and its digest; `passes` limits a full read.

    A long list is read with pages of `largest` rows if the service gives as many.
    """

    name: str
    fetch: FetchPage
    known: Callable[[Any, bytes], ServiceRecord]
    passes: int
    page_size: int
    largest: int

    async def whole(self) -> Found:
        """Read the whole list in passes.

        Raises `ListUnsettled` if the list changed so much that records may be missing.
        """
        found: dict[str, ServiceRecord] = {}
        order = _Order()

        async def take(page: Page[Any]) -> list[tuple[int, bytes]]:
            marked = self._items(page)
            order.note(page)
            found.update({str(item.id): self.known(item, mark) for item, mark in marked})
            return [(item.id, mark) for item, mark in marked]

        reading = ListReader(self.fetch, take, self.page_size, self.name, largest=self.largest)
        await reading.until_agreed(self.passes)
        if not reading.agreed:
            raise ListUnsettled(self.name)
        state = ListState.of(found.values(), reading.passes[0].size, order.newest)
        return found, state

    async def new(self, state: ListState) -> Found | None:
        """Return the records that are new or changed since `state`, and the new state.

        None if the ends of the list do not explain the number of records.
        """
        found: dict[str, ServiceRecord] = {}
        for _ in range(ANSWERS):
            answered = await self._new(state)
            if answered is None:
                return None
            found |= answered
        fingerprints = {**state.fingerprints, **{i: k.fingerprint for i, k in found.items()}}
        return found, msgspec.structs.replace(state, fingerprints=fingerprints)

    async def _new(self, state: ListState) -> dict[str, ServiceRecord] | None:
        try:
            last = await self._last_page(state)
            if last is None:
                return None
            return await self._from_the_end(state, last)
        except Refused as error:
            if isinstance(error, Forbidden):
                raise
            return None  # the list became shorter in the meantime

    async def _last_page(self, state: ListState) -> Page[Any] | None:
        """Return the last page, None if the number of pages keeps changing."""
        size = state.page_size
        number = max(-(-len(state.fingerprints) // size), 1)
        page = await self.fetch(number, size)
        if max(page.total_pages, 1) != number:
            number = max(page.total_pages, 1)
            page = await self.fetch(number, size)
        if max(page.total_pages, 1) != number:
            return None
        # A service may round total_pages down, so a full last page doesn't prove the end.
        while len(page) >= size:
            try:
                after = await self.fetch(number + 1, size)
            except Refused as error:
                if isinstance(error, Forbidden):
                    raise
                return page
            if {item.id for item in after} <= {item.id for item in page}:
                return page
            number += 1
            page = replace(after, number=number, total_pages=number)
        return page

    async def _from_the_end(
        self, state: ListState, last: Page[Any]
    ) -> dict[str, ServiceRecord] | None:
        size, pages = state.page_size, max(last.total_pages, 1)
        more = (pages - 1) * size + len(last.records) - len(state.fingerprints)
        if more < 0 or (state.newest is None and pages > 1):
            return None
        found: dict[str, ServiceRecord] = {}
        most = min(pages, more // size + EDITED_PAGES)
        for number in _from_end(state.newest, pages, most):
            page = last if number == pages else await self.fetch(number, size)
            records = [self.known(item, mark) for item, mark in self._items(page)]
            unseen = {k.remote_id: k for k in records if not state.shows(k)}
            found |= unseen
            if not unseen:
                break
        else:
            if most < pages:
                return None  # edited records at this end may hide a new one behind them
        new = found.keys() - state.fingerprints.keys()
        return found if len(new) == more else None

    def _items(self, page: Page[Any]) -> list[tuple[Any, bytes]]:
        page.require_all()  # a row without its key may be the expected record
        return [(item, digest_of(item)) for item in page]


class _Order:
    """Detector of fields that only rise or only fall within a full read."""

    def __init__(self) -> None:
        self._rises, self._falls = set(ORDERS), set(ORDERS)
        self._before: list[Any] = []
        self._page = (0, 0)

    def note(self, page: Page[Any]) -> None:
        """Add a page; ignore the previous page if the page does not follow it."""
        if (page.number, page.size) != self._page:
            self._before = []
        self._page = (page.number + 1, page.size)
        items = [*self._before, *page]
        for name in self._rises | self._falls:
            values = [getattr(item, name) for item in items]
            if None in values or any(one > other for one, other in pairwise(values)):
                self._rises.discard(name)
            if None in values or any(one < other for one, other in pairwise(values)):
                self._falls.discard(name)
        self._before = items[-1:]

    @property
    def newest(self) -> End | None:
        """The end at which new records appear, None if unknown."""
        for name in ORDERS:
            if (name in self._rises) != (name in self._falls):
                return "end" if name in self._rises else "start"
        return None


def _from_end(newest: End | None, pages: int, most: int) -> range:
    """Return the numbers of `most` pages, newest records first."""
    return range(1, most + 1) if newest == "start" else range(pages, pages - most, -1)


def digest_of(item: Any) -> bytes:
    """Return a digest of an item."""
    return hashlib.blake2b(msgspec.json.encode(item), digest_size=16).digest()
