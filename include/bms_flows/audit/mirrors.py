"""Comparison of one part of a list with its details and with the mirror in the warehouse."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bms.client import Client
from bms_flows.audit import warehouse
from bms_flows.audit.compare import (
    DETAIL_CODES,
    PAGE_CODES,
    Key,
    OpenRows,
    StoredRow,
    compare_with_warehouse,
    differences_by_key,
)
from bms_flows.audit.lists import DetailOf, ListComparison, ListedRows, PageOf
from bms_flows.audit.parts import Part, carried, next_part
from bms_flows.mirror.resource import MirroredResource
from bms_flows.mirror.resources import MIRRORED, source
from bms_flows.runtime import quarantine
from bms_flows.runtime.list_id import ListId


@dataclass(frozen=True)
class AuditedList:
    """A list of the service, with its details."""

    resource: MirroredResource
    page: PageOf
    detail: DetailOf | None
    """Request for one record; None if the service only lists them."""
    id_entity: int = 0
    """The entity of the list; 0 for a list of all entities."""

    @property
    def list_id(self) -> ListId:
        """The list in the tables of the warehouse."""
        return ListId(self.resource.name, self.id_entity)


def sources(client: Client, entities: Collection[int]) -> list[AuditedList]:
    """Return every list that an audit of `entities` compares."""
    return [
        AuditedList(resource, lists.rows, lists.detail, id_entity or 0)
        for resource in MIRRORED.values()
        for id_entity in (entities if resource.described.per_entity else [None])
        for lists in [source(client, resource, id_entity=id_entity)]
    ]


@dataclass
class PartAudit:
    """Compares one part of a list; `known` are the results of earlier audits."""

    listing: ListComparison
    held: Callable[[Collection[Key] | None], Mapping[Key, StoredRow]]
    """Returns the mirror's rows, all or those of some keys."""
    quarantined: Callable[[Collection[Key]], Collection[Key]]
    """Returns those of some keys whose rows are in quarantine."""
    known: Sequence[Part]
    loaded_at: datetime | None
    """Start of the mirror's last complete run."""
    now: Callable[[], datetime]
    compared: set[Key] = field(default_factory=set)
    """Rows that were compared with the mirror."""
    in_turn: bool = False
    """Whether the part was compared in turn, not because it is due again."""

    async def compare_whole(self, sample: int, turn: int) -> None:
        """Compare a list without pages, and `sample` of its details."""
        listed = await self.listing.whole()
        self.in_turn = True
        await self._compare(listed, sample, turn)

    async def compare_pages(
        self, size: int, most: int, sample: int, *, turn: int, again: bool, without: Collection[int]
    ) -> None:
        """Compare a part on pages of `size` rows, with at most `most` requests, and `sample` details.

        `again` prefers a due part; parts in `without` have had their turn.
        """

        def part_of(parts: int) -> int:
            due = [each.number for each in self.known if each.due(self.loaded_at)] if again else []
            chosen = next_part(parts, self.known, due=due, without=without)
            self.in_turn = chosen == next_part(parts, self.known, without=without)
            return chosen

        await self._compare(await self.listing.pages(size, most, part_of), sample, turn)

    def left(self) -> dict[int, OpenRows]:
        """Return the open rows of each part that this audit did not close."""
        plan = self.listing.plan
        return carried(self.known, plan.part, plan.parts, closed=self._closed)

    async def _compare(self, listed: ListedRows, sample: int, turn: int) -> None:
        self._against_mirror(listed)
        if sample:
            await self.listing.details(listed, self._chosen(listed, sample, turn))
            if not self.listing.plan.whole and self.listing.removed:
                held = self.held(self.listing.removed)
                self._compare_rows(held, {}, held, ())

    def _against_mirror(self, listed: ListedRows) -> None:
        """Compare listed rows with the mirror; with the whole mirror if the list is whole."""
        listing, whole = self.listing, self.listing.plan.whole
        self.compared = {*listed.records, *listed.rejected}
        columns = listing.resource.listed
        storable = warehouse.digests([*listed.records.values()], columns, listing.zone)
        rows = {key: storable.get(key) for key in self.compared}
        held: Mapping[Key, StoredRow] = {}
        if self.loaded_at:
            held = self.held(None) if whole else {}
            held = {**held, **self.held(self.compared - held.keys())}
        quarantined = self.quarantined([key for key, row in rows.items() if row is None])
        self._compare_rows({*rows, *held}, rows, held, quarantined)
        # A row without a key cannot be found in another part.
        lost = {k for k in self._open() if whole or _keyless(k)}
        listing.removed |= lost - self.compared
        if whole:
            self.compared |= held.keys()

    def _compare_rows(
        self,
        keys: Iterable[Key],
        rows: Mapping[Key, bytes | None],
        held: Mapping[Key, StoredRow],
        quarantined: Collection[Key],
    ) -> None:
        if self.loaded_at is None:
            return
        compare_with_warehouse(
            self.listing.comparison,
            keys,
            rows,
            held,
            quarantined,
            differences_by_key(part.rows for part in self.known),
            loaded_at=self.loaded_at,
            now=self.now(),
        )

    def _chosen(self, listed: ListedRows, sample: int, turn: int) -> Sequence[Key]:
        """Return the rows whose details are read: open rows first, then others in turn.

        Details of rows that left the part reveal whether the service still has them. Open rows are at
        most half of the sample: details that stay unreadable leave room for the others.
        """
        before = {
            key
            for part in self.known
            for code in DETAIL_CODES
            for key in part.rows.get(code, {})
            if key in listed.records
        }
        moved = () if self.listing.plan.whole else self._open() - self.compared
        first = {*before, *(key for key in moved if not _keyless(key))}
        half = in_turn(first, -(-sample // 2), turn)
        return [*dict.fromkeys([*half, *in_turn(listed.records, sample, turn)])][:sample]

    def _open(self) -> set[Key]:
        """Return the rows of the part that earlier audits left open."""
        plan = self.listing.plan
        return {
            key
            for part in self.known
            if min(part.number, plan.parts) == plan.part
            for rows in part.rows.values()
            for key in rows
        }

    def _closed(self, code: str, key: Key) -> bool:
        if code in DETAIL_CODES:
            done: Collection[Key] = self.listing.detailed
        elif code in PAGE_CODES:
            done = self.compared - self.listing.unsure
        else:
            done = self.compared
        return key in done or key in self.listing.removed


def in_turn(among: Iterable[Key], size: int, turn: int) -> Sequence[Key]:
    """Return the rows whose details are read in this turn; all rows take turns."""
    keys = sorted(among, key=str)
    if not keys:
        return []
    start = turn * size % len(keys)
    return (keys[start:] + keys[:start])[:size]


def _keyless(key: Key) -> bool:
    return isinstance(key, str) and key.startswith(quarantine.DIGEST)
