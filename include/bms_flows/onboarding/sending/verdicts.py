"""Verdict about a row: its record in the service, candidates for a reviewer, or nothing.

A row is compared with records that are new or changed since its own snapshot; the planner compared it
with all older records.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bms_flows.onboarding.ledger.entry import EXISTED, Entry
from bms_flows.onboarding.ledger.store import PostgresLedger
from bms_flows.onboarding.planning.matching import NOTHING, ByDigest, by_rules, namesakes
from bms_flows.onboarding.resources.evidence import (
    NAME,
    Ambiguous,
    ExpectedRecord,
    Found,
    NothingFound,
    ServiceRecord,
    Verdict,
    agreeing,
    contradicted,
    resolve,
)
from bms_flows.onboarding.resources.match_rules import Identity, MatchRule
from bms_flows.onboarding.resources.snapshot import ServiceLists

RowBodies = Mapping[int, tuple[Entry, Mapping[str, Any]]]
"""Ledger rows with their creation bodies, by number."""
MatchRules = Mapping[str, MatchRule]
ComparisonFields = Mapping[str, str | None]


async def verdicts(
    ledger: PostgresLedger,
    identity: Identity,
    rows: RowBodies,
    earlier: Mapping[int | None, ServiceLists | None],
    shown: ServiceLists,
) -> dict[int, Verdict]:
    """Return what the lists `shown` say about each row; `earlier` are the rows' own snapshots by number."""
    new = {
        each: _indexed(shown.new_since(earlier[each]))
        for each in {entry.snapshot_id for entry, _ in rows.values()}
    }
    rules = {number: identity.rules_by_digest(body) for number, (_, body) in rows.items()}
    fields = {number: identity.comparison_digests(body) for number, (_, body) in rows.items()}
    namesakes = await _namesakes(ledger, rows, earlier, new, fields)
    nearby = {
        number: _matching(new[entry.snapshot_id], rules[number]) + namesakes.get(number, [])
        for number, (entry, _) in rows.items()
    }
    owners = await ledger.owners({k.remote_id for each in nearby.values() for k in each})
    siblings = await ledger.by_key(set(owners.values())) if owners else {}
    found: dict[int, Verdict] = {}
    for number, (entry, body) in rows.items():
        candidates = [
            known
            for known in nearby[number]
            if known.remote_id not in entry.dismissed
            and not _distinct(entry, siblings.get(owners.get(known.remote_id, "")))
        ]
        claimed = {
            known.remote_id
            for known in candidates
            if owners.get(known.remote_id, entry.key) != entry.key
        }
        if entry.unsent:
            found[number] = _unsent(identity, body, rules[number], candidates)
        else:
            before = earlier[entry.snapshot_id]
            changed = {
                i for known in candidates if before and before.contains(i := known.remote_id)
            }
            expected = ExpectedRecord(
                key=entry.key,
                comparison_fields=fields[number],
                digests=rules[number].keys(),
            )
            found[number] = resolve(expected, candidates, claimed=claimed, changed=changed)
    return found


async def _namesakes(
    ledger: PostgresLedger,
    rows: RowBodies,
    earlier: Mapping[int | None, ServiceLists | None],
    new: Mapping[int | None, ByDigest],
    fields: Mapping[int, ComparisonFields],
) -> dict[int, list[ServiceRecord]]:
    """Return the new records with the row's name and no key of another row."""
    found = {
        number: list(new[entry.snapshot_id].get(fields[number].get(NAME) or "", ()))
        for number, (entry, _) in rows.items()
        if earlier[entry.snapshot_id] is not None
    }
    keys = {known.key for each in found.values() for known in each if known.key}
    others = await ledger.by_key(keys) if keys else {}
    return {
        number: [known for known in each if known.key not in others]
        for number, each in found.items()
    }


def _unsent(
    identity: Identity,
    body: Mapping[str, Any],
    rules: MatchRules,
    nearby: Sequence[ServiceRecord],
) -> Verdict:
    """Decide like the planner whether a matching record is the row's."""
    comparison_fields = identity.comparison_digests(body)
    match = by_rules(_indexed(nearby), rules, comparison_fields, but=())
    if match is NOTHING:
        match = namesakes(identity, _indexed([k for k in nearby if not k.deleted]), body)
    known = match.known
    if known is None:
        return NothingFound() if match.reason is None else Ambiguous(match.candidates, match.reason)
    if known.deleted:
        return Ambiguous((known.remote_id,), "candidate_deleted")
    if contradicted(comparison_fields, known.comparison_fields):
        return Ambiguous((known.remote_id,), "same_key_other_data")
    return Found(known, (EXISTED, *agreeing(comparison_fields, known.comparison_fields)))


def _distinct(entry: Entry, owner: Entry | None) -> bool:
    """Return whether a reviewer decided that a row and the row that owns a record are different."""
    if owner is None or owner.key == entry.key:
        return False
    released = entry.key in owner.alike and "decided" not in owner.evidence
    return released or owner.key in entry.alike


def _matching(new: ByDigest, digests: Collection[str]) -> list[ServiceRecord]:
    found = {known.remote_id: known for digest in digests for known in new.get(digest, ())}
    return list(found.values())


def _indexed(records: Collection[ServiceRecord]) -> ByDigest:
    by_digest: dict[str, list[ServiceRecord]] = defaultdict(list)
    for known in records:
        names = {known.comparison_fields.get(NAME)}
        for digest in {known.key, *known.other_digests, *names} - {None}:
            by_digest[digest or ""].append(known)
    return by_digest
