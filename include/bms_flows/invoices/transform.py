"""Comparing a unit's answers with the warehouse: what is new, changed, missing or invalid."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy.engine import Connection

from bms_flows.invoices.copies import duplicate_rows
from bms_flows.invoices.decode import CODE_NAMES, Response
from bms_flows.invoices.dedup import DedupIndex
from bms_flows.invoices.fields import FieldCounter
from bms_flows.invoices.rows import InvalidRecord, ResponseRows, RowReader
from bms_flows.invoices.totals import ControlTotals, DayCounts, amounts_differ
from bms_flows.invoices.validate import LoadSummary, WindowSummary
from bms_flows.runtime.quarantine import COPY, InvalidRow
from bms_flows.runtime.step_log import RowCounts
from bms_flows.runtime.windows import Window
from bms_warehouse import loads
from bms_warehouse.queries.invoices import changed_since
from bms_warehouse.tables import client_invoice


@dataclass(frozen=True)
class TransformedResponse:
    """An answer's rows that can be loaded, and those that are new or differ, ready to be merged."""

    rows: pa.Table
    differing: loads.CopyBuffer


@dataclass
class WindowComparison:
    """A window's answer, compared with the invoices stored for its days."""

    window: Window
    stored: int
    missing: set[int]
    """Stored, and not in the answer."""
    outside: int
    """Rows of other days, new or changed."""


