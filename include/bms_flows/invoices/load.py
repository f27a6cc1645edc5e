"""Loading a unit: each answer is typed, counted and compared with what stood here before."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy.engine import Connection

from bms.answers import Rows
from bms.dates import parse_date
from bms.records import ClientInvoice
from bms_flows.frame import digests, frame, typed
from bms_flows.invoices.check import Found, WindowFound
from bms_flows.invoices.columns import NAMES, Answer, AnswerReader, Columns
from bms_flows.invoices.fields import FieldTally
from bms_flows.invoices.seen import Seen
from bms_flows.invoices.tally import Day, Tally, amounts_differ, listed_days
from bms_flows.invoices.window import Window
from bms_flows.quarantine import Bad
from bms_flows.runs import Counts
from bms_warehouse import loads
from bms_warehouse.tables import CLIENT_INVOICE_FIELDS, client_invoice

_COLUMNS = [client_invoice.columns[name] for name in CLIENT_INVOICE_FIELDS]
_WIRE = msgspec.json.Encoder(decimal_format="number")
_SORTED = msgspec.json.Encoder(decimal_format="number", order="sorted")
_HASHED = [name for name in CLIENT_INVOICE_FIELDS if name not in NAMES] + ["_extra"]


@dataclass(frozen=True)
class Taken:
    """One answer's good rows, and those that are new or differ from what stands, ready to be merged."""

    rows: pa.Table
    differing: loads.Sheet


