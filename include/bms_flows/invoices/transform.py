"""Transform of a unit's responses: typed rows, and their differences from the warehouse."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy.engine import Connection

from bms.responses import RejectedRow
from bms_flows.invoices.day_cache import DayCache
from bms_flows.invoices.decode import CODE_NAMES, Decoded, Response, SplitResponse
from bms_flows.invoices.dedup import DedupIndex, IdArray, duplicate_rows
from bms_flows.invoices.fetch import Batch
from bms_flows.invoices.known_rows import KnownRows, known_rows
from bms_flows.invoices.row_counter import RowCounter, day_facts
from bms_flows.invoices.rows import Reading, ResponseRows, RowReader
from bms_flows.invoices.totals import (
    ControlTotals,
    DayFacts,
    amounts_differ,
    facts_by_day,
)
from bms_flows.runtime.profile import Part, Share
from bms_flows.runtime.quarantine import COPY, InvalidRow
from bms_flows.runtime.step_log import RowCounts
from bms_flows.runtime.windows import Window
from bms_warehouse import loads
from bms_warehouse.queries.invoices import changed_since
from bms_warehouse.tables import client_invoice

LONGEST_CODE = 200
"""Characters; a longer text is no code and has no label: PostgreSQL could not index it."""
NOTHING = loads.CopyBuffer((), 0, b"")
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

    def add(self, responses: Batch, decoded: Decoded | None = None) -> list[loads.CopyBuffer]:
        """Transform responses; return their new and changed rows.

        Several are split responses of consecutive days. They are transformed at once, or one by one if a
        value is unusual or an id is repeated. `decoded` are the rows that the warehouse may lack; by
        default they are decoded here.
        """
        whole, alone = Window(responses[0][0].start, responses[-1][0].end), len(responses) == 1
        response = responses[0][1]
        split = [each for _, each in responses if isinstance(each, SplitResponse)]
        days = {day: of_day for each in split for day, of_day in each.days.items()}
        # None if the warehouse has other rows of these days.
        known = known_rows(self.committed, self.id_entity, whole, days, self.excluded_days)
        if not isinstance(response, SplitResponse):
            read = self._reader.read(response)
            return [self._add(responses, known or KnownRows(), response, read)]
        if known and not self.index.known(known.ids_of(whole)):
            raws = [raw for each in split for raw in each.others]
            if not raws:
                return [self._add(responses, known)]
            rows = decoded or self._reader.responses.rows(raws)
            read = self._reader.read(rows)
            if alone or (_is_usual(read) and self._are_first(known.ids_of(whole), read.table)):
                return [self._add(responses, known, rows, read)]
        if alone:
            return self.add([(whole, self._reader.responses.read(response.body))])
        return [rows for each in responses for rows in self.add([each])]

    def _are_first(self, ids: IdArray, rows: pa.Table) -> bool:
        """Return whether no id of rows appeared before, in another response or among `ids`."""
        decoded = rows.column("id_invoice").to_numpy()
        every = np.concatenate([ids, decoded])
        return len(np.unique(every)) == len(every) and not self.index.known(decoded)

    def _add(
        self,
        responses: Batch,
        known: KnownRows,
        others: Decoded | None = None,
        read: ResponseRows | None = None,
    ) -> loads.CopyBuffer:
        """Add rows of responses; return the new and changed rows.

        `known` are the rows that need no decoding, `others` and `read` the decoded rows, None if all
        days are equal. Several responses have only rows of their windows.
        """
        windows = [window for window, _ in responses]
        whole = Window(windows[0].start, windows[-1].end)
        ids = known.ids_of(whole)
        self.index.add(ids)
        self.counts.rows_read += len(ids)
        self.counts.unchanged += len(ids)
        if others is None or read is None:
            for window in windows:
                self._add_window(window, known, known.facts, np.array([], np.int64), 0)
            return NOTHING
        self.counts.rows_read += read.table.num_rows + len(read.invalid)
        for row in read.invalid:
            self._quarantine(row, self._reader.day_of(row.raw), windows[0])
        rows = self._deduplicated(others, read, windows[0])
        rows = rows.append_column("_counted_day", counted_days(rows.column("_day"), whole))
        rows = self._without_excluded_days(rows)
        facts = known.with_decoded(day_facts(rows))
        whole_days = rows.column("_day").equals(rows.column("_counted_day"))
        if self.cache and whole_days and _is_usual(read) and rows.num_rows == read.table.num_rows:
            self.cache.add(whole, facts, rows, known)
        differs, new = list[bool](), list[bool]()
        for window, response in responses:
            split = response if isinstance(response, SplitResponse) else None
            part = rows.slice(len(new), len(split.others) if split else None)
            differ_here, new_here, outside = self._compare(part, known.others_of(window))
            self._add_window(window, known, facts, part.column("id_invoice").to_numpy(), outside)
            if any(new_here):
                equal = known.ids_of(window)
                references = split.references(equal) if split and len(equal) else ()
                self.rows.add_references(window, part, new_here, references)
            differs += differ_here
            new += new_here
        chosen = pa.array(differs, pa.bool_())
        differing, are_new = _where(chosen, rows), _where(chosen, pa.array(new, pa.bool_()))
        unequal = differing["_counted_day"].filter(amounts_differ(differing))
        self.amounts_differ += unequal.to_pylist()
        self.rows.add(whole, rows, differing, are_new, read.records)
        return loads.copy_buffer(_stored(differing), new=pc.all(are_new).as_py())

    def _add_window(
        self,
        window: Window,
        known: KnownRows,
        facts: Mapping[date, DayFacts],
        decoded: IdArray,
        outside: int,
    ) -> None:
        """Add the days of a window, and the comparison of its rows with the warehouse."""
        days = {day: facts[day] for day in window if day in facts}
        ids, others = known.ids_of(window), known.others_of(window)
        self.totals.add(days, window)
        self.rows.add_days(days.values(), np.concatenate([ids, decoded]))
        self.code_names.update(
            (CODE_NAMES[name], code, label)
            for each in days.values()
            for name, code, label, _ in each.names
            if code is not None and label is not None and len(code) <= LONGEST_CODE
        )
        missing = {*others} - {*decoded.tolist()}
        missing -= self.index.known(missing)
        stored = len(ids) + len(others)
        self.windows.append(WindowComparison(window, stored, missing, outside))

    def add_moved(self, window: Window, response: Response) -> loads.CopyBuffer:
        """Return the missing invoices that the response for another window contains.

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
        counted = pc.fill_null(rows.column("_day"), pa.scalar(window.start, pa.date32()))
        rows_by_day = rows.append_column("_counted_day", counted)
        self.totals.add(facts_by_day(rows_by_day))
        return loads.copy_buffer(_stored(rows_by_day))

    @property
    def complete_days(self) -> dict[date, DayFacts]:
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
            copy = RejectedRow(index=row, key=key, field="id_invoice", code="duplicate_id", raw=raw)
            self._quarantine(copy, days[row], window)
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

    def _compare(
        self, rows: pa.Table, listed: Mapping[int, bytes]
    ) -> tuple[list[bool], list[bool], int]:
        """Return which rows are new or changed, which are new, and how many of other days differ.

        `listed` are the row hashes that the warehouse has for the days.
        """
        ids = rows.column("id_invoice").to_pylist()
        hashes = rows.column("_row_hash").to_pylist()
        outside = pc.not_equal(rows.column("_counted_day"), rows.column("_day")).fill_null(True)
        # A row may be stored under another day: the merge finds it.
        known = {**listed, **self._stored_elsewhere(rows.filter(outside))}
        differs = [known.get(key) != digest for key, digest in zip(ids, hashes, strict=True)]
        if self.later:
            newer = self._changed_since(ids)
            differs = [each and key not in newer for key, each in zip(ids, differs, strict=True)]
        self.counts.unchanged += differs.count(False)
        outside_changed = pc.sum(pc.and_(outside, pa.array(differs, pa.bool_()))).as_py() or 0
        return differs, [key not in known for key in ids], outside_changed

    def _stored_elsewhere(self, rows: pa.Table) -> dict[int, bytes]:
        """Return the stored hashes of rows that are listed outside their day, or have no day."""
        if not (ids := rows.column("id_invoice").to_pylist()):
            return {}
        return loads.stored_hashes(
            self.committed,
            client_invoice,
            where="id_entity = %(entity)s and _missing_since is null and id_invoice = any(%(ids)s)",
            given={"entity": self.id_entity, "ids": ids},
        )

    def _changed_since(self, ids: Sequence[int]) -> set[int]:
        """Return the ids of `ids` that another load has read since `read_at`."""
        if not (self.later and ids):
            return set()
        return changed_since(self.committed, self.id_entity, ids, self.read_at)

    def _quarantine(self, rejected: RejectedRow, day: date | None, window: Window) -> None:
        key = rejected.key
        if isinstance(key, int):
            self.invalid_ids.add(key)
        first, last = (day, day) if day and day in window else (window.start, window.end)
        row = InvalidRow.of(key, rejected.code, rejected.field, rejected.raw, first, last)
        if all(day in self.excluded_days for day in row.days):
            self.counts.rows_read -= 1
            return
        self.counts.quarantined += 1
        self.invalid_rows.append(row)


