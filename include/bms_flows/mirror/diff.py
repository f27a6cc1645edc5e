"""Diff of the lists against the mirror: new and changed rows are staged, responses stored."""

from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec

from bms.records import Record
from bms.responses import Page
from bms_flows.mirror.decisions import Flags, MirrorRow
from bms_flows.mirror.flags import FlagOf
from bms_flows.mirror.resource import MirroredResource, MirrorSource
from bms_flows.mirror.responses import ResponseFiles
from bms_flows.mirror.rows import Extra, ListItem, ListState, as_lines, digest_of, rename
from bms_flows.mirror.staging import UnstorableRow
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.digests import content_digest
from bms_flows.runtime.list_snapshot import KeyedRow, KeyedRows
from bms_flows.runtime.quarantine import InvalidRow

CHUNK = 2_000
"""Items staged at once."""
State = tuple[Flags, bool]
"""Flags of a row, and whether its own field states that it is deleted."""
RecalledRow = tuple[Key, bytes, State]
"""Key, list hash and state of a row that an earlier run compared."""


@dataclass
class ListDiff:
    """Rows of the lists of a run, compared with the mirror."""

    resource: MirroredResource
    source: MirrorSource
    known: Mapping[Key, MirrorRow]
    flags: Mapping[str, FlagOf]
    """By flag column, in the resource's order, the function that returns the flag of a row."""
    details: bool
    """Whether details are read."""
    rotation: Container[Key]
    """Rows whose details are read again although the rows are unchanged."""
    day: date
    responses: ResponseFiles
    stage: Callable[[Sequence[ListItem]], Awaitable[None]]
    """Stages a chunk of new or changed rows; a later state of a row replaces an earlier one."""
    volatile: frozenset[str] = frozenset()
    """Unknown fields that are left out, because they change with every response."""
    recalled: Iterable[tuple[bytes, RecalledRow]] = ()
    """Rows of the last run, with the digests of their bytes."""
    invalid: set[Key] = field(default_factory=set)
    """Rows of the lists that the mirror cannot store."""
    invalid_details: set[Key] = field(default_factory=set)
    """Rows whose details the mirror cannot store, or that the next run reads again."""
    quarantined: dict[str, InvalidRow] = field(default_factory=dict)
    """Rows for quarantine, by key; by digest if the key is unreadable."""
    changed: dict[Key, None] = field(default_factory=dict)
    """New or changed rows, in the order of the lists."""
    incomplete: dict[Key, None] = field(default_factory=dict)
    """Unchanged rows whose details have not been read yet."""
    due: dict[Key, None] = field(default_factory=dict)
    """Unchanged rows in the rotation."""
    unsettled: dict[Key, bytes | None] = field(default_factory=dict)
    """Changed rows, which may have several states in this run, so that they are compared each time.

    By key, the digest of their latest bytes.
    """
    corrected: set[Key] = field(default_factory=set)
    """Rows whose flags changed after they were compared."""
    compared: dict[bytes, Key] = field(default_factory=dict)
    """Rows that have been compared, by the digest of their bytes: an equal row is not decoded again."""
    _digests: dict[Key, bytes | None] = field(default_factory=dict)
    """Digest of every readable row, in its latest state."""
    _extras: dict[Key, Extra] = field(default_factory=dict)
    _deleted: set[Key] = field(default_factory=set)
    """Rows of the lists and recalled rows that are deleted."""
    _unchanged: int = -1
    """Number of rows if the mirror has all `recalled` ones, otherwise -1."""
    _waiting: dict[Key, ListItem] = field(default_factory=dict)

    def find(self, raws: Sequence[msgspec.Raw]) -> tuple[Sequence[bytes], list[KeyedRow | None]]:
        """Return the digest of each row as received, and the row if it has been compared already."""
        marks = [*map(content_digest, raws)]
        digests, unsettled, corrected = self._digests, self.unsettled, self.corrected
        return marks, [
            None
            if key is None or key in unsettled or key in corrected
            else (key, digests.get(key) or self.known[key].list_hash)
            for key in map(self.compared.get, marks)
        ]

    async def add(self, page: Page[Any], *, deleted: bool = False) -> KeyedRows:
        """Compare the rows of a page; return the key and digest of each readable row."""
        relevant = bool(page.rejected)
        for rejected in page.rejected:
            self._reject(rejected.key, rejected.code, rejected.field, rejected.raw)
        key_of = attrgetter(self.resource.key)
        constants = (self.source.id_entity,) * len(self.resource.constants)
        rows = [*page.records]
        new = dict.fromkeys(range(len(rows))) if page.new is None else page.new
        extras = {index: self._unknown(rows[index], extra) for index, extra in page.extra.items()}
        lines = as_lines([rows[index] for index in new])
        for (index, mark), line in zip(new.items(), lines, strict=True):
            record, extra = rows[index], extras.get(index)
            key = key_of(record)
            flags = self._flags(key)
            own = getattr(record, "deleted", None)
            removed = deleted if own is None else own  # the row's own field precedes its list
            if removed:
                self._deleted.add(key)
            else:
                self._deleted.discard(key)
            digest = digest_of(line, extra, _list_digest(flags, removed, constants))
            # Lists are read more than once; repeated rows have been compared already.
            if self._digests.get(key) != digest:
                listed = ListState(digest, extra, flags, removed)
                relevant |= self._compare(key, ListItem(record, listed))
            rows[index] = key, digest
            if mark is not None:
                self.compared[mark] = key
            if key in self.unsettled:
                self.unsettled[key] = mark
        for key, digest in rows:
            self._digests.setdefault(key, digest)
        if len(self._waiting) >= CHUNK:
            await self.flush()
        if relevant:
            await self.responses.append("pages", self.resource.public(page.body))
        return rows

    def recall(self) -> None:
        """Regard the `recalled` rows as compared if all that a comparison decides on is unchanged."""
        whole = True
        for mark, (key, digest, (flags, deleted)) in self.recalled:
            known = self.known.get(key)
            if (
                known is not None
                and known.list_hash == digest
                and known.removal != "missing"
                and (known.detailed or not self.details)
                and key not in self.rotation
                and flags == self._flags(key)
            ):
                self.compared[mark] = key
                if deleted:
                    self._deleted.add(key)
            else:
                whole = False
        self.recalled = ()
        self._unchanged = len(self.compared) if whole else -1

    @property
    def unchanged(self) -> bool:
        """Whether the lists had only recalled rows, and the mirror has them all."""
        return len(self.compared) == self._unchanged and not self.corrected

    @property
    def any_deleted(self) -> bool:
        """Whether the lists had a deleted row."""
        return not self._deleted.isdisjoint(self._digests)

    def latest(self) -> Iterator[tuple[bytes, RecalledRow]]:
        """Yield the compared rows in their latest state, for the next run to recall."""
        for mark, key in self.compared.items():
            digest = self._digests.get(key)
            if digest and key not in self.corrected and self.unsettled.get(key, mark) == mark:
                yield mark, (key, digest, (self._flags(key), key in self._deleted))

    def _flags(self, key: Key) -> Flags:
        return tuple([flag(key) for flag in self.flags.values()])

    def _unknown(self, record: Record, extra: dict[str, Any]) -> Extra | None:
        """Move renamed fields into the record; return the other unknown fields, without volatile ones."""
        extra = self.resource.unknown(rename(record, extra, self.resource.aliases))
        return self.stable(extra) or None

    def stable(self, extra: dict[str, Any]) -> dict[str, Any]:
        """Return unknown fields without volatile ones."""
        return {name: value for name, value in extra.items() if name not in self.volatile}

    def _compare(self, key: Key, item: ListItem) -> bool:
        """Compare a row with its earlier state in this run, otherwise with the mirror; return whether they differ."""
        known = self.known.get(key)
        again = key in self._digests
        as_known = (
            not again
            and known is not None
            and known.list_hash == item.listed.digest
            and known.removal != "missing"
        )
        self._digests[key] = item.listed.digest
        if again or (known is not None and not as_known):
            self.unsettled[key] = None
        if self.source.preceding and self._belongs_to_another(key):
            return False
        if as_known:
            if self.details and not self.known[key].detailed:
                self.incomplete[key] = None
            elif key in self.rotation:
                self.due[key] = None
            else:
                return False
            self._remember(key, item)
            return False
        self._remember(key, item)
        self._waiting[key] = item
        self.changed[key] = None
        return True

    def _belongs_to_another(self, key: Key) -> bool:
        """Return whether the mirror has the row as one of a list that takes precedence."""
        known = self.known.get(key)
        return known is not None and known.is_listed_by(self.source.preceding)

    def _remember(self, key: Key, item: ListItem) -> None:
        """Remember the values of the row that its detail lacks."""
        if item.listed.extra:
            self._extras[key] = item.listed.extra
        else:
            self._extras.pop(key, None)

    async def flush(self) -> None:
        """Stage the rows that are still waiting."""
        if self._waiting:
            items = list(self._waiting.values())
            self._waiting.clear()
            await self.stage(items)

    def _reject(self, key: Key | None, code: str, name: str | None, raw: bytes) -> None:
        if key is not None:
            self.invalid.add(key)
        self._quarantine(key, code, name, raw)

    def _quarantine(self, key: Key | None, code: str, name: str | None, raw: bytes) -> None:
        """Collect a row or detail for quarantine."""
        bad = InvalidRow.of(key, code, name, self.resource.public(raw), self.day)
        self.quarantined[bad.row_key] = bad

    def reject(self, row: UnstorableRow) -> None:
        """Quarantine a row that the mirror cannot store, or only a part of the row."""
        if row.part:
            self.invalid_details.add(row.key)
            self._quarantine(f"{row.key} {row.part}", row.code, row.field, row.raw)
        else:
            self._reject(row.key, row.code, row.field, row.raw)

    @property
    def seen(self) -> AbstractSet[Key]:
        """Every row of the lists, valid or not."""
        return self._digests.keys() | self.invalid if self.invalid else self._digests.keys()

    @property
    def rejected(self) -> int:
        """Number of rows that the mirror cannot store."""
        return len(self.invalid) + self.keyless

    @property
    def keyless(self) -> int:
        """Number of rows without a readable key."""
        return sum(row_key.startswith("sha256:") for row_key in self.quarantined)

    def list_state(self, key: Key) -> ListState | None:
        """Return the state of a row whose detail may be read; None if the lists lack the row."""
        digest = self._digests.get(key)
        if digest is None:
            return None
        return ListState(digest, self._extras.get(key), self._flags(key), key in self._deleted)

    def is_unchanged(self, key: Key) -> bool:
        """Return whether the mirror already has the row of the list and its detail."""
        return key in self._digests and key not in self.changed and key not in self.incomplete

    def storable(self) -> list[Key]:
        """Return new and changed rows that the mirror can store; changed rows first."""
        latest = [key for key in self.changed if key not in self.invalid]
        return sorted(latest, key=lambda key: key not in self.known)


@cache
def _list_digest(flags: Flags, deleted: bool, constants: tuple[Any, ...]) -> bytes:
    """Return the part of a row's digest that depends on its lists."""
    return repr((flags, deleted, *constants)).encode()