@dataclass
class Load:
    """A unit's answers so far: what they hold, and how that compares."""

    connection: Connection
    """Reads what stood here before; what this load writes is not seen by it, or does not matter."""
    id_entity: int
    zone: str
    """Zone of the service's date-times that carry none."""
    range_date: str
    """The date that the service's range filters."""
    read_at: datetime
    """When reading began, by the database's clock."""
    without: Collection[date] = frozenset()
    """Days whose rows are left out: of an older answer, those that were read again since."""
    counts: Counts = field(default_factory=Counts)
    tally: Tally = field(default_factory=Tally)
    fields: FieldTally = field(default_factory=FieldTally)
    names: set[tuple[str, str, str]] = field(default_factory=set)
    """Field, code and name, in the language asked for."""
    bad: list[Bad] = field(default_factory=list)
    seen: Seen = field(default_factory=Seen)
    missing: set[int] = field(default_factory=set)
    """Stored, of a day that was read, and not in that day's answer."""
    windows: list[WindowFound] = field(default_factory=list)
    amounts_differ: int = 0
    """Of the rows that are new or differ: the others were doubted when they came."""
    _reader: AnswerReader = field(default_factory=AnswerReader)

    def take(self, window: Window, answer: Answer) -> Taken:
        """Take one window's answer in."""
        rows = self._whole(answer) if isinstance(answer, Columns) else None
        records = None
        if rows is None:
            records = self._reader.records(answer.body) if isinstance(answer, Columns) else answer
            rows = self._one_by_one(window, records)
        else:
            self.counts.rows_read += rows.num_rows
        rows = rows.append_column("_day", listed_days(rows, self.range_date, self.zone))
        rows = self._rest(rows)
        rows = rows.append_column("_row_hash", digests(rows, _HASHED))
        self.tally.add(rows, window)
        for name, code in NAMES.items():
            pairs = rows.select([code, name]).group_by([code, name], use_threads=False)
            found = pairs.aggregate([]).drop_null().to_pylist()
            self.names |= {(code, pair[code], pair[name]) for pair in found}
        differs, new = self._differ(rows, window)
        differing = rows.filter(differs)
        self.amounts_differ += amounts_differ(differing)
        self.fields.add(rows, differing, new.filter(differs), records)
        return Taken(rows, loads.sheet(differing))

    def _rest(self, rows: pa.Table) -> pa.Table:
        """Leave out the rows of days that don't count."""
        if not self.without:
            return rows
        out = pc.is_in(rows.column("_day"), value_set=pa.array([*self.without], pa.date32()))
        rest = rows.filter(pc.invert(out))
        self.counts.rows_read -= rows.num_rows - rest.num_rows
        return rest

    def _whole(self, answer: Columns) -> pa.Table | None:
        """Return an answer's rows where each of them is good and none came before; else None."""
        rows = typed(answer.rows, _COLUMNS, self.zone, {"id_entity": self.id_entity})
        if rows is None:
            return None
        keys = rows.column("id_invoice").combine_chunks()
        if pc.count_distinct(keys).as_py() < len(keys) or self.seen.among(keys):
            return None
        self.seen.add(keys)
        return rows.append_column("_extra", pa.nulls(rows.num_rows, pa.string()))

    def _one_by_one(self, window: Window, records: Rows[ClientInvoice]) -> pa.Table:
        """Return an answer's good rows; the others are set aside, each with its reason."""
        self.counts.rows_read += len(records.records) + len(records.rejected)
        for rejected in records.rejected:
            self._set_aside(rejected.key, rejected.code, rejected.field, rejected.raw, window)
        once = self._once(records, window)
        framed = frame(once.records, _COLUMNS, self.zone, {"id_entity": self.id_entity})
        for cell in framed.bad:
            raw = _as_it_came(once, cell.index)
            self._set_aside(once.records[cell.index].key, cell.code, cell.field, raw, window)
        extra = [_json(once.extra.get(i)) for i in framed.kept]
        return framed.rows.append_column("_extra", pa.array(extra, pa.string()))

    def found(self, bad: Sequence[Bad]) -> Found:
        """Return what a check needs to know; `bad` are the rows set aside that nobody has accepted."""
        return Found(
            rows_read=self.counts.rows_read,
            quarantined=self.counts.quarantined,
            not_accepted=len(bad),
            duplicates=sum(each.code == "duplicate_id" for each in bad),
            outside=self.tally.outside,
            amounts_differ=self.amounts_differ,
            days={day: each.invoices for day, each in self.days_over.items()},
            windows=self.windows,
            currencies={currency: total.invoices for currency, total in self.tally.totals.items()},
        )

    @property
    def days_over(self) -> dict[date, Day]:
        """The days that were over, where the service is, when reading began.

        Invoices of today and of days to come are loaded, but such a day is not known to be read.
        """
        today = self.read_at.astimezone(ZoneInfo(self.zone)).date()
        return {day: found for day, found in self.tally.days.items() if day < today}

    @property
    def vanished(self) -> list[int]:
        """Stored invoices that no answer of this unit returned, not even as a bad row."""
        return sorted(self.missing - self.seen.among(self.missing))

    def _once(self, answer: Rows[ClientInvoice], window: Window) -> Rows[ClientInvoice]:
        """Set aside every row whose identifier already came; the first to come stays."""
        keys = [record.id_invoice for record in answer.records]
        came = self.seen.among(keys)
        again = []
        for index, key in enumerate(keys):
            if key in came:
                again.append(index)
            came.add(key)
        self.seen.add(keys)
        if not again:
            return answer
        for index in again:
            raw = _as_it_came(answer, index)
            self._set_aside(f"{keys[index]} again", "duplicate_id", "id_invoice", raw, window)
        kept = sorted(set(range(len(answer.records))) - set(again))
        return Rows(
            endpoint=answer.endpoint,
            records=[answer.records[index] for index in kept],
            rejected=answer.rejected,
            extra={i: answer.extra[index] for i, index in enumerate(kept) if index in answer.extra},
            body=answer.body,
        )

    def _differ(self, rows: pa.Table, window: Window) -> tuple[pa.Array, pa.Array]:
        """Return which rows are new or differ, and which are new: the others cost no write."""
        ids = rows.column("id_invoice").to_pylist()
        hashes = rows.column("_row_hash").to_pylist()
        # A row may stand here under another day: the merge finds that.
        listed = loads.stored_hashes(
            self.connection,
            client_invoice,
            where="id_entity = %(entity)s and _vanished_at is null"
            " and _day between %(start)s and %(end)s and _day <> all(%(without)s)",
            given={
                "entity": self.id_entity,
                "start": window.start,
                "end": window.end,
                "without": [*self.without],
            },
        )
        differs = [listed.get(key) != digest for key, digest in zip(ids, hashes, strict=True)]
        self.counts.unchanged += differs.count(False)
        missing = listed.keys() - set(ids)
        missing -= self.seen.among(missing)
        self.missing |= missing
        self.windows.append(WindowFound(window, len(listed), len(missing)))
        new = [key not in listed for key in ids]
        return pa.array(differs, pa.bool_()), pa.array(new, pa.bool_())

    def _set_aside(
        self, key: int | str | None, code: str, field: str | None, raw: bytes, window: Window
    ) -> None:
        if isinstance(key, int):
            self.seen.add([key])
        day = _day_of(raw, self.range_date, self.zone)
        days = [day] if day is not None and day in window else [*window]
        if all(each in self.without for each in days):
            self.counts.rows_read -= 1
            return
        self.counts.quarantined += 1
        # By its own day it leaves when that is read again and good, not when a neighbour is.
        self.bad.append(Bad.of(key, code, field, raw, days[0]))


def _day_of(raw: bytes, range_date: str, zone: str) -> date | None:
    """Return the day that a row is listed under, None where that can't be read."""
    try:
        return parse_date(msgspec.json.decode(raw)[range_date], zone)
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _json(value: object) -> str | None:
    return None if value is None else _SORTED.encode(value).decode()


def _as_it_came(answer: Rows[ClientInvoice], index: int) -> bytes:
    """Return a row that could be read, written as JSON again with what was unknown in it."""
    fields = msgspec.structs.asdict(answer.records[index]) | answer.extra.get(index, {})
    return _WIRE.encode(fields)
