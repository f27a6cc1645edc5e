"""Transform of a unit's responses: typed rows, and their differences from the warehouse."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy.engine import Connection

from bms_flows.invoices.day_cache import DayCache, ids_of
from bms_flows.invoices.decode import KnownResponse, Response
from bms_flows.invoices.dedup import DedupIndex, IdArray, duplicate_rows
from bms_flows.invoices.row_counter import RowCounter, day_facts
from bms_flows.invoices.rows import InvalidRecord, Reading, ResponseRows, RowReader
from bms_flows.invoices.totals import (
    ControlTotals,
    DayCounts,
    DayFacts,
    amounts_differ,
    facts_by_day,
)
from bms_flows.runtime.digests import content_digest
from bms_flows.runtime.profile import Part, Share
from bms_flows.runtime.quarantine import COPY, InvalidRow
from bms_flows.runtime.step_log import RowCounts
from bms_flows.runtime.windows import Window
from bms_warehouse import loads
from bms_warehouse.queries.invoices import changed_since, stored_rows
from bms_warehouse.tables import client_invoice

_IDENTITY = ("id_invoice", "_day", "_row_hash")


@dataclass
class WindowComparison:
    """A window's response, compared with the invoices stored for its days."""

    window: Window
    stored: int
    missing: set[int]
    """Stored invoices that the response lacks."""
    outside: int
    """New or changed rows of days outside the window."""

    def part(self, found: int, of: int, where: str) -> Part:
        """Return a share of the window's rows for the profile."""
        return Part(Share(found, of), frozenset(self.window), f"{where} {self.window}")


