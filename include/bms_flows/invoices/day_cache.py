"""Cache of decoded rows: a row that is listed again with the same content is not decoded again.

The digest of a day's entry covers the digests of the undecoded rows, all that their decoding depends on, and
what they add to a load. So a lost, old or damaged entry costs time only. Whether the warehouse has the
same rows is compared in each load.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from bms.dates import parse_date
from bms.decoding import UNREADABLE
from bms_flows.invoices.decode import KnownDay, KnownResponse, Response, ResponseReader, split
from bms_flows.invoices.dedup import INT64_LIMIT
from bms_flows.invoices.known_rows import ROW, KnownRows, by_id, packed_rows
from bms_flows.invoices.rows import Reading
from bms_flows.invoices.totals import DayFacts
from bms_flows.runtime.digests import code_digest, content_digest
from bms_flows.runtime.windows import Window
from bms_warehouse.tables import client_invoice_digest

CODE = ("bms", "bms_flows.invoices", "bms_flows.runtime", "bms_warehouse.tables")
"""Packages that decide what a response's rows mean."""
JSON = msgspec.json.Encoder(order="sorted")
PARTLY = 2
"""A response is decoded whole if more than one row in this many differs."""


@dataclass
class DayCache:
    """The entries of an entity, and the days that a load read."""

    reading: Reading
    known: Mapping[date, tuple[bytes, bytes, bytes]] = field(default_factory=dict)
    """Digest of each cached day, what its rows add to a load, as JSON, and the digests of its rows."""

    def __post_init__(self) -> None:
        self._reader = ResponseReader()
        code = code_digest(*CODE) + pa.__version__.encode()
        self._context = hashlib.sha256(code + JSON.encode(self.reading))
        self._received: dict[date, tuple[str, bytes]] = {}
        self._read: list[dict[str, object]] = []

    def load(self, connection: Connection, days: Collection[date]) -> None:
        """Read the entries of `days`."""
        entry = client_invoice_digest.c
        mine = (entry.id_entity == self.reading.id_entity) & entry.day.in_(days)
        found = connection.execute(select(client_invoice_digest).where(mine))
        self.known = {
            each.day: (each.digest, JSON.encode(each.facts), each.row_digests) for each in found
        }

    def read(self, window: Window, body: bytes) -> Response:
        """Return a response, without rows that are cached if each day is; raise `MalformedResponse`."""
        try:
            raws, numbers = split(body, self.reading.range_date)
        except UNREADABLE:
            return self._reader.read(body)
        days: dict[date, KnownDay] = {}
        differing: list[int] = []
        for day, positions in self._positions(window, numbers).items():
            rows = [raws[each] for each in positions]
            content, facts = hashlib.sha256(b"\n".join(rows)).hexdigest(), self._facts(day)
            if facts is not None and facts.content == content:
                days[day] = KnownDay(facts)
                continue
            digests = [
                numbers[each].id_invoice.to_bytes(8, signed=True)
                + hashlib.sha256(raw).digest()[:16]
                for each, raw in zip(positions, rows, strict=True)
            ]
            self._received[day] = content, b"".join(digests)
            if facts is not None:
                known = {*np.frombuffer(self.known[day][2], "V24").tolist()}
                changed = zip(positions, digests, strict=True)
                differing += [each for each, digest in changed if digest not in known]
                gone = np.frombuffer(b"".join(known.difference(digests)), ROW)["id"]
                days[day] = KnownDay(facts, gone.astype(np.int64))
        if len(days) < window.days or PARTLY * len(differing) > len(raws):
            return self._reader.read(body, raws)
        if all(each.gone is None for each in days.values()):
            return KnownResponse(body, days)
        listed = {
            key for each in days.values() if each.gone is not None for key in each.gone.tolist()
        }
        new = any(numbers[each].id_invoice not in listed for each in differing)
        return KnownResponse(body, days, [raws[each] for each in sorted(differing)], new)

    def add(
        self, window: Window, facts: Mapping[date, DayFacts], rows: pa.Table, known: KnownRows
    ) -> None:
        """Keep the days of a response whose rows are all valid and in the window, for `save`.

        `rows` are the decoded rows, `known` the others.
        """
        decoded, days = packed_rows(rows), rows.column("_counted_day").to_numpy()
        for day in window:
            content, digests = self._received.pop(day, ("", b""))
            of_day = facts.get(day, DayFacts())
            if not content or len(digests) != of_day.rows * ROW.itemsize:
                continue
            kept = known.stored.get(day, decoded[:0]).tobytes()
            stored = by_id(kept + decoded[days == day].tobytes())
            of_day.content, of_day.stored = content, content_digest(stored.tobytes()).hex()
            json = JSON.encode(of_day)
            self._read.append(
                {
                    "id_entity": self.reading.id_entity,
                    "day": day,
                    "digest": self._digest(day, json, digests),
                    "facts": msgspec.json.decode(json),
                    "row_digests": digests,
                }
            )

    def save(self, connection: Connection) -> None:
        """Store the days that differed from their entry."""
        if self._read:
            statement = insert(client_invoice_digest)
            new = {name: statement.excluded[name] for name in ("digest", "facts", "row_digests")}
            key = ["id_entity", "day"]
            connection.execute(
                statement.on_conflict_do_update(index_elements=key, set_=new), self._read
            )

    def _positions(self, window: Window, numbers: list[Any]) -> dict[date, list[int]]:
        """Return the rows of each day, by id; nothing if a row has no day of the window or repeats an id."""
        days: dict[str | None, date | None] = {}
        by_day: dict[date, list[int]] = {day: [] for day in window}
        ids = [row.id_invoice for row in numbers]
        fits = min(ids, default=0) >= -INT64_LIMIT and max(ids, default=0) < INT64_LIMIT
        if len({*ids}) < len(ids) or not fits:
            return {}
        # The service may list the same rows in another order.
        for position in sorted(range(len(ids)), key=ids.__getitem__):
            text = getattr(numbers[position], self.reading.range_date)
            if text not in days:
                days[text] = self._day(text)
            day = days[text]
            if day not in by_day:
                return {}
            by_day[day].append(position)
        return by_day

    def _day(self, text: str | None) -> date | None:
        try:
            return parse_date(text, self.reading.zone) if text else None
        except ValueError:
            return None

    def _facts(self, day: date) -> DayFacts | None:
        digest, json, digests = self.known.get(day, (b"", b"", b""))
        if self._digest(day, json, digests) != digest:
            return None
        return msgspec.json.decode(json, type=DayFacts)

    def _digest(self, day: date, json: bytes, digests: bytes) -> bytes:
        digest = self._context.copy()
        for each in (day.isoformat().encode(), json, digests):
            digest.update(each)
        return digest.digest()
