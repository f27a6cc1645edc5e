"""Caches of encoded responses: days of invoices, and whole responses in fast mode."""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from bms_sandbox.errors import Reply
from bms_sandbox.invoices import FAR, InvoiceBook
from bms_sandbox.row_encoder import RowEncoder

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Rendered:
    """A cached part of a response, with its version and the end of its validity."""

    content: bytes
    stamp: Any
    encoder: RowEncoder
    made_at: datetime
    holds_until: datetime


@dataclass
class InvoiceDayCache:
    """LRU cache of days of invoices as comma-joined JSON, up to `limit` bytes."""

    book: InvoiceBook
    names: tuple[str, ...]
    limit: int = 64 * MEGABYTE
    _kept: OrderedDict[tuple[int, date, str], Rendered] = field(default_factory=OrderedDict)
    _size: int = 0

    def chunk(
        self, id_entity: int, day: date, language: str, encoder: RowEncoder, now: datetime
    ) -> bytes:
        """Return the invoices dated `day` at time `now`.

        A cached day is valid while the dialect, the day and the fields of its invoices stay the same.
        """
        key, stamp = (id_entity, day, language), self.book.stamp(id_entity, day)
        kept = self._kept.get(key)
        if (
            kept
            and kept.encoder is encoder
            and kept.stamp == stamp
            and kept.made_at <= now < kept.holds_until
        ):
            self._kept.move_to_end(key)
            return kept.content
        rows = self.book.day(id_entity, day)
        order = reversed(rows) if encoder.dialect.list_order == "id_desc" else rows
        shown = (row.as_of(now, language) for row in order if row.created_on <= now)
        content = encoder.joined(shown, self.names)
        until = min((row.next_change(now) for row in rows), default=FAR)
        self._keep(key, Rendered(content, stamp, encoder, now, until))
        return content

    def _keep(self, key: tuple[int, date, str], rendered: Rendered) -> None:
        old = self._kept.pop(key, None)
        self._size += len(rendered.content) - (len(old.content) if old else 0)
        self._kept[key] = rendered
        while self._size > self.limit:
            _, dropped = self._kept.popitem(last=False)
            self._size -= len(dropped.content)


@dataclass
class ResponseCache:
    """Cache of whole responses by request, valid for one version of the service's state."""

    limit: int = 2_000 * MEGABYTE
    _version: Any = None
    _kept: dict[tuple[str, bytes], Reply] = field(default_factory=dict)
    _size: int = 0

    def get(self, question: tuple[str, bytes], version: Any) -> Reply | None:
        """Return the cached response; clear the cache if `version` changed."""
        if version != self._version:
            self._kept.clear()
            self._version, self._size = version, 0
        return self._kept.get(question)

    def put(self, question: tuple[str, bytes], reply: Reply) -> None:
        """Cache a response unless the cache is full."""
        if self._size + len(reply.body) <= self.limit:
            self._kept[question] = reply
            self._size += len(reply.body)
