"""Cache of decoded days: a day with the same rows is not decoded again.

The digest of a day covers its undecoded rows, all that their decoding depends on, and what they add to a
load. So a lost, old or damaged entry costs time only. Whether the warehouse has the same rows is
compared in each load.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from bms.dates import parse_date
from bms.decoding import UNREADABLE
from bms_flows.invoices.decode import KnownResponse, Response, ResponseReader, split
from bms_flows.invoices.dedup import IdArray
from bms_flows.invoices.rows import Reading
from bms_flows.invoices.totals import DayFacts
from bms_flows.runtime.digests import content_digest
from bms_flows.runtime.windows import Window
from bms_warehouse.tables import client_invoice_digest

CODE = ("bms", "bms_flows.invoices", "bms_flows.runtime", "bms_warehouse.tables")
"""Packages that decide what a response's rows mean."""
JSON = msgspec.json.Encoder(order="sorted")


@dataclass
class DayCache:
    """The entries of an entity, and the days that a load read."""

    reading: Reading
    known: Mapping[date, tuple[bytes, bytes]] = field(default_factory=dict)
    """Digest of each cached day, and what its rows add to a load, as JSON."""

    def __post_init__(self) -> None:
        self._reader = ResponseReader()
        self._context = hashlib.sha256(code_digest() + JSON.encode(self.reading))
        self._contents: dict[date, tuple[int, bytes]] = {}
        self._read: list[dict[str, object]] = []

    def load(self, connection: Connection, days: Collection[date]) -> None:
        """Read the entries of `days`."""
        entry = client_invoice_digest.c
        mine = (entry.id_entity == self.reading.id_entity) & entry.day.in_(days)
        found = connection.execute(select(entry.day, entry.digest, entry.facts).where(mine))
        self.known = {each.day: (each.digest, JSON.encode(each.facts)) for each in found}

    def read(self, window: Window, body: bytes) -> Response:
        """Return a response, not decoded if each of its days is cached; raise `MalformedResponse`."""
        try:
            raws, numbers = split(body, self.reading.range_date)
        except UNREADABLE:
            return self._reader.read(body)
        contents = self._contents_of(window, raws, numbers)
        self._contents |= contents
        days = {day: self._facts(day, content) for day, (_, content) in contents.items()}
        known = {day: each for day, each in days.items() if each is not None}
        if known and len(known) == window.days:
            return KnownResponse(body, known)
        return self._reader.read(body, raws)

    def add(self, window: Window, facts: Mapping[date, DayFacts], rows: pa.Table) -> None:
        """Keep the days of a decoded response whose rows are all valid and in the window, for `save`."""
        packed, first = _packed(rows), 0
        for day in window:
            count, content = self._contents.get(day, (-1, b""))
            of_day = facts.get(day, DayFacts())
            of_day.stored = content_digest(packed[first : first + of_day.rows].tobytes()).hex()
            first += of_day.rows
            if count == of_day.rows:
                json = JSON.encode(of_day)
                self._read.append(
                    {
                        "id_entity": self.reading.id_entity,
                        "day": day,
                        "digest": hashlib.sha256(content + json).digest(),
                        "facts": msgspec.json.decode(json),
                    }
                )

    def save(self, connection: Connection) -> None:
        """Store the decoded days."""
        if self._read:
            statement = insert(client_invoice_digest)
            new = {name: statement.excluded[name] for name in ("digest", "facts")}
            key = ["id_entity", "day"]
            connection.execute(
                statement.on_conflict_do_update(index_elements=key, set_=new), self._read
            )

    def _contents_of(
        self, window: Window, raws: list[msgspec.Raw], numbers: list[Any]
    ) -> dict[date, tuple[int, bytes]]:
        """Return number and digest of each day's rows; nothing if a row has no day of the window."""
        days: dict[str | None, date | None] = {}
        by_day: dict[date | None, list[msgspec.Raw]] = {day: [] for day in window}
        # The service may list the same rows in another order.
        for row, raw in sorted(
            zip(numbers, raws, strict=True), key=lambda each: each[0].id_invoice
        ):
            text = getattr(row, self.reading.range_date)
            if text not in days:
                days[text] = self._day(text)
                if days[text] not in by_day:
                    return {}
            by_day[days[text]].append(raw)
        return {day: (len(rows), self._digest(rows)) for day, rows in by_day.items() if day}

    def _day(self, text: str | None) -> date | None:
        try:
            return parse_date(text, self.reading.zone) if text else None
        except ValueError:
            return None

    def _digest(self, raws: list[msgspec.Raw]) -> bytes:
        digest = self._context.copy()
        digest.update(b"\n".join(raws))
        return digest.digest()

    def _facts(self, day: date, content: bytes) -> DayFacts | None:
        digest, json = self.known.get(day, (b"", b""))
        if hashlib.sha256(content + json).digest() != digest:
            return None
        return msgspec.json.decode(json, type=DayFacts)


def _packed(rows: pa.Table) -> "np.ndarray[tuple[int, int], np.dtype[np.uint8]]":
    """Return the bytes of each row as `stored_rows` does, in the order of day and id."""
    rows = rows.select(["_counted_day", "id_invoice", "_row_hash"])
    rows = rows.sort_by([("_counted_day", "ascending"), ("id_invoice", "ascending")])
    ids = rows.column("id_invoice").to_numpy().astype(">i8").view(np.uint8).reshape(-1, 8)
    hashes = b"".join(rows.column("_row_hash").to_pylist())
    return np.hstack([ids, np.frombuffer(hashes, np.uint8).reshape(-1, 16)])


def ids_of(packed: bytes) -> IdArray:
    """Return the ids of `stored_rows`."""
    return np.frombuffer(packed, [("id", ">i8"), ("hash", "V16")])["id"].astype(np.int64)


@cache
def code_digest() -> bytes:
    """Return a digest of the code and of the libraries that decode responses."""
    digest = hashlib.sha256(f"{msgspec.__version__} {pa.__version__}".encode())
    for package in CODE:
        for path in sorted(Path(import_module(package).__path__[0]).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()
