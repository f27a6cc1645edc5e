"""Snapshot of the service's lists: the records at a given time, without personal data.

Planning takes a snapshot for a drop. Later steps read only records that are new since the snapshot,
and resolve an ambiguous creation by these new records.
"""

import zlib
from array import array
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Literal, Self

import msgspec

from bms_flows.onboarding.resources.evidence import ServiceRecord

End = Literal["start", "end"]


class ListState(msgspec.Struct, frozen=True, kw_only=True):
    """State of a list: fingerprints of its records by remote id."""

    fingerprints: Mapping[str, int]
    page_size: int = 0
    """Rows per full page as returned by the service; 0 for a list without pages."""
    newest: End | None = None
    """The end of the list at which new records appear, None if unknown."""

    @classmethod
    def of(
        cls, records: Iterable[ServiceRecord], page_size: int = 0, newest: End | None = None
    ) -> Self:
        """Return the state of a list of `records`."""
        fingerprints = {known.remote_id: known.fingerprint for known in records}
        return cls(fingerprints=fingerprints, page_size=page_size, newest=newest)

    def shows(self, known: ServiceRecord) -> bool:
        """Return whether the list contained an equal record."""
        return self.fingerprints.get(known.remote_id) == known.fingerprint


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The lists of a resource at a given time, by name, and their records by remote id.

    `taken_at` is the database's time before the first request. A stored snapshot contains only the
    records that may match rows of its drop.
    """

    taken_at: datetime
    lists: Mapping[str, ListState]
    records: Mapping[str, ServiceRecord]
    rules: str = ""
    """In a stored snapshot, the `rules_version` by which its records were chosen."""

    def contains(self, remote_id: str) -> bool:
        """Return whether a list contained a record, changed or not."""
        return any(remote_id in each.fingerprints for each in self.lists.values())

    def new_since(self, earlier: "Snapshot | None") -> list[ServiceRecord]:
        """Return the records that are new or changed since an earlier snapshot.

        Without an earlier snapshot, return all records.
        """
        if earlier is None:
            return list(self.records.values())
        return [
            known
            for known in self.records.values()
            if not any(each.shows(known) for each in earlier.lists.values())
        ]

    def refreshed(
        self, at: datetime, lists: Mapping[str, ListState], records: Mapping[str, ServiceRecord]
    ) -> "Snapshot":
        """Return the snapshot with newer lists and their records."""
        found = Snapshot(taken_at=at, lists={**self.lists, **lists}, records={})
        merged = {**self.records, **records}
        return msgspec.structs.replace(
            found, records={each: merged[each] for each in merged if found.contains(each)}
        )

    def narrowed(self, digests: Collection[str], remote_ids: Collection[str]) -> "Snapshot":
        """Return the snapshot with only the records that match `digests` or `remote_ids`, without values."""
        wanted = {
            known.remote_id: msgspec.structs.replace(known, values={})
            for known in self.records.values()
            if known.remote_id in remote_ids
            or any(digest in digests for digest in (known.key, *known.other_digests))
        }
        return msgspec.structs.replace(self, records=wanted)


class _StoredList(msgspec.Struct, array_like=True):
    ids: list[str]
    fingerprints: bytes
    page_size: int
    newest: End | None


class _Stored(msgspec.Struct, array_like=True):
    taken_at: datetime
    lists: dict[str, _StoredList]
    records: list[ServiceRecord]
    rules: str


_DECODER = msgspec.msgpack.Decoder(_Stored)


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return a snapshot as compressed bytes."""
    lists = {
        name: _StoredList(
            list(each.fingerprints),
            array("I", each.fingerprints.values()).tobytes(),
            each.page_size,
            each.newest,
        )
        for name, each in snapshot.lists.items()
    }
    stored = _Stored(snapshot.taken_at, lists, list(snapshot.records.values()), snapshot.rules)
    return zlib.compress(msgspec.msgpack.encode(stored), 1)


def decode_snapshot(content: bytes) -> Snapshot:
    """Read a snapshot that `encode_snapshot` wrote."""
    stored = _DECODER.decode(zlib.decompress(content))
    lists = {
        name: ListState(
            fingerprints=dict(zip(each.ids, array("I", each.fingerprints), strict=True)),
            page_size=each.page_size,
            newest=each.newest,
        )
        for name, each in stored.lists.items()
    }
    records = {known.remote_id: known for known in stored.records}
    return Snapshot(taken_at=stored.taken_at, lists=lists, records=records, rules=stored.rules)
