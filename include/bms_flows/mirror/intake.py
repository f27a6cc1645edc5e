"""Pages taken in: each row held against the mirror; what is new or differs is kept as columns."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pyarrow as pa

from bms.answers import Page
from bms_flows.mirror.answers import Answers
from bms_flows.mirror.coverage import Key
from bms_flows.mirror.decisions import Known, Rotation
from bms_flows.mirror.reading import Rows
from bms_flows.mirror.resource import Resource, Source
from bms_flows.mirror.rows import Extra, Listed, as_it_came, digest_of, listed_rows, rename
from bms_flows.quarantine import Bad

CHUNK = 2_000
"""Items turned to columns at once."""


@dataclass(slots=True)
class Said:
    """What the lists say of a row beside its fields."""

    flags: tuple[bool, ...]
    deleted: bool
    digest: bytes | None = None
    extra: Extra | None = None


@dataclass
class Intake:
    """What the lists of a run hold, beside what stands."""

    resource: Resource
    source: Source
    known: Mapping[Key, Known]
    zone: str
    flags: Mapping[str, Container[Key]]
    """The rows for which each flag is true."""
    rotation: Rotation | None
    full: bool
    day: date
    answers: Answers
    seen: set[Key] = field(default_factory=set)
    bad: set[Key] = field(default_factory=set)
    """Of the rows seen, those that can't be loaded."""
    aside: dict[str, Bad] = field(default_factory=dict)
    """What is set aside, by the row's key, or its digest where it has no key."""
    changed: dict[Key, int] = field(default_factory=dict)
    """New or different rows, and which of the chunks has the latest state of each."""
    incomplete: dict[Key, None] = field(default_factory=dict)
    due: dict[Key, None] = field(default_factory=dict)
    said: dict[Key, Said] = field(default_factory=dict)
    """Of rows whose detail may be read."""
    any_deleted: bool = False
    _digests: dict[Key, bytes] = field(default_factory=dict)
    _waiting: dict[Key, Listed] = field(default_factory=dict)
    _chunks: list[pa.Table] = field(default_factory=list)

    def take(self, page: Page[Any], *, deleted: bool = False) -> Rows:
        """Take a page in; return the key and digest of each row that can be read."""
        rows: list[tuple[Key, bytes]] = []
        news = bool(page.rejected)
        for rejected in page.rejected:
            self._reject(rejected.key, rejected.code, rejected.field, rejected.raw)
        for place, record in enumerate(page.records):
            extra = page.extra.get(place)
            if extra:
                extra = self.resource.unknown(rename(record, extra, self.resource.aliases)) or None
            key = getattr(record, self.resource.key)
            flags = tuple([key in self.flags[name] for name in self.resource.flags])
            gone = deleted or bool(getattr(record, "deleted", False))
            self.any_deleted |= gone
            digest = digest_of(record, extra, (flags, gone, *self.source.constants.values()))
            rows.append((key, digest))
            self.seen.add(key)
            if self._digests.get(key) != digest:
                news |= self._compare(key, Listed(record, digest, extra, flags, gone))
        if len(self._waiting) >= CHUNK:
            self._to_columns()
        if news:
            self.answers.keep("pages", self.resource.public(page.body))
        return rows

    def _compare(self, key: Key, item: Listed) -> bool:
        """Hold a row against what stands, unless it came differently before; tell if it differs."""
        known = None if key in self._digests else self.known.get(key)
        if known and known.list_hash == item.digest and known.gone != "vanished":
            if not known.detailed:
                self.incomplete[key] = None
            elif self.full or (self.rotation is not None and self.rotation.due(key)):
                self.due[key] = None
            else:
                return False
            self.said[key] = Said(item.flags, item.deleted, item.digest, item.extra)
            return False
        self._digests[key] = item.digest
        self.said[key] = Said(item.flags, item.deleted, item.digest, item.extra)
        self._waiting[key] = item
        self.changed[key] = len(self._chunks)
        return True

    def _to_columns(self) -> None:
        items = list(self._waiting.values())
        self._waiting.clear()
        framed = listed_rows(self.resource, items, self.zone, self.source.constants)
        for cell in framed.bad:
            item = items[cell.index]
            self._reject(
                item.record.key, cell.code, cell.field, as_it_came(item.record, item.extra)
            )
        self._chunks.append(framed.rows)

    def _reject(self, key: Key | None, code: str, name: str | None, raw: bytes) -> None:
        if key is not None:
            self.seen.add(key)
            self.bad.add(key)
        self.set_aside(key, code, name, raw)

    def set_aside(self, key: Key | None, code: str, name: str | None, raw: bytes) -> None:
        """Put what can't be loaded, a whole row or its detail, among what goes to quarantine."""
        bad = Bad.of(key, code, name, self.resource.public(raw), self.day)
        self.aside[bad.row_key] = bad

    @property
    def keyless(self) -> int:
        """Rows that have no key that can be read."""
        return sum(row_key.startswith("sha256:") for row_key in self.aside)

    def stands(self, key: Key) -> bool:
        """Tell whether a list had the row just as it stands here, detail and all."""
        return key in self.seen and key not in self.changed and key not in self.incomplete

    def good(self) -> list[Key]:
        """Return the new and different rows that can be loaded; the latest state of each counts."""
        if self._waiting:
            self._to_columns()
        latest = [key for key in self.changed if key not in self.bad]
        # Those that differ from what stands go first, then those that are new.
        return sorted(latest, key=lambda key: key not in self.known)

    def leftovers(self, detailed: set[Key]) -> Iterator[pa.Table]:
        """Yield the rows to be loaded as listed: those that no detail was read for."""
        for number, chunk in enumerate(self._chunks):
            wanted = [
                self.changed.get(key) == number and key not in detailed and key not in self.bad
                for key in chunk.column(self.resource.key).to_pylist()
            ]
            rows = chunk.filter(pa.array(wanted, pa.bool_()))
            if rows.num_rows:
                yield rows
