"""Loading a unit: each answer is typed, compared with what stands, and staged; nothing shows yet."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
import pyarrow as pa
from sqlalchemy.engine import Connection

from bms.answers import Rows
from bms.records import ClientInvoice
from bms_flows.frame import digests, frame
from bms_flows.invoices.check import Found, WindowFound
from bms_flows.invoices.tally import Tally, listed_days
from bms_flows.invoices.window import Window
from bms_flows.quarantine import Bad
from bms_flows.runs import Counts
from bms_warehouse import loads
from bms_warehouse.tables import CLIENT_INVOICE_FIELDS, client_invoice

NAMES = {
    "invoice_type_name": "invoice_type",
    "payment_mode_name": "payment_mode",
    "status_name": "status",
}
"""Fields that name a code in the language asked for, and the code's field."""

_COLUMNS = [client_invoice.columns[name] for name in CLIENT_INVOICE_FIELDS]
_WIRE = msgspec.json.Encoder(decimal_format="number")
_SORTED = msgspec.json.Encoder(decimal_format="number", order="sorted")
_HASHED = [name for name in CLIENT_INVOICE_FIELDS if name not in NAMES] + ["_extra"]


@dataclass
class Load:
    """A unit's answers so far: what they hold, and in the staging table what differs."""

    connection: Connection
    id_entity: int
    zone: str
    """Zone of the service's date-times that carry none."""
    range_date: str
    """The date that the service's range filters."""
    counts: Counts = field(default_factory=Counts)
    tally: Tally = field(default_factory=Tally)
    names: set[tuple[str, str, str]] = field(default_factory=set)
    """Field, code and name, in the language asked for."""
    bad: list[Bad] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)
    """Stored, of a day that was read, and not in that day's answer."""
    windows: list[WindowFound] = field(default_factory=list)
    commit: bool = True
    """Whether staging ends a transaction at each answer; a rebuild is one transaction as a whole."""

    def __post_init__(self) -> None:
        loads.create_staging(self.connection, client_invoice)
        self._pause()

    def _pause(self) -> None:
        if self.commit:
            self.connection.commit()

    def take(self, window: Window, answer: Rows[ClientInvoice]) -> pa.Table:
        """Take one window's answer in, and return its good rows as columns."""
        self.counts.rows_read += len(answer.records) + len(answer.rejected)
        for rejected in answer.rejected:
            self._set_aside(rejected.key, rejected.code, rejected.field, rejected.raw, window)
        once = self._once(answer, window)
        framed = frame(once.records, _COLUMNS, self.zone, {"id_entity": self.id_entity})
        for cell in framed.bad:
            raw = _as_it_came(once, cell.index)
            self._set_aside(once.records[cell.index].key, cell.code, cell.field, raw, window)
        extra = [_json(once.extra.get(i)) for i in framed.kept] if once.extra else None
        rows = framed.rows.append_column(
            "_extra",
            pa.array(extra, pa.string()) if extra else pa.nulls(framed.rows.num_rows, pa.string()),
        )
        rows = rows.append_column("_day", listed_days(rows, self.range_date, self.zone))
        rows = rows.append_column("_row_hash", digests(rows, _HASHED))
        self._stage(rows, window)
        self.tally.add(rows, window)
        for name, code in NAMES.items():
            self.names |= {(code, *pair) for pair in _pairs(rows, code, name)}
        return rows

    @property
    def found(self) -> Found:
        """What a check needs to know."""
        return Found(
            rows_read=self.counts.rows_read,
            quarantined=self.counts.quarantined,
            duplicates=sum(bad.code == "duplicate_id" for bad in self.bad),
            outside=self.tally.outside,
            amounts_differ=self.tally.amounts_differ,
            days={day: found.invoices for day, found in self.tally.days.items()},
            windows=self.windows,
            currencies={currency: total.invoices for currency, total in self.tally.totals.items()},
        )

    @property
    def vanished(self) -> list[int]:
        """Stored invoices that no answer of this unit returned, not even as a bad row."""
        return sorted(self.missing - self.seen)

    def _once(self, answer: Rows[ClientInvoice], window: Window) -> Rows[ClientInvoice]:
        """Set aside every row whose identifier already came; the first to come stays."""
        keys = [record.id_invoice for record in answer.records]
        if len(set(keys)) == len(keys) and self.seen.isdisjoint(keys):
            self.seen.update(keys)
            return answer
        again = []
        for index, key in enumerate(keys):
            if key in self.seen:
                again.append(index)
            self.seen.add(key)
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

    def _stage(self, rows: pa.Table, window: Window) -> None:
        """COPY what is new or differs; unchanged rows cost a look at their hash and no write."""
        ids = rows.column("id_invoice").to_pylist()
        hashes = rows.column("_row_hash").to_pylist()
        # A row may stand here under another day: the merge finds that.
        listed = loads.stored_hashes(
            self.connection,
            client_invoice,
            where="id_entity = %(entity)s and _vanished_at is null"
            " and _day between %(start)s and %(end)s",
            given={"entity": self.id_entity, "start": window.start, "end": window.end},
        )
        differs = [listed.get(key) != digest for key, digest in zip(ids, hashes, strict=True)]
        self.counts.unchanged += differs.count(False)
        missing = listed.keys() - self.seen
        self.missing |= missing
        self.windows.append(WindowFound(window, len(listed), len(missing)))
        loads.stage(
            self.connection, client_invoice, _staged(rows.filter(pa.array(differs, pa.bool_())))
        )
        self._pause()

    def _set_aside(
        self, key: int | str | None, code: str, field: str | None, raw: bytes, window: Window
    ) -> None:
        self.counts.quarantined += 1
        self.bad.append(Bad.of(key, code, field, raw, window.start))
        if isinstance(key, int):
            self.seen.add(key)


def _staged(rows: pa.Table) -> pa.Table:
    """Write the digests as PostgreSQL reads bytes in CSV."""
    place = rows.schema.get_field_index("_row_hash")
    written = ["\\x" + digest.hex() for digest in rows.column("_row_hash").to_pylist()]
    return rows.set_column(place, "_row_hash", pa.array(written, pa.string()))


def _pairs(rows: pa.Table, code: str, name: str) -> Iterable[tuple[str, str]]:
    pairs = set(zip(rows.column(code).to_pylist(), rows.column(name).to_pylist(), strict=True))
    return [pair for pair in pairs if None not in pair]


def _json(value: object) -> str | None:
    return None if value is None else _SORTED.encode(value).decode()


def _as_it_came(answer: Rows[ClientInvoice], index: int) -> bytes:
    """Return a row that could be read, written as JSON again with what was unknown in it."""
    fields = msgspec.structs.asdict(answer.records[index]) | answer.extra.get(index, {})
    return _WIRE.encode(fields)
