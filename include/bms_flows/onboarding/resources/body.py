"""Creation bodies: built from a row's values, compared with a record, encoded for the ledger. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import msgspec

from bms_flows.onboarding.resources.description import Field, Resource
from bms_flows.onboarding.resources.match_rules import normalize
from bms_flows.onboarding.resources.normal_forms import email_address, phone_number, region_of
from bms_flows.runtime.digests import content_digest

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number", order="sorted")
_DECODER: Final = msgspec.json.Decoder(float_hook=Decimal)
_APOSTROPHES: Final = str.maketrans("\u2019\u02bc", "''")


@dataclass(frozen=True)
class Difference:
    """A field in which a row and a record differ; its repr hides the values, which are personal."""

    name: str
    ours: Any = field(repr=False)
    theirs: Any = field(repr=False)


@dataclass(frozen=True)
class BodyComparison:
    """Names of the sent fields that are equal or different in a record, or not returned."""

    equal: tuple[str, ...] = ()
    different: tuple[Difference, ...] = ()
    unreadable: tuple[str, ...] = ()
    """Sent fields that the service never returns."""


def build(resource: Resource, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the creation body of a row: each value at its field's path, arrays without gaps."""
    tree: dict[str | int, Any] = {}
    for name in resource.by_name:
        path = resource.by_name[name].path
        if name not in values or not path:
            continue
        at = tree
        for step in path[:-1]:
            at = at.setdefault(step, {})
        at[path[-1]] = values[name]
    body: dict[str, Any] = _with_arrays(tree)
    return body


def compare(resource: Resource, body: Mapping[str, Any], record: Any) -> BodyComparison:
    """Compare the sent fields of a body with a record's detail.

    Case, spaces and forms of apostrophes of texts are ignored, because the interface does not show how the service
    returns them.
    """
    equal, different, unreadable = [], [], []
    for each, ours in sent(resource, body):
        if each.detail_field is None:
            unreadable.append(each.name)
            continue
        theirs = _readable(resource, body, each, record)
        if _alike(resource, each, (ours, body), (theirs, record)):
            equal.append(each.name)
        else:
            different.append(Difference(each.name, ours, theirs))
    return BodyComparison(tuple(equal), tuple(different), tuple(unreadable))


def sent(resource: Resource, body: Mapping[str, Any]) -> Sequence[tuple[Field, Any]]:
    """Return the fields of `body` with their values."""
    found = ((each, _at(body, each.path)) for each in resource.fields if each.path)
    return [(each, value) for each, value in found if value is not None]


def unread_changes(
    resource: Resource,
    values: Mapping[str, Any],
    body: Mapping[str, Any],
    before: Mapping[str, Any] | None,
) -> list[Field]:
    """Return the filled fields that the service never returns, but for those that were sent alike `before`."""
    return [
        each
        for each in resource.fields
        if each.detail_field is None and each.name in values
        if not (before and each.path and _same(_at(body, each.path), _at(before, each.path)))
    ]


def body_digest(body: Mapping[str, Any]) -> str:
    """Return the digest of a body: equal digests mean equal requests."""
    return content_digest(_ENCODER.encode(body)).hex()


def encode_body(body: Mapping[str, Any]) -> str:
    """Return a body as JSON text with exact numbers."""
    return _ENCODER.encode(body).decode()


def decode_body(text: str) -> dict[str, Any]:
    """Read a body that `encode_body` wrote."""
    body: dict[str, Any] = _DECODER.decode(text)
    return body


def _with_arrays(tree: Any) -> Any:
    """Turn objects with integer names into arrays, in order and without gaps."""
    if not isinstance(tree, dict):
        return tree
    if any(isinstance(name, int) for name in tree):
        return [_with_arrays(tree[place]) for place in sorted(tree)]
    return {name: _with_arrays(value) for name, value in tree.items()}


def _at(body: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        if isinstance(step, int):
            body = body[step] if isinstance(body, list) and step < len(body) else None
        else:
            body = body.get(step) if isinstance(body, Mapping) else None
        if body is None:
            return None
    return body


def _readable(resource: Resource, body: Mapping[str, Any], each: Field, record: Any) -> Any:
    """Return the value of a field in a record; in an array, of the object with the same key."""
    theirs = getattr(record, each.detail_field or "", None)
    named_by = resource.arrays.get(str(each.path[0]))
    if named_by is None:
        return theirs
    array, place, member = each.path
    which = normalize(_at(body, (array, place, named_by)))
    same = (other for other in theirs or () if normalize(other.get(named_by)) == which)
    found: Mapping[Any, Any] = next(same, {})
    return found.get(member)


def _alike(resource: Resource, each: Field, ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> bool:
    """Return whether two values are equivalent; each comes with its row or record."""
    if _same(ours[0], theirs[0]):
        return True
    if each.holds == "email":
        address = email_address(ours[0])
        return address is not None and address == email_address(theirs[0])
    if each.holds == "phone":
        here = region_of(ours[1], resource.region)
        there = region_of({"country": getattr(theirs[1], "country", None)}, resource.region)
        number = phone_number(ours[0], here)
        return number is not None and number == phone_number(theirs[0], there)
    return False


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, int | float | Decimal) and isinstance(theirs, int | float | Decimal):
        return Decimal(str(ours)) == Decimal(str(theirs))
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return sorted(map(str, ours)) == sorted(map(str, theirs))
    ours, theirs = ((normalize(each) or "").translate(_APOSTROPHES) for each in (ours, theirs))
    return bool(ours == theirs)