@dataclass
class Transform:
    """A unit's responses so far: valid rows, invalid rows, totals and differences."""

    committed: Connection
    """Reads what was committed before this load."""
    reading: Reading
    read_at: datetime
    """When reading began, by the database's clock."""
    excluded_days: Collection[date] = frozenset()
    """Days of stored responses whose rows are left out: held, or read again since."""
    later: bool = False
    """Whether other loads may have been published since the responses were read: newer rows stay."""
    cache: DayCache | None = None
    counts: RowCounts = field(default_factory=RowCounts)
    totals: ControlTotals = field(default_factory=ControlTotals)
    code_names: set[tuple[str, str, str]] = field(default_factory=set)
    """Field, code and name, in the requested language."""
    invalid_rows: list[InvalidRow] = field(default_factory=list)
    """Rows for the quarantine."""
    windows: list[WindowComparison] = field(default_factory=list)
    amounts_differ: list[date] = field(default_factory=list)
    """Days of new or changed rows whose amounts don't add up."""
    index: DedupIndex = field(default_factory=DedupIndex)
    """Ids of the valid rows."""
    invalid_ids: set[int] = field(default_factory=set)
    """Ids of the invalid rows."""

    def __post_init__(self) -> None:
        self.id_entity = self.reading.id_entity
        self._reader = RowReader(self.reading)
        self.today = self.read_at.astimezone(ZoneInfo(self.reading.zone)).date()
        """The day in the service's zone when reading began."""
        self.rows = RowCounter(self.today, self.reading.volatile)

    def add(self, window: Window, response: Response) -> loads.CopyBuffer:
        """Transform one window's response; return its new and changed rows."""
        if isinstance(response, KnownResponse) and self._add_known(window, response.days):
            return loads.CopyBuffer((), 0, b"")
        read = self._reader.read(response)
        self.counts.rows_read += read.table.num_rows + len(read.invalid)
        for record in read.invalid:
            self._quarantine(record, window)
        rows = self._deduplicated(response, read, window)
        rows = rows.append_column("_counted_day", counted_days(rows.column("_day"), window))
        rows = self._without_excluded_days(rows)
        facts = day_facts(rows)
        self._add_days(window, facts, rows.column("id_invoice").to_numpy())
        if self.cache and self._is_plain(read, rows):
            self.cache.add(window, facts, rows)
        differs, new = self._compare(rows, window)
        differing, new = _where(differs, rows), _where(differs, new)
        days = differing["_counted_day"].filter(amounts_differ(differing))
        self.amounts_differ += days.to_pylist()
        self.rows.add(window, rows, differing, new, read.records)
        return loads.copy_buffer(differing.drop_columns("_counted_day"), new=pc.all(new).as_py())

    def _add_known(self, window: Window, days: Mapping[date, DayFacts]) -> bool:
        """Add a response that was not decoded, if the warehouse has exactly its rows."""
        stored = stored_rows(self.committed, self.id_entity, window.start, window.end)
        if any(
            content_digest(stored.get(day, b"")).hex() != each.stored for day, each in days.items()
        ):
            return False
        ids = ids_of(b"".join(stored.values()))
        if self.index.known(ids):
            return False
        self.index.add(ids)
        self._add_days(window, days, ids)
        self.counts.rows_read += len(ids)
        self.counts.unchanged += len(ids)
        self.windows.append(WindowComparison(window, len(ids), set(), 0))
        return True

    def _add_days(self, window: Window, days: Mapping[date, DayFacts], ids: IdArray) -> None:
        self.totals.add(days, window)
        self.rows.add_days(days.values(), ids)
        self.code_names.update(label for each in days.values() for label in each.names)

    def _is_plain(self, read: ResponseRows, rows: pa.Table) -> bool:
        """Return whether the rows by day are all that the response contains."""
        records = read.records
        return (
            rows.num_rows == read.table.num_rows
            and not read.invalid
            and not (records and (records.coerced or records.mistyped))
            and rows.column("_day").equals(rows.column("_counted_day"))
        )

    def add_moved(self, response: Response) -> loads.CopyBuffer:
        """Return the missing invoices that a response for other days contains.

        The service gave these invoices another date. No other row of the response is loaded, and
        its days don't count as read.
        """
        read = self._reader.read(response)
        missing = pa.array(self.missing, pa.int64())
        rows = read.table.filter(pc.is_in(read.table.column("id_invoice"), value_set=missing))
        self.invalid_ids.update(each.key for each in read.invalid if isinstance(each.key, int))
        ids, days, digests = (rows.column(name).to_pylist() for name in _IDENTITY)
        duplicates = {*duplicate_rows(ids, days, digests, ())}
        self.index.add(rows.column("id_invoice").combine_chunks())
        newer = self._changed_since(ids)
        loaded = [row not in duplicates and key not in newer for row, key in enumerate(ids)]
        rows = rows.filter(pa.array(loaded, pa.bool_()))
        self.counts.rows_read += rows.num_rows
        rows_by_day = rows.append_column("_counted_day", rows.column("_day"))
        self.totals.add_moved(facts_by_day(rows_by_day))
        return loads.copy_buffer(rows)

    @property
    def complete_days(self) -> dict[date, DayCounts]:
        """The days that were over in the service's zone when reading began.

        Invoices of today and of future days are loaded, but their days don't count as read.
        """
        return {day: counts for day, counts in self.totals.days.items() if day < self.today}

    @property
    def missing(self) -> list[int]:
        """Stored invoices that no response of the unit returned, not even as an invalid row."""
        missing = {each for window in self.windows for each in window.missing} - self.invalid_ids
        return sorted(missing - self.index.known(missing))

    def still_missing(self) -> list[int]:
        """Return the invoices to be marked as missing: missing, and not found by another load since."""
        return sorted({*self.missing} - self._changed_since(self.missing))

    def _deduplicated(self, response: Response, read: ResponseRows, window: Window) -> pa.Table:
        """Return the rows without those that repeat an id, which are quarantined."""
        rows = read.table
        keys = rows.column("id_invoice").combine_chunks()
        loaded = self.index.known(keys)
        if not loaded and pc.count_distinct(keys).as_py() == len(keys):
            self.index.add(keys)
            return rows
        ids, days, digests = (rows.column(name).to_pylist() for name in _IDENTITY)
        repeated = duplicate_rows(ids, days, digests, loaded)
        bodies = self._reader.as_json(response, read, repeated)
        for row, raw in zip(repeated, bodies, strict=True):
            # The content's digest names each copy, so that the order of rows doesn't matter.
            key = f"{ids[row]}{COPY}{digests[row].hex()[:16]}"
            record = InvalidRecord(key, "duplicate_id", "id_invoice", raw, days[row])
            self._quarantine(record, window)
        duplicates = {*repeated}
        rows = rows.filter(pa.array([row not in duplicates for row in range(len(ids))], pa.bool_()))
        self.index.add(rows.column("id_invoice").combine_chunks())
        return rows

    def _without_excluded_days(self, rows: pa.Table) -> pa.Table:
        if not self.excluded_days:
            return rows
        days = pa.array([*self.excluded_days], pa.date32())
        left = rows.filter(pc.invert(pc.is_in(rows.column("_counted_day"), value_set=days)))
        self.counts.rows_read -= rows.num_rows - left.num_rows
        return left

    def _compare(self, rows: pa.Table, window: Window) -> tuple[pa.Array, pa.Array]:
        """Return which rows are new or changed, and which are new; record the window's comparison."""
        ids = rows.column("id_invoice").to_pylist()
        hashes = rows.column("_row_hash").to_pylist()
        outside = pc.not_equal(rows.column("_counted_day"), rows.column("_day")).fill_null(True)
        # A row may be stored under another day: the merge finds it.
        listed = self._stored_in(window)
        known = listed | self._stored_elsewhere(rows.filter(outside))
        differs = [known.get(key) != digest for key, digest in zip(ids, hashes, strict=True)]
        if self.later:
            newer = self._changed_since(ids)
            differs = [each and key not in newer for key, each in zip(ids, differs, strict=True)]
        self.counts.unchanged += differs.count(False)
        changed = pa.array(differs, pa.bool_())
        missing = {*listed} - {*ids}
        missing -= self.index.known(missing)
        outside_changed = pc.sum(pc.and_(outside, changed)).as_py() or 0
        self.windows.append(WindowComparison(window, len(listed), missing, outside_changed))
        return changed, pa.array([key not in known for key in ids], pa.bool_())

    def _stored_in(self, window: Window) -> dict[int, bytes]:
        """Return the stored hashes of the window's days, without excluded days."""
        return self._stored(
            "_day between %(start)s and %(end)s and _day <> all(%(excluded)s)",
            start=window.start,
            end=window.end,
            excluded=[*self.excluded_days],
        )

    def _stored_elsewhere(self, rows: pa.Table) -> dict[int, bytes]:
        """Return the stored hashes of rows that are listed outside their day, or have no day."""
        ids = rows.column("id_invoice").to_pylist()
        return self._stored("id_invoice = any(%(ids)s)", ids=ids) if ids else {}

    def _stored(self, where: str, **given: object) -> dict[int, bytes]:
        return loads.stored_hashes(
            self.committed,
            client_invoice,
            where=f"id_entity = %(entity)s and _missing_since is null and {where}",
            given={"entity": self.id_entity, **given},
        )

    def _changed_since(self, ids: Sequence[int]) -> set[int]:
        """Return the ids of `ids` that another load has read since `read_at`."""
        if not (self.later and ids):
            return set()
        return changed_since(self.committed, self.id_entity, ids, self.read_at)

    def _quarantine(self, record: InvalidRecord, window: Window) -> None:
        if isinstance(record.key, int):
            self.invalid_ids.add(record.key)
        known = record.day is not None and record.day in window
        first, last = (
            (record.day, record.day) if known and record.day else (window.start, window.end)
        )
        row = InvalidRow.of(record.key, record.code, record.field, record.raw, first, last)
        if all(day in self.excluded_days for day in row.days):
            self.counts.rows_read -= 1
            return
        self.counts.quarantined += 1
        self.invalid_rows.append(row)


def _where(chosen: pa.Array, rows: Any) -> Any:
    """Return the chosen rows of a table or array; a filter would copy it even if it keeps every row."""
    return rows.filter(chosen) if chosen.false_count else rows


def counted_days(days: pa.ChunkedArray, window: Window) -> pa.ChunkedArray:
    """Return the day that each row of a window's response counts under.

    A row counts under its own day if the window contains it, else under the window's first day. So
    a row without a day, or of another day, is published or held together with requested days.
    """
    start, end = (pa.scalar(day, pa.date32()) for day in (window.start, window.end))
    inside = pc.and_(pc.greater_equal(days, start), pc.less_equal(days, end))
    return pc.if_else(pc.fill_null(inside, False), days, start)
