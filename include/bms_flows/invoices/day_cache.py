"""Cache of decoded rows: a row that is listed again with the same content is not decoded again.

The digest of a day's entry covers the digests of the undecoded rows, all that their decoding depends on, and
what they add to a load. So a lost, old or damaged entry costs time only. Whether the warehouse has the
same rows is compared in each load.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date

import msgspec
import numpy as np
import pyarrow as pa
from sqlalchemy import Connection, select

from bms.dates import parse_date
from bms.json_content import UNREADABLE
from bms_flows.invoices.decode import (
    OUTLINE,
    KnownDay,
    Response,
    ResponseReader,
    SplitResponse,
    numbers,
)
from bms_flows.invoices.known_rows import ROW, KnownRows, Packed, by_id, packed_rows
from bms_flows.invoices.rows import Reading
from bms_flows.invoices.totals import DayFacts
from bms_flows.runtime.digests import code_digest, content_digest
from bms_flows.runtime.windows import Window
from bms_warehouse.database import upsert
from bms_warehouse.tables import client_invoice_digest

CODE = ("bms", "bms_flows.invoices", "bms_flows.runtime", "bms_warehouse.tables")
"""Packages that decide what a response's rows mean."""
JSON = msgspec.json.Encoder(order="sorted")
PARTLY = 2
"""A day is decoded whole if more than one row in this many differs."""


@dataclass
class DayCache:
    """The entries of an entity, and the days that a load read."""

    reading: Reading
    known: Mapping[date, tuple[DayFacts, Packed]] = field(default_factory=dict)
    """What the rows of each cached day add to a load, and the digests of its rows."""

    def __post_init__(self) -> None:
        self._reader = ResponseReader()
        code = code_digest(*CODE) + pa.__version__.encode()
        self._context = hashlib.sha256(code + JSON.encode(self.reading))
        self._received: dict[date, bytes] = {}
        self._read: list[dict[str, object]] = []

    def load(self, connection: Connection, days: Collection[date]) -> None:
        """Read the entries of `days`."""
        entry = client_invoice_digest.c
        mine = (entry.id_entity == self.reading.id_entity) & entry.day.in_(days)
        found = connection.execute(select(client_invoice_digest).where(mine))
        self.known = {
            each.day: (msgspec.json.decode(json, type=DayFacts), by_id(each.row_digests))
            for each in found
            if self._digest(each.day, json := JSON.encode(each.facts), each.row_digests)
            == each.digest
        }

    def read(self, window: Window, body: bytes) -> Response:
        """Return a response, without rows that are cached; raise `MalformedResponse`."""
        try:
            split = self._split(window, body)
        except (*UNREADABLE, OverflowError):  # an id beyond 64 bits
            split = None
        return split or self._reader.read(body)

    def _split(self, window: Window, body: bytes) -> SplitResponse | None:
        """Return the rows of a response, None if a row has no day of the window or repeats an id.

        Raises one of `UNREADABLE` if the response must be read row by row.
        """
        raws = OUTLINE.decode(body)
        digests = [hashlib.sha256(raw).digest()[:16] for raw in raws]
        rows = np.empty(len(raws), ROW)
        rows["digest"] = np.frombuffer(b"".join(digests), "V16")
        cached = {n: self.known[day] for n, day in enumerate(window) if day in self.known}
        known = np.concatenate([np.empty(0, ROW), *(each for _, each in cached.values())])
        day_of_known = np.array([n for n, (_, each) in cached.items() for _ in each], np.int64)
        places = dict(zip(known["digest"].tolist(), range(len(known)), strict=True))
        place = np.array([places.get(each, -1) for each in digests], np.int64)
        days = np.full(len(raws), -1)
        equal = place >= 0
        rows["id"][equal], days[equal] = known["id"][place[equal]], day_of_known[place[equal]]
        if not equal.all():
            different = np.flatnonzero(~equal).tolist()
            content = b"[%b]" % b",".join([raws[each] for each in different])
            listed = numbers(content, self.reading.range_date)
            rows["id"][different] = [each.id_invoice for each in listed]
            texts = [getattr(each, self.reading.range_date) for each in listed]
            day_of = {text: self._day_number(window, text) for text in {*texts}}
            days[different] = [*map(day_of.__getitem__, texts)]
        if (days < 0).any() or len(np.unique(rows["id"])) < len(rows):
            return None
        seen = np.isin(np.arange(len(known)), place)
        days_known: dict[date, KnownDay] = {}
        decoded = np.zeros(len(raws), bool)
        for number, day in enumerate(window):
            of_day, mine = days == number, day_of_known == number
            differ = of_day & ~equal
            facts, _ = cached.get(number, (None, None))
            gone = known["id"][mine & ~seen]
            if facts is not None and PARTLY * differ.sum() <= of_day.sum():
                days_known[day] = KnownDay(facts, gone.astype(np.int64))
                decoded |= differ
            else:
                decoded |= of_day
            if facts is None or len(gone) or differ.any():
                self._received[day] = rows[of_day].tobytes()
        others = [raws[each] for each in np.flatnonzero(decoded).tolist()]
        return SplitResponse(body, days_known, others)

    def add(
        self, window: Window, facts: Mapping[date, DayFacts], rows: pa.Table, known: KnownRows
    ) -> None:
        """Keep the days of a response whose rows are all valid and in the window, for `save`.

        `rows` are the decoded rows, `known` the others.
        """
        decoded, days = packed_rows(rows), rows.column("_counted_day").to_numpy()
        for day in window:
            digests = self._received.pop(day, None)
            of_day = facts.get(day, DayFacts())
            if digests is None or len(digests) != of_day.rows * ROW.itemsize:
                continue
            kept = known.stored.get(day, decoded[:0]).tobytes()
            stored = by_id(kept + decoded[days == day].tobytes())
            of_day.stored = content_digest(stored.tobytes()).hex()
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
        upsert(connection, client_invoice_digest, self._read)

    def _day_number(self, window: Window, text: str | None) -> int:
        """Return the position in the window of the day of a date, -1 if it has none."""
        try:
            day = parse_date(text, self.reading.zone) if text else None
        except ValueError:
            return -1
        return (day - window.start).days if day is not None and day in window else -1

    def _digest(self, day: date, json: bytes, digests: bytes) -> bytes:
        digest = self._context.copy()
        for each in (day.isoformat().encode(), json, digests):
            digest.update(each)
        return digest.digest()
