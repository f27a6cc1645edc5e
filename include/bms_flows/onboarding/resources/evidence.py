"""Decide whether a record of the service was made by the POSTs of a row: pure.

The snapshot that was taken before the row's first POST separates the two cases. A record that it
contained was not made by a POST of the row. A record that it lacked and that now shows the row's key
was, whatever its `created_on` says, unless its comparison fields contradict the row. A reviewer
decides on everything that a possible-match rule finds: two real persons may share a name.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from bms_flows.onboarding.resources.match_rules import Trust


class ServiceRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A record as a list of the service shows it; its repr shows the id only."""

    remote_id: str
    number: int | None = None
    is_standby: bool | None = None
    key: str | None = None
    """Digest of its natural key, None where the list doesn't show it."""
    other_digests: tuple[str, ...] = ()
    """Digests of what else it may be found by."""
    loose_digests: tuple[str, ...] = ()
    """Those of them that are its key in a looser form."""
    comparison_fields: Mapping[str, str | None] = {}
    """Digests of the fields that are compared beside the key: name, start date, …"""
    deleted: bool = False
    """Whether the service calls it deleted."""
    values: Mapping[str, Any] = {}
    """Its fields, by the interface's names; never stored."""

    @property
    def fingerprint(self) -> int:
        """A number that changes with what the record is found by and compared by."""
        content = [self.key, self.other_digests, sorted(self.comparison_fields.items())]
        digest = hashlib.blake2b(msgspec.json.encode(content), digest_size=4).digest()
        return int.from_bytes(digest)

    def __repr__(self) -> str:
        return f"ServiceRecord({self.remote_id})"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("remote_id", self.remote_id)]


class ExpectedRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The record that the POSTs of a row would have made, as digests."""

    key: str
    comparison_fields: Mapping[str, str | None]
    digests: Collection[str] = ()
    """Everything that the record may be found by."""
    trust: Trust = "always"
    """How far the key is believed."""

    def __repr__(self) -> str:
        return "ExpectedRecord(...)"


class Found(msgspec.Struct, frozen=True, gc=False):
    """Exactly one record is the row's; `evidence` names why, as codes."""

    known: ServiceRecord
    evidence: tuple[str, ...]


class NothingFound(msgspec.Struct, frozen=True, gc=False):
    """No record suggests that a POST of the row was executed."""


class Ambiguous(msgspec.Struct, frozen=True, gc=False):
    """A reviewer chooses between these records, and none."""

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
    """Decide which of `shown` the POSTs of a row made.

    `shown` are records that the row's snapshot lacked or contained otherwise; `changed` are the ids
    of the latter, `claimed` the ids that belong to other rows of the ledger.
    """
    sure: dict[str, ServiceRecord] = {}
    doubtful: dict[str, ServiceRecord] = {}
    possible: dict[str, ServiceRecord] = {}
    for known in shown:
        found_by = {known.key, *known.other_digests}
        taken = known.remote_id in claimed
        if expected.key not in found_by or known.remote_id in changed:
            # A record that existed before the first POST may only have been edited since.
            if not taken and not found_by.isdisjoint(expected.digests):
                possible[known.remote_id] = known
        elif expected.trust == "never":
            if not taken:
                sure[known.remote_id] = known
        elif taken or contradicted(expected.comparison_fields, known.comparison_fields):
            doubtful[known.remote_id] = known
        else:
            sure[known.remote_id] = known
    if len(sure) == 1 and not doubtful:
        [found] = sure.values()
        return Found(
            found, ("new", "key", *agreeing(expected.comparison_fields, found.comparison_fields))
        )
    if sure or doubtful:
        reason = "several_records" if len(sure) > 1 else "key_with_other_data"
        return Ambiguous(tuple(sorted({**sure, **doubtful})), reason)
    if possible:
        return Ambiguous(tuple(sorted(possible)), "similar_without_key")
    return NothingFound()


def contradicted(ours: Mapping[str, str | None], theirs: Mapping[str, str | None]) -> bool:
    """Whether both sides name a comparison field and differ in it."""
    return any(
        value is not None and theirs.get(name) is not None and theirs[name] != value
        for name, value in ours.items()
    )


def agree_fully(ours: Mapping[str, str | None], theirs: Mapping[str, str | None]) -> bool:
    """Whether both sides name all comparison fields and agree in them."""
    return bool(ours) and all(
        value is not None and theirs.get(name) == value for name, value in ours.items()
    )


def agreeing(ours: Mapping[str, str | None], theirs: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the names of the comparison fields in which both sides agree."""
    return tuple(
        name for name, value in ours.items() if value is not None and value == theirs.get(name)
    )
