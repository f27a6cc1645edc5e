"""Which record of the service a row is: found for sure, for a person to say, or none. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bms_flows.onboarding.ledger.entry import HERE, Entry, State
from bms_flows.onboarding.planning.view import View
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.evidence import ServiceRecord, same_marks
from bms_flows.onboarding.resources.match_rules import Identity, MatchRule, fingerprint


@dataclass(frozen=True)
class Match:
    """What was found: `known` for sure; else `candidates`, and the code of what to do about them.

    `several`: more than one record is the row's, which only the service's own users can mend.
    """

    known: ServiceRecord | None = None
    candidates: tuple[str, ...] = ()
    reason: str | None = None
    several: bool = False


NOTHING = Match()


def match(
    identity: Identity, view: View, values: Mapping[str, Any], *, was: ServiceRecord | None = None
) -> Match:
    """Find the record of a row; `was`: the one that it was, which is gone.

    Once a key was found to be a record, that record it is, whatever has changed in either since;
    unless it is gone and another is found.
    """
    finders = identity.finders(values)
    marks = identity.mark(values)
    gone = [] if was is None else [was]
    for key in finders:
        known = view.matched_to(key)
        # A number may have gone to somebody else meanwhile: beside the key, the name must agree.
        if known and (key == identity.key(values) or same_marks(marks, known.marks)):
            if not known.deleted:
                return Match(known)
            gone.append(known)
    found = by_rules(view.by_key, finders, marks, but={known.remote_id for known in gone})
    return Match(gone[0]) if found is NOTHING and gone else found


def of_entry(
    identity: Identity, view: View, values: Mapping[str, Any], entry: Entry
) -> ServiceRecord:
    """Return the record of a row that the ledger knows to be there; where it is gone, one that is it now."""
    remote_id = entry.remote_id or ""
    # Lists leave out what was made just now; and who has left the part that was listed.
    there = entry.key in view.open_keys or remote_id in view.records or view.contains(remote_id)
    own = view.by_id.get(remote_id) or ServiceRecord(
        remote_id=remote_id,
        number=entry.remote_number,
        is_standby=entry.is_standby,
        key=entry.key,
        deleted=not there,
    )
    return match(identity, view, values, was=own).known or own if own.deleted else own


def by_rules(
    by_digest: Mapping[str, Sequence[ServiceRecord]],
    finders: Mapping[str, MatchRule],
    marks: Mapping[str, str | None],
    but: Collection[str],
) -> Match:
    """Apply the match rules, strongest first: the first that finds records decides.

    `by_digest` are records by all that they may be found by, `but` ids that are no match.
    """
    for key, finder in finders.items():
        shown = [each for each in by_digest.get(key, ()) if each.remote_id not in but]
        if finder.trust == "alone":
            sure = shown
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
        elif entry.state in HERE:
            listed = view.lists(entry.remote_id or "")
            if resource.watched or not listed or entry.digest != fingerprint(row.values):
                known = of_entry(identity, view, row.values, entry)
                wanted |= {entry.remote_id, known.remote_id}
    return frozenset(each for each in wanted if each)


def _ids(shown: Iterable[ServiceRecord]) -> tuple[str, ...]:
    return tuple(sorted(known.remote_id for known in shown))