@dataclass
class Transform:
    """A unit's answers so far: what they hold, and how that compares."""

    connection: Connection
    """Reads what was committed before this load."""
    id_entity: int
    zone: str
    """Zone of the service's date-times that carry none."""
    range_date: str
    """The date that the service's range filters."""
    read_at: datetime
    """When reading began, by the database's clock."""
    without: Collection[date] = frozenset()
    """Days whose rows are left out: of stored answers, those that are held or were read again since."""
    stored: bool = False
    """Whether the answers were stored before: what the warehouse has learned since is left as it is."""
    counts: RowCounts = field(default_factory=RowCounts)
    tally: ControlTotals = field(default_factory=ControlTotals)
    fields: FieldCounter = field(default_factory=FieldCounter)
    names: set[tuple[str, str, str]] = field(default_factory=set)
    """Field, code and name, in the language asked for."""
    bad: list[InvalidRow] = field(default_factory=list)
    """Rows to be quarantined."""
    windows: list[WindowComparison] = field(default_factory=list)
    amounts_differ: list[date] = field(default_factory=list)
    """Days of the new or changed rows whose amounts don't add up; the others were checked before."""
    seen: DedupIndex = field(default_factory=DedupIndex)
    invalid: set[int] = field(default_factory=set)
    """Identifiers of rows that can't be loaded."""

    def __post_init__(self) -> None:
        self._reader = RowReader(self.id_entity, self.zone, self.range_date)

    def take(self, window: Window, answer: Response) -> TransformedResponse:
        """Take one window's answer in."""
        read = self._reader.read(answer)
        self.counts.rows_read += read.table.num_rows + len(read.invalid)
        for invalid in read.invalid:
            self._quarantine(invalid, window)
        rows = self._once(answer, read, window)
        rows = self._rest(rows.append_column("_filed", counted_days(rows.column("_day"), window)))
        self.tally.add(rows, window)
        for name, code in CODE_NAMES.items():
            pairs = rows.select([code, name]).group_by([code, name], use_threads=False)
            found = pairs.aggregate([]).drop_null().to_pylist()
            self.names |= {(code, pair[code], pair[name]) for pair in found}
        differs, new = self._differ(rows, window)
        differing = rows.filter(differs)
        self.amounts_differ += differing.filter(amounts_differ(differing))["_filed"].to_pylist()
        self.fields.add(rows, differing, new.filter(differs), read.records)
        return TransformedResponse(
            rows.drop_columns("_filed"), loads.copy_buffer(differing.drop_columns("_filed"))
        )

    def follow(self, answer: Response) -> loads.CopyBuffer:
        """Take in, of an answer for other days, the invoices that are missing from theirs.

        They were dated anew. Nothing else of the answer counts, and its days don't count as read.
        """
        read = self._reader.read(answer)
        wanted = pa.array(self.missing, pa.int64())
        rows = read.table.filter(pc.is_in(read.table.column("id_invoice"), value_set=wanted))
        self.invalid.update(each.key for each in read.invalid if isinstance(each.key, int))
        ids, days, digests = (rows.column(name).to_pylist() for name in _IDENTITY)
        again = {*duplicate_rows(ids, days, digests, ())}
        self.seen.add(rows.column("id_invoice").combine_chunks())
        newer = self._changed_since(ids)
        wanted = [place not in again and key not in newer for place, key in enumerate(ids)]
        rows = rows.filter(pa.array(wanted, pa.bool_()))
        self.counts.rows_read += rows.num_rows
        return loads.copy_buffer(rows)

    def found(self, bad: Sequence[InvalidRow]) -> LoadSummary:
        """Return what a check needs to know; `bad` are the quarantined rows that nobody has accepted."""
        missing = {*self.missing}
        return LoadSummary(
            rows_read=self.counts.rows_read,
            quarantined=self.counts.quarantined,
            not_accepted=[frozenset(each.days) for each in bad],
            duplicates=[frozenset(each.days) for each in bad if each.code == "duplicate_id"],
            amounts_differ=[frozenset([day]) for day in self.amounts_differ],
            days={day: each.invoices for day, each in self.days_over.items()},
            windows=[
                WindowSummary(each.window, each.stored, len(each.missing & missing), each.outside)
                for each in self.windows
            ],
            currencies=self.tally.currencies,
            invalid={day for each in self.bad for day in each.days},
        )

    @property
    def days_over(self) -> dict[date, DayCounts]:
        """The days that were over, where the service is, when reading began.

        Invoices of today and of days to come are loaded, but such a day is not known to be read.
        """
        today = self.read_at.astimezone(ZoneInfo(self.zone)).date()
        return {day: found for day, found in self.tally.days.items() if day < today}

    @property
    def missing(self) -> list[int]:
        """Stored invoices that no answer of this unit returned, not even as an invalid row."""
        missing = {each for compared in self.windows for each in compared.missing} - self.invalid
        return sorted(missing - self.seen.among(missing))

    def still_missing(self) -> list[int]:
        """Return the invoices to be marked as missing: missing, and not found anew since."""
        return sorted({*self.missing} - self._changed_since(self.missing))

    def _once(self, answer: Response, read: ResponseRows, window: Window) -> pa.Table:
        """Quarantine the rows that repeat an identifier; return the others."""
        rows = read.table
        keys = rows.column("id_invoice").combine_chunks()
        loaded = self.seen.among(keys)
        if not loaded and pc.count_distinct(keys).as_py() == len(keys):
            self.seen.add(keys)
            return rows
        ids, days, digests = (rows.column(name).to_pylist() for name in _IDENTITY)
        again = duplicate_rows(ids, days, digests, loaded)
        for place, raw in zip(again, self._reader.as_json(answer, read, again), strict=True):
            # Named by content, so that each copy is one row of the quarantine, whatever its order.
            name = f"{ids[place]}{COPY}{digests[place].hex()[:16]}"
            self._quarantine(
                InvalidRecord(name, "duplicate_id", "id_invoice", raw, days[place]), window
            )
        left = {*again}
        rows = rows.filter(pa.array([each not in left for each in range(len(ids))], pa.bool_()))
        self.seen.add(rows.column("id_invoice").combine_chunks())
        return rows

    def _rest(self, rows: pa.Table) -> pa.Table:
        """Leave out the rows of days that don't count."""
        if not self.without:
            return rows
        out = pc.is_in(rows.column("_filed"), value_set=pa.array([*self.without], pa.date32()))
        rest = rows.filter(pc.invert(out))
        self.counts.rows_read -= rows.num_rows - rest.num_rows
        return rest

    def _differ(self, rows: pa.Table, window: Window) -> tuple[pa.Array, pa.Array]:
        """Return which rows are new or differ, and which are new: the others cost no write."""
        ids = rows.column("id_invoice").to_pylist()
        hashes = rows.column("_row_hash").to_pylist()
        outside = pc.not_equal(rows.column("_filed"), rows.column("_day")).fill_null(True)
        # A row may be stored under another day: the merge finds that.
        listed = loads.stored_hashes(
            self.connection,
            client_invoice,
            where="id_entity = %(entity)s and _missing_since is null"
            " and _day between %(start)s and %(end)s and _day <> all(%(without)s)",
            given={
                "entity": self.id_entity,
                "start": window.start,
                "end": window.end,
                "without": [*self.without],
            },
        )
        known = listed | self._elsewhere(rows.filter(outside))
        differs = [known.get(key) != digest for key, digest in zip(ids, hashes, strict=True)]
        if self.stored:
            newer = self._changed_since(ids)
            differs = [new and key not in newer for key, new in zip(ids, differs, strict=True)]
        self.counts.unchanged += differs.count(False)
        changed = pa.array(differs, pa.bool_())
        missing = {*listed} - {*ids}
        missing -= self.seen.among(missing)
        outside_changed = pc.sum(pc.and_(outside, changed)).as_py() or 0
        self.windows.append(WindowComparison(window, len(listed), missing, outside_changed))
        return changed, pa.array([key not in known for key in ids], pa.bool_())

    def _elsewhere(self, rows: pa.Table) -> dict[int, bytes]:
        """Return the stored hashes of rows that are listed outside of their day, or have none."""
        if not rows.num_rows:
            return {}
        return loads.stored_hashes(
            self.connection,
            client_invoice,
            where="id_entity = %(entity)s and _missing_since is null and id_invoice = any(%(ids)s)",
            given={"entity": self.id_entity, "ids": rows.column("id_invoice").to_pylist()},
        )

    def _changed_since(self, ids: Sequence[int]) -> set[int]:
        """Return those of `ids` of which the warehouse has learned since these answers were read."""
        if not (self.stored and ids):
            return set()
        return changed_since(self.connection, self.id_entity, ids, self.read_at)

    def _quarantine(self, row: InvalidRecord, window: Window) -> None:
        if isinstance(row.key, int):
            self.invalid.add(row.key)
        known = row.day is not None and row.day in window
        first, last = (row.day, row.day) if known and row.day else (window.start, window.end)
        bad = InvalidRow.of(row.key, row.code, row.field, row.raw, first, last)
        if all(day in self.without for day in bad.days):
            self.counts.rows_read -= 1
            return
        self.counts.quarantined += 1
        self.bad.append(bad)


_IDENTITY = ("id_invoice", "_day", "_row_hash")


def counted_days(days: pa.ChunkedArray, window: Window) -> pa.ChunkedArray:
    """Return the day that each row of a window's answer counts under.

    That is its own if it belongs to the window; else the window's first, so that a row without a
    day, or of another, is published or held together with days that were asked for.
    """
    start, end = (pa.scalar(day, pa.date32()) for day in (window.start, window.end))
    inside = pc.and_(pc.greater_equal(days, start), pc.less_equal(days, end))
    return pc.if_else(pc.fill_null(inside, False), days, start)
