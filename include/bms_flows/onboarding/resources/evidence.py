"""Decision whether a POST of a row created a given record of the service. Pure.

A record in the snapshot taken before the row's first POST was not created by the row. A record that
is new since then and has the row's key was created by the row, whatever its `created_on`, unless its
comparison fields contradict the row. A reviewer decides on a record that was
deleted since or that another row claimed, and on possible matches: two persons may share a name. A new
record with the row's name only is a possible match, because a service may store a key otherwise than
it was sent.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from bms_flows.runtime.digests import content_digest

NAME: Final = "name"
"""The comparison field of a person's name, in every resource."""


class RecordIds(msgspec.Struct, frozen=True, gc=False):
    """Ids of a record of the service, as a create returns them."""

    remote_id: str
    number: int | None = None
    is_standby: bool | None = None


class ServiceRecord(RecordIds, frozen=True, kw_only=True, gc=False):
    """A record in a list of the service; its repr shows the id only."""

    key: str | None = None
    """Digest of the natural key, None if the list does not show it."""
    other_digests: tuple[str, ...] = ()
    """Digests of other keys and possible-match rules."""
    loose_digests: tuple[str, ...] = ()
    """The other digests that are looser forms of the key."""
    comparison_fields: Mapping[str, str | None] = {}
    """Digests of the comparison fields: name, start date, …"""
    distinguishing: tuple[str, ...] | None = None
    """Fields with a value that distinguishes the record from others of its name; None if unknown."""
    created_on: str | None = None
    """When the service created it, in the service's own form."""
    deleted: bool = False
    """Value of the service's `deleted` flag."""
    values: Mapping[str, Any] = {}
    """The fields by the names of the interface; never stored."""

    @property
    def fingerprint(self) -> int:
        """A hash of the digests by which the record is found and compared."""
        content = [self.key, self.other_digests, sorted(self.comparison_fields.items())]
        return int.from_bytes(content_digest(msgspec.json.encode(content), size=4))

    def __repr__(self) -> str:
        return f"ServiceRecord({self.remote_id})"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("remote_id", self.remote_id)]


class ExpectedRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The record that a POST of a row would have created, as digests."""

    key: str
    comparison_fields: Mapping[str, str | None]
    digests: Collection[str] = ()
    """All digests by which the record may be found."""

    def __repr__(self) -> str:
        return "ExpectedRecord(...)"


class Found(msgspec.Struct, frozen=True, gc=False):
    """Exactly one record belongs to the row; `evidence` contains the reasons as codes."""

    known: ServiceRecord
    evidence: tuple[str, ...]


class NothingFound(msgspec.Struct, frozen=True, gc=False):
    """No record suggests that a POST of the row was executed."""


class Ambiguous(msgspec.Struct, frozen=True, gc=False):
    """A reviewer chooses one of these records, or none."""

    candidates: tuple[str, ...]
    reason: str


Verdict = Found | NothingFound | Ambiguous


def resolve(
    expected: ExpectedRecord,
    shown: Iterable[ServiceRecord],
    *,
    claimed: Collection[str] = (),
    changed: Collection[str] = (),
) -> Verdict:
    """Return which of the records `shown` the POSTs of a row created.

    `shown` are the records that are new or changed since the row's snapshot; `changed` contains the
    ids of changed records, `claimed` the ids that belong to other rows of the ledger; records of rows
    that a reviewer decided to be other persons are not among them.
    """
    sure: dict[str, ServiceRecord] = {}
    doubtful: dict[str, ServiceRecord] = {}
    possible: dict[str, ServiceRecord] = {}
    for known in shown:
        found_by = {known.key, *known.other_digests}
        taken = known.remote_id in claimed
        if expected.key not in found_by or known.remote_id in changed:
            # A record that existed before the first POST can only have been edited since.
            matches = not found_by.isdisjoint(expected.digests)
            if matches or (
                not taken and known.remote_id not in changed and namesake(expected, known)
            ):
                possible[known.remote_id] = known
        elif taken or contradicted(expected.comparison_fields, known.comparison_fields):
            doubtful[known.remote_id] = known
        else:
            sure[known.remote_id] = known
    if len(sure) == 1 and not doubtful:
        [found] = sure.values()
        if found.deleted:
            return Ambiguous((found.remote_id,), "candidate_deleted")
        return Found(
            found, ("new", "key", *agreeing(expected.comparison_fields, found.comparison_fields))
        )
    if sure or doubtful:
        reason = "several_records" if len(sure) > 1 else "key_with_other_data"
        return Ambiguous(tuple(sorted({**sure, **doubtful})), reason)
    if possible:
        return Ambiguous(tuple(sorted(possible)), "similar_without_key")
    return NothingFound()


def hidden_key(
    details: Sequence[tuple[Mapping[tuple[str, ...], Collection[str]], ServiceRecord]],
) -> Sequence[str]:
    """Return the fields of a key that the list lacks or alters in every record; empty if there is none.

    `details`: per record, the digests of its detail's keys by their fields, and the record as listed.
    """
    for fields in dict.fromkeys(fields for keys, _ in details for fields in keys):
        given = [(keys[fields], known) for keys, known in details if fields in keys]
        if all({known.key, *known.other_digests}.isdisjoint(keys) for keys, known in given):
            return fields
    return ()


def namesake(expected: ExpectedRecord, known: ServiceRecord) -> bool:
    """Return whether a record has the name of the row."""
    name = expected.comparison_fields.get(NAME)
    return name is not None and known.comparison_fields.get(NAME) == name


def contradicted(ours: Mapping[str, str | None], theirs: Mapping[str, str | None]) -> bool:
    """Return whether a comparison field is present on both sides and differs."""
    return any(
        value is not None and theirs.get(name) is not None and theirs[name] != value
        for name, value in ours.items()
    )


def agree_fully(ours: Mapping[str, str | None], theirs: Mapping[str, str | None]) -> bool:
    """Return whether all comparison fields are present on both sides and agree."""
    return bool(ours) and all(
        value is not None and theirs.get(name) == value for name, value in ours.items()
    )


def agreeing(ours: Mapping[str, str | None], theirs: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the names of the comparison fields that agree."""
    return tuple(
        name for name, value in ours.items() if value is not None and value == theirs.get(name)
    )
