"""Matching of rows to records: the planner's view of ledger and service, and a row's record in it. Pure."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from bms_flows.onboarding.ledger.entry import EXISTING, Entry, State
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.body import body_digest
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.evidence import NAME, ServiceRecord, agree_fully
from bms_flows.onboarding.resources.match_rules import Identity, MatchRule

EVER: Final = datetime.min.replace(tzinfo=UTC)
Finders = Mapping[str, MatchRule]
"""Rules that may find a row's record, by digest, strongest first."""
ByDigest = Mapping[str, Sequence[ServiceRecord]]


@dataclass(frozen=True)
class PlanningView:
    """The ledger and the service at planning time."""

    entries: Mapping[str, Entry]
    """Ledger rows of the drop's rows and of all managers above them, by key."""
    in_flight: Mapping[str, Collection[str]]
    """Match keys, by row key, of rows that the lists may not show yet: open, or created after `since`."""
    shown: Sequence[ServiceRecord]
    """Records that may match a row."""
    unknown_scopes: frozenset[Any] = frozenset()
    """Scopes that rows name and that the service does not have."""
    records: Mapping[str, Any] = field(default_factory=dict)
    """Details by remote id, for the ids that `records_to_read` returned."""
    matched: Mapping[str, str] = field(default_factory=dict)
    """Remote ids by match key, from earlier drops."""
    since: datetime = EVER
    drop_id: int | None = None
    headcount: int = 0
    """Number of records in the scopes that the rows name."""
    empty_scopes: int = 0
    """Number of these scopes without a record."""
    codes: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The service's codes that mirrored records have, by field."""
    contains: Callable[[str], bool] = lambda _: False
    """Returns whether a list contains a remote id."""
    read_back: Mapping[int, Collection[str]] = field(default_factory=dict)
    """Fields whose values the service stored otherwise, by ledger row whose record it has returned."""
    sent: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """Stored bodies of created rows whose data have changed, by ledger row."""
    removed: frozenset[str] = frozenset()
    """Records that users removed by an undo sheet; the view has no trace of them."""

    def without(self, removed: Collection[str]) -> "PlanningView":
        """Return the view without records that users removed by an undo sheet: their rows start clean."""
        return replace(
            self,
            entries={k: e for k, e in self.entries.items() if e.remote_id not in removed},
            shown=[known for known in self.shown if known.remote_id not in removed],
            matched={k: each for k, each in self.matched.items() if each not in removed},
            removed=frozenset(removed),
        )

    @cached_property
    def by_key(self) -> ByDigest:
        """The shown records by match key."""
        found: dict[str, list[ServiceRecord]] = defaultdict(list)
        for known in self.shown:
            for key in filter(None, (known.key, *known.other_digests)):
                found[key].append(known)
        return found

    @cached_property
    def by_id(self) -> Mapping[str, ServiceRecord]:
        """The shown records by remote id."""
        return {known.remote_id: known for known in self.shown}

    @cached_property
    def by_name(self) -> ByDigest:
        """The undeleted records by the digest of their name."""
        found: dict[str, list[ServiceRecord]] = defaultdict(list)
        for known in self.shown:
            if (name := known.comparison_fields.get(NAME)) and not known.deleted:
                found[name].append(known)
        return found

    @cached_property
    def _rows_in_flight(self) -> Mapping[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for key, match_keys in self.in_flight.items():
            for each in match_keys:
                found[each].add(key)
        return found

    def matched_record(self, key: str) -> ServiceRecord | None:
        """Return the record that an earlier drop matched `key` to; a record outside `shown` has no fields."""
        remote_id = self.matched.get(key)
        if remote_id is None:
            return None
        deleted = not self.contains(remote_id)
        return self.by_id.get(remote_id) or ServiceRecord(remote_id=remote_id, deleted=deleted)

    @property
    def matched_ids(self) -> Collection[str]:
        """Remote ids that the ledger or an earlier drop matched to the rows."""
        return {*self.matched.values(), *(e.remote_id or "" for e in self.entries.values())}

    def is_listed(self, remote_id: str) -> bool:
        """Return whether a list contains the record."""
        return remote_id in self.by_id or self.contains(remote_id)

    def like_in_flight(self, key: str, finders: Finders, marks: Sequence[str]) -> str | None:
        """Return why a row may be the person of an in-flight row with another key: the code for a reviewer."""
        others = {k: self._rows_in_flight.get(k, set()) - {key} for k in (*finders, *marks[:1])}
        if shared := next(filter(others.get, finders), None):
            return finders[shared].review_code
        known, named = {*marks[1:]}, others[marks[0]] if marks else ()
        return "same_name_only" if any(known.isdisjoint(self.in_flight[k]) for k in named) else None

    def is_outdated(
        self, in_flight: Mapping[str, Collection[str]], match_keys: Collection[str]
    ) -> bool:
        """Return whether later `in_flight` rows share one of `match_keys` that this view lacks."""
        return any(
            each in match_keys and each not in self.in_flight.get(key, ())
            for key, found in in_flight.items()
            for each in found
        )


def keys_of(sheet: Sheet, identity: Identity) -> frozenset[str]:
    """Return the natural keys of the rows."""
    return frozenset(filter(None, (identity.key(row.values) for row in sheet.rows)))


def finders_of(sheet: Sheet, identity: Identity) -> Mapping[int, Finders]:
    """Return the rules that may find the record of each row, by line; computed once for a sheet."""
    if identity not in sheet.finders:
        sheet.finders[identity] = {
            row.line: identity.rules_by_digest(row.values) for row in sheet.rows
        }
    return sheet.finders[identity]


def names_of(sheet: Sheet, identity: Identity) -> frozenset[str]:
    """Return the digests of the rows' names."""
    names = (identity.comparison_digests(row.values)[NAME] for row in sheet.rows)
    return frozenset(filter(None, names))


def match_keys_of(sheet: Sheet, identity: Identity) -> frozenset[str]:
    """Return the match keys of the rows: everything by which their records may be found."""
    return frozenset().union(*finders_of(sheet, identity).values())


@dataclass(frozen=True)
class Match:
    """The result of matching: the record (`known`), or `candidates` with the code of the reason.

    `several`: the service has more than one record of the row; only users of the service can fix that.
    """

    known: ServiceRecord | None = None
    candidates: tuple[str, ...] = ()
    reason: str | None = None
    several: bool = False


NOTHING = Match()


def match(
    identity: Identity,
    view: PlanningView,
    values: Mapping[str, Any],
    finders: Finders,
    *,
    was: ServiceRecord | None = None,
) -> Match:
    """Match a row to a record by its `finders`; `was`: its earlier record, which was deleted.

    A key that was matched before keeps its record, whatever changed since, unless the record was
    deleted and another record matches.
    """
    comparison_fields = identity.comparison_digests(values)
    gone = [] if was is None else [was]
    for key in finders:
        known = view.matched_record(key)
        # A phone number may belong to another person now: the comparison fields must agree too.
        if known and (
            key == identity.key(values) or agree_fully(comparison_fields, known.comparison_fields)
        ):
            if not known.deleted:
                return Match(known)
            gone.append(known)
    found = by_rules(
        view.by_key, finders, comparison_fields, but={known.remote_id for known in gone}
    )
    return Match(gone[0]) if found is NOTHING and gone else found


def namesakes(identity: Identity, by_name: ByDigest, values: Mapping[str, Any]) -> Match:
    """Return the records that have a row's name and that no value distinguishes from it, for review."""
    row = identity.digests(values)
    found = [
        known
        for known in by_name.get(row.comparison_fields[NAME] or "", ())
        if known.distinguishing is not None
        and not {*known.distinguishing}.intersection(row.distinguishing)
    ]
    return Match(candidates=_ids(found), reason="same_name_only") if found else NOTHING


def record_of_entry(
    identity: Identity,
    view: PlanningView,
    values: Mapping[str, Any],
    finders: Finders,
    entry: Entry,
) -> ServiceRecord:
    """Return the record of a created row; if that was deleted, the record that matches now."""
    remote_id = entry.remote_id or ""
    # Lists may omit new records, and records that moved to another scope.
    there = entry.key in view.in_flight or remote_id in view.records or view.contains(remote_id)
    own = view.by_id.get(remote_id) or ServiceRecord(
        remote_id=remote_id,
        number=entry.remote_number,
        is_standby=entry.is_standby,
        key=entry.key,
        deleted=not there,
    )
    return match(identity, view, values, finders, was=own).known or own if own.deleted else own


def by_rules(
    by_digest: ByDigest,
    finders: Finders,
    comparison_fields: Mapping[str, str | None],
    but: Collection[str],
) -> Match:
    """Apply the match rules, strongest first; the first rule that finds records decides.

    `by_digest` are the records by match key, `but` the ids to ignore.
    """
    for key, finder in finders.items():
        shown = [each for each in by_digest.get(key, ()) if each.remote_id not in but]
        if finder.trust == "always":
            sure = shown
        elif finder.trust == "if_fields_agree":
            sure = [
                each
                for each in shown
                if agree_fully(comparison_fields, each.comparison_fields) and not each.deleted
            ]
        else:
            sure = []
        if len(sure) == 1:
            return Match(sure[0])
        if sure:
            return Match(candidates=_ids(sure), reason="several_records", several=True)
        if shown:
            deleted = all(each.deleted for each in shown)
            return Match(
                candidates=_ids(shown),
                reason="candidate_deleted" if deleted else finder.review_code,
            )
    return NOTHING


def records_to_read(
    sheet: Sheet, resource: Resource, identity: Identity, view: PlanningView
) -> frozenset[str]:
    """Return the remote ids whose details the planner compares with rows."""
    wanted: set[str | None] = set()
    finders = finders_of(sheet, identity)
    for row in sheet.rows:
        key = identity.key(row.values)
        if key is None or sheet.faults_of(row):
            continue
        entry = view.entries.get(key)
        if entry is None or not _decided_by_ledger(entry):
            known = match(identity, view, row.values, finders[row.line]).known
            wanted.add(known.remote_id if known else None)
        elif entry.state in EXISTING:
            listed = view.is_listed(entry.remote_id or "")
            if resource.always_compared or not listed or entry.digest != body_digest(row.values):
                known = record_of_entry(identity, view, row.values, finders[row.line], entry)
                wanted |= {entry.remote_id, known.remote_id}
    return frozenset(each for each in wanted if each)


def namesakes_to_read(sheet: Sheet, identity: Identity, view: PlanningView) -> frozenset[str]:
    """Return the ids of records that have the name of a row without match and may differ in `unlisted` fields only."""
    if not identity.unlisted:
        return frozenset()
    finders = finders_of(sheet, identity)
    return frozenset(
        known.remote_id
        for row in sheet.rows
        if not row.values.keys().isdisjoint(identity.unlisted)
        and not _decided_by_ledger(view.entries.get(identity.key(row.values) or ""))
        and match(identity, view, row.values, finders[row.line]) is NOTHING
        for known in view.by_name.get(identity.comparison_digests(row.values)[NAME] or "", ())
    )


def _decided_by_ledger(entry: Entry | None) -> bool:
    return entry is not None and entry.state not in {State.REJECTED, State.GIVEN_UP}


def _ids(shown: Iterable[ServiceRecord]) -> tuple[str, ...]:
    return tuple(sorted(known.remote_id for known in shown))
