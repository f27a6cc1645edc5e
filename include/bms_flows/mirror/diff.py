"""Pages taken in: each row held against the mirror; what is new or differs goes on to staging."""

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from operator import attrgetter
from typing import Any

from bms.responses import Page
from bms_flows.mirror.decisions import Flags, ServiceRecord
from bms_flows.mirror.flags import Flag
from bms_flows.mirror.resource import Resource, Source
from bms_flows.mirror.responses import Answers
from bms_flows.mirror.rows import Extra, Listed, digest_of, rename
from bms_flows.mirror.staging import Unfit
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.list_reader import KeyedRows
from bms_flows.runtime.quarantine import InvalidRow

CHUNK = 2_000
"""Items handed on to staging at once."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the lists say of a row beside its fields."""

    flags: Flags
    deleted: bool
    digest: bytes
    extra: Extra | None


@dataclass
class Intake:
    """What the lists of a run hold, beside what stands."""

    resource: Resource
    source: Source
    known: Mapping[Key, ServiceRecord]
    flags: Mapping[str, Flag]
    """By flag's column, what tells a row's flag."""
    details: bool
    """Whether details are read."""
    turns: Container[Key]
    """The rows whose details are read again though nothing about them changed."""
    day: date
    answers: Answers
    stage: Callable[[Sequence[Listed]], Awaitable[None]]
    """Takes rows that are new or differ, a chunk at a time; the latest state of each counts."""
    bad: set[Key] = field(default_factory=set)
    """Of the rows seen, those that can't be loaded."""
    unread: set[Key] = field(default_factory=set)
    """Rows whose details were read and can't be loaded."""
    aside: dict[str, InvalidRow] = field(default_factory=dict)
    """What is set aside, by the row's key, or its digest where it has no key."""
    changed: dict[Key, None] = field(default_factory=dict)
    """New or different rows, in the order they came."""
    incomplete: dict[Key, None] = field(default_factory=dict)
    due: dict[Key, None] = field(default_factory=dict)
    any_deleted: bool = False
    _digests: dict[Key, bytes] = field(default_factory=dict)
    """Of every row that could be read, in its latest state."""
    _extras: dict[Key, Extra] = field(default_factory=dict)
    _deleted: set[Key] = field(default_factory=set)
    _waiting: dict[Key, Listed] = field(default_factory=dict)

    async def take(self, page: Page[Any], *, deleted: bool = False) -> KeyedRows:
        """Take a page in; return the key and digest of each row that can be read."""
        rows: list[tuple[Key, bytes]] = []
        news = bool(page.rejected)
        for rejected in page.rejected:
            self._reject(rejected.key, rejected.code, rejected.field, rejected.raw)
        key_of = attrgetter(self.resource.key)
        members = [self.flags[name] for name in self.resource.flags]
        constants = tuple(self.source.constants.values())
        for place, record in enumerate(page.records):
            extra = page.extra.get(place)
            if extra:
                extra = self.resource.unknown(rename(record, extra, self.resource.aliases)) or None
            key = key_of(record)
            flags = tuple([each(key) for each in members])
            said = getattr(record, "deleted", None)
            gone = deleted if said is None else said  # its own word goes before its list's
            digest = digest_of(record, extra, _said(flags, gone, constants))
            rows.append((key, digest))
            # A reading is taken in twice: what it says again was held against the mirror already.
            if self._digests.get(key) != digest:
                news |= self._compare(key, Listed(record, digest, extra, flags, gone))
        if len(self._waiting) >= CHUNK:
            await self._hand_on()
        if news:
            self.answers.keep("pages", self.resource.public(page.body))
        return rows

    def _compare(self, key: Key, item: Listed) -> bool:
        """Hold a row against what stands, unless it came differently before; tell if it differs."""
        known = None if key in self._digests else self.known.get(key)
        self._digests[key] = item.digest
        self.any_deleted |= item.deleted
        if known and known.list_hash == item.digest and known.gone != "missing":
            if not known.detailed and self.details:
                self.incomplete[key] = None
            elif key in self.turns:
                self.due[key] = None
            else:
                return False
            self._remember(key, item)
            return False
        self._remember(key, item)
        self._waiting[key] = item
        self.changed[key] = None
        return True

    def _remember(self, key: Key, item: Listed) -> None:
        """Keep what a detail of the row will be seen beside."""
        if item.extra:
            self._extras[key] = item.extra
        else:
            self._extras.pop(key, None)
        if item.deleted:
            self._deleted.add(key)
        else:
            self._deleted.discard(key)

    async def _hand_on(self) -> None:
        items = list(self._waiting.values())
        self._waiting.clear()
        await self.stage(items)

    async def end(self) -> None:
        """Hand on what is left."""
        if self._waiting:
            await self._hand_on()

    def _reject(self, key: Key | None, code: str, name: str | None, raw: bytes) -> None:
        if key is not None:
            self.bad.add(key)
        self._set_aside(key, code, name, raw)

    def _set_aside(self, key: Key | None, code: str, name: str | None, raw: bytes) -> None:
        """Put what can't be loaded, a whole row or its detail, among what goes to quarantine."""
        bad = InvalidRow.of(key, code, name, self.resource.public(raw), self.day)
        self.aside[bad.row_key] = bad

    def refuse(self, unfit: Unfit) -> None:
        """Set aside what can't be loaded: a row, or a part of it that is then still to be read."""
        if unfit.part:
            self.unread.add(unfit.key)
            self._set_aside(f"{unfit.key} {unfit.part}", unfit.code, unfit.field, unfit.raw)
        else:
            self._reject(unfit.key, unfit.code, unfit.field, unfit.raw)

    @property
    def seen(self) -> set[Key]:
        """Every row that a list had, whether it can be loaded or not."""
        return self._digests.keys() | self.bad

    @property
    def keyless(self) -> int:
        """Rows that have no key that can be read."""
        return sum(row_key.startswith("sha256:") for row_key in self.aside)

    def said(self, key: Key) -> Said | None:
        """Return what the lists say of a row whose detail may be read; None if they lack it."""
        digest = self._digests.get(key)
        if digest is None:
            return None
        flags = tuple([self.flags[name](key) for name in self.resource.flags])
        return Said(flags, key in self._deleted, digest, self._extras.get(key))

    def stands(self, key: Key) -> bool:
        """Tell whether a list had the row just as it stands here, detail and all."""
        return key in self._digests and key not in self.changed and key not in self.incomplete

    def good(self) -> list[Key]:
        """Return the new and different rows that can be loaded, those that stand here first."""
        latest = [key for key in self.changed if key not in self.bad]
        return sorted(latest, key=lambda key: key not in self.known)


@cache
def _said(flags: Flags, deleted: bool, constants: tuple[Any, ...]) -> bytes:
    """Return what a list says of a row as its digest takes it in."""
    return repr((flags, deleted, *constants)).encode()
