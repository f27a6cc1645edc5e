"""Which record of the service a row is: found for sure, for a person to say, or none. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bms_flows.creation.entry import HERE, State
from bms_flows.creation.evidence import Known, same_marks
from bms_flows.creation.identity import Identity, fingerprint
from bms_flows.creation.resource import Resource
from bms_flows.creation.view import View
from bms_flows.drops.sheet import Sheet


@dataclass(frozen=True)
class Match:
    """What was found: `known` for sure; else `candidates`, and the code of what to do about them.

    `several`: more than one record is the row's, which only the service's own users can mend.
    """

    known: Known | None = None
    candidates: tuple[str, ...] = ()
    reason: str | None = None
    several: bool = False


NOTHING = Match()


def match(identity: Identity, view: View, values: Mapping[str, Any]) -> Match:
    """Find the record of a row.

    Once a key was found to be a record, that record it is, whatever has changed in either since.
    """
    finders = identity.finders(values)
    marks = identity.mark(values)
    for key in finders:
        known = view.matched_to(key)
        # A number may have gone to somebody else meanwhile: beside the key, the name must agree.
        if known and (key == identity.key(values) or same_marks(marks, known.marks)):
            return Match(known)
    for key, finder in finders.items():
        shown = view.by_key.get(key, ())
        if finder.trust == "alone":
            sure = list(shown)
        elif finder.trust == "named":
            sure = [each for each in shown if same_marks(marks, each.marks) and not each.deleted]
        else:
            sure = []
        if len(sure) == 1:
            return Match(sure[0])
        if sure:
            return Match(candidates=_ids(sure), reason="several_records", several=True)
        if shown:
            deleted = all(each.deleted for each in shown)
            return Match(candidates=_ids(shown), reason="deleted_there" if deleted else finder.asks)
    return NOTHING


def to_read(sheet: Sheet, resource: Resource, identity: Identity, view: View) -> frozenset[str]:
    """Return the remote ids whose details the plan compares rows with."""
    wanted: set[str | None] = set()
    for row in sheet.rows:
        key = identity.key(row.values)
        if key is None or sheet.faults_of(row):
            continue
        entry = view.entries.get(key)
        if entry is None or entry.state in {State.REJECTED, State.GIVEN_UP}:
            known = match(identity, view, row.values).known
            wanted.add(known.remote_id if known else None)
        elif entry.state in HERE and (resource.watched or entry.digest != fingerprint(row.values)):
            wanted.add(entry.remote_id)
    return frozenset(each for each in wanted if each)


def _ids(shown: Iterable[Known]) -> tuple[str, ...]:
    return tuple(sorted(known.remote_id for known in shown))