def _is_usual(read: ResponseRows) -> bool:
    """Return whether every row is valid, without a value of an unexpected type."""
    records = read.records
    return not read.invalid and not (records and (records.coerced or records.mistyped))


def _where(chosen: pa.Array, rows: Any) -> Any:
    """Return the chosen rows of a table or array; a filter would copy it even if it keeps every row."""
    return rows.filter(chosen) if chosen.false_count else rows


def _stored(rows: pa.Table) -> pa.Table:
    """Return rows as the warehouse stores them: a row without a day gets the day that it counts under.

    So a load that reads this day again finds that the row is missing. The row hash has no such day.
    """
    days = pc.coalesce(rows.column("_day"), rows.column("_counted_day"))
    return rows.drop_columns(["_day", "_counted_day"]).append_column("_day", days)


def counted_days(days: pa.ChunkedArray, window: Window) -> pa.ChunkedArray:
    """Return the day that each row of a window's response counts under.

    A row counts under its own day if the window contains it, else under the window's first day. So
    a row without a day, or of another day, is published or held together with requested days.
    """
    start, end = (pa.scalar(day, pa.date32()) for day in (window.start, window.end))
    inside = pc.and_(pc.greater_equal(days, start), pc.less_equal(days, end))
    return pc.if_else(pc.fill_null(inside, False), days, start)
