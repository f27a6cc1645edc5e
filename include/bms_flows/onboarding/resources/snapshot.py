"""What the service listed of a resource at a given time, without personal data.

Planning reads the lists for a drop and stores what they showed. Later steps read only records that are
new since then, and resolve an ambiguous creation by these new records.
"""

import zlib
from array import array
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

import msgspec

from bms_flows.onboarding.resources.evidence import NAME, ServiceRecord
from bms_flows.runtime.list_snapshot import End, ListSnapshot


class ServiceLists(msgspec.Struct, frozen=True, kw_only=True):
    """The lists of a resource by name, and their records by remote id.

    `taken_at` is the database's time before the first request. The rows of a list are fingerprints by
    remote id. What is stored contains only the records that may match rows of its drop.
    """

    taken_at: datetime
    lists: Mapping[str, ListSnapshot]
    records: Mapping[str, ServiceRecord]
    rules: str = ""
    """In a stored snapshot, the `rules_version` by which its records were chosen."""

    def contains(self, remote_id: str) -> bool:
        """Return whether a list contained a record, changed or not."""
        return any(remote_id in each.rows for each in self.lists.values())

    def shows_deleted(self, remote_id: str) -> bool:
        """Return whether a list shows a record as deleted."""
        return remote_id in self.records and self.records[remote_id].deleted

    def ids(self, names: Collection[str]) -> set[str]:
        """Return the remote ids of the named lists."""
        lists = (self.lists[name] for name in names if name in self.lists)
        return {str(each) for shown in lists for each in shown.rows}

    def new_since(self, earlier: "ServiceLists | None") -> list[ServiceRecord]:
        """Return the records that are new or changed since `earlier`; all records without it."""
        lists = () if earlier is None else earlier.lists.values()
        return [
            known
            for known in self.records.values()
            if not any(each.shows(known.remote_id, known.fingerprint) for each in lists)
        ]

    def refreshed(
        self, at: datetime, lists: Mapping[str, ListSnapshot], records: Mapping[str, ServiceRecord]
    ) -> "ServiceLists":
        """Return the snapshot with newer lists and their records."""
        found = ServiceLists(taken_at=at, lists={**self.lists, **lists}, records={})
        merged = {**self.records, **records}
        return msgspec.structs.replace(
            found, records={each: merged[each] for each in merged if found.contains(each)}
        )

    def narrowed(self, digests: AbstractSet[str], remote_ids: Collection[str]) -> "ServiceLists":
        """Return the snapshot with only the records that have one of `digests` or `remote_ids`, without values."""
        wanted = {
            known.remote_id: msgspec.structs.replace(known, values={})
            for known in self.records.values()
            if known.remote_id in remote_ids
            or not digests.isdisjoint((known.key, *known.other_digests))
            or known.comparison_fields.get(NAME) in digests
        }
        return msgspec.structs.replace(self, records=wanted)


def listed(records: Iterable[ServiceRecord], **given: Any) -> ListSnapshot:
    """Return the snapshot of a list of `records`."""
    return ListSnapshot({known.remote_id: known.fingerprint for known in records}, **given)


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


def encode_lists(snapshot: ServiceLists) -> bytes:
    """Return a snapshot as compressed bytes."""
    lists = {
        name: _StoredList(
            [str(each) for each in listed.rows],
            array("I", listed.rows.values()).tobytes(),
            listed.page_size,
            listed.newest,
        )
        for name, listed in snapshot.lists.items()
    }
    stored = _Stored(snapshot.taken_at, lists, list(snapshot.records.values()), snapshot.rules)
    return zlib.compress(msgspec.msgpack.encode(stored), 1)


def decode_lists(content: bytes) -> ServiceLists:
    """Read a snapshot that `encode_lists` wrote."""
    stored = _DECODER.decode(zlib.decompress(content))
    lists = {
        name: ListSnapshot(
            dict(zip(each.ids, array("I", each.fingerprints), strict=True)),
            each.page_size,
            each.newest,
        )
        for name, each in stored.lists.items()
    }
    records = {known.remote_id: known for known in stored.records}
    return ServiceLists(taken_at=stored.taken_at, lists=lists, records=records, rules=stored.rules)
