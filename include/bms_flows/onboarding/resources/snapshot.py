"""A snapshot of the service's lists: which records they contained at a time, without personal data.

A drop takes one snapshot when it is planned. Later steps read only what is new since, and a row that
was sent is resolved by what its snapshot lacked.
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
    """One list: a fingerprint of each of its records, by remote id."""

    fingerprints: Mapping[str, int]
    page_size: int = 0
    """Rows of a full page, as the service gave them; 0 for a list without pages."""
    newest: End | None = None
    """The end at which the list shows new records; None where no order was seen."""

    @classmethod
    def of(
        cls, records: Iterable[ServiceRecord], page_size: int = 0, newest: End | None = None
    ) -> Self:
        """Return the state of a list that contains `records`."""
        fingerprints = {known.remote_id: known.fingerprint for known in records}
        return cls(fingerprints=fingerprints, page_size=page_size, newest=newest)

    def shows(self, known: ServiceRecord) -> bool:
        """Whether the list contained a record as it is now."""
        return self.fingerprints.get(known.remote_id) == known.fingerprint


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The lists of a resource at a time, by name, and the records themselves, by remote id.

    `taken_at` is the database's time before the first request. A stored snapshot carries only the
    records that concern its drop.
    """

    taken_at: datetime
    lists: Mapping[str, ListState]
    records: Mapping[str, ServiceRecord]

    def contains(self, remote_id: str) -> bool:
        """Whether a list contained a record, in whatever state."""
        return any(remote_id in each.fingerprints for each in self.lists.values())

    def new_since(self, earlier: "Snapshot | None") -> list[ServiceRecord]:
        """Return the records that an earlier snapshot lacked or contained otherwise.

        Without an earlier snapshot nothing is known to have existed: all of them.
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
        """Return the snapshot with newer lists, and with the records that these were seen to contain."""
        found = Snapshot(taken_at=at, lists={**self.lists, **lists}, records={})
        merged = {**self.records, **records}
        return msgspec.structs.replace(
            found, records={each: merged[each] for each in merged if found.contains(each)}
        )

    def narrowed(self, digests: Collection[str], remote_ids: Collection[str]) -> "Snapshot":
        """Return the snapshot with only the records found by `digests` or named, without values."""
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


_DECODER = msgspec.msgpack.Decoder(_Stored)


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return a snapshot as compressed bytes; `decode_snapshot` reads them."""
    lists = {
        name: _StoredList(
            list(each.fingerprints),
            array("I", each.fingerprints.values()).tobytes(),
            each.page_size,
            each.newest,
        )
        for name, each in snapshot.lists.items()
    }
    stored = _Stored(snapshot.taken_at, lists, list(snapshot.records.values()))
    return zlib.compress(msgspec.msgpack.encode(stored), 1)


def decode_snapshot(content: bytes) -> Snapshot:
    """Read what `encode_snapshot` wrote."""
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
    return Snapshot(taken_at=stored.taken_at, lists=lists, records=records)
