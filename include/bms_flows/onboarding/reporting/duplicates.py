"""Detection of duplicates: records in the service compared with every row that was ever sent.

If a created record appears in the lists later than two settle times, the engine may create a second
one. Without an idempotency key this cannot be excluded; the next run detects each such duplicate.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Engine, select

from bms_flows.onboarding.ledger.entry import EXISTING, OPEN, Entry, State, Transition
from bms_flows.onboarding.ledger.store import PostgresLedger, add_events, among
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.onboarding.resources.snapshot import ServiceLists
from bms_warehouse.database import clock
from bms_warehouse.tables import creation_event

Marks = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class DuplicateFinding:
    """A row that was sent and whose records in the service contradict the ledger.

    `double`: more than one record. `surfaced`: a record of a row that was rejected, abandoned or left
    to a reviewer. Records that the service shows as deleted don't count.
    """

    what: Literal["double", "surfaced"]
    row: int
    key: str
    remote_ids: tuple[str, ...]


def compare(
    entries: Mapping[str, Entry], shown: Sequence[ServiceRecord], *, named: bool = False
) -> list[DuplicateFinding]:
    """Compare ledger rows (by key) with the records shown; ignore rows that were never sent. Pure.

    `named`: a key may be shared (a mailbox) and identifies a record only with its comparison fields.
    """
    by_key: dict[str, dict[Marks, set[str]]] = defaultdict(lambda: defaultdict(set))
    for known in shown:
        marks = tuple(sorted(known.comparison_fields.items())) if named else ()
        for key in entries.keys() & {known.key or "", *known.other_digests}:
            by_key[key][marks].add(known.remote_id)
    deleted = {known.remote_id for known in shown if known.deleted}
    loose = _loose_doubles(entries, shown)
    found = []
    for key in by_key.keys() | loose.keys():
        entry, groups = entries[key], by_key[key].values()
        if not entry.attempt or entry.state in OPEN:
            continue
        own = [group for group in groups if entry.remote_id in group]
        # One group in any order of the lists.
        left = (group - deleted - {*entry.dismissed} for group in own or groups)
        ids = max(left, key=lambda group: (len(group), sorted(group)), default=set())
        ids |= loose.get(key, set())
        if entry.state in EXISTING and entry.remote_id is not None:
            ids.add(entry.remote_id)
        ids -= deleted
        if len(ids) > 1:
            found.append(DuplicateFinding("double", entry.id, key, tuple(sorted(ids))))
        elif ids and entry.state not in EXISTING:
            found.append(DuplicateFinding("surfaced", entry.id, key, tuple(ids)))
    return sorted(found, key=lambda each: each.row)


def _loose_doubles(
    entries: Mapping[str, Entry], shown: Iterable[ServiceRecord]
) -> dict[str, set[str]]:
    """Return, by row key, records with the key in a looser form: `4217` for `004217`."""
    alike: dict[str, set[str]] = defaultdict(set)
    for group in _loose_groups(shown):
        for remote_id in group:
            alike[remote_id] |= group
    ours = {entry.remote_id: entry for entry in entries.values() if entry.state in EXISTING}
    found = {
        entry.key: alike[remote_id] - ours.keys() - set(entry.dismissed)
        for remote_id, entry in ours.items()
        if remote_id in alike
    }
    return {key: others for key, others in found.items() if others}


def _loose_groups(shown: Iterable[ServiceRecord]) -> list[set[str]]:
    """Return groups of remote ids with the same loose key and comparison fields."""
    groups: dict[tuple[str, Marks], set[str]] = defaultdict(set)
    for known in shown:
        if None not in known.comparison_fields.values():
            marks = tuple(sorted(known.comparison_fields.items()))
            for digest in known.loose_digests:
                groups[digest, marks].add(known.remote_id)
    return [group for group in groups.values() if len(group) > 1]


async def find_duplicates(
    ledger: PostgresLedger, identity: Identity, shown: Sequence[ServiceRecord]
) -> list[DuplicateFinding]:
    """Compare the ledger with `shown`, and add each finding to the row's history once."""
    keys = {key for known in shown for key in (known.key, *known.other_digests) if key}
    alike = {remote_id for group in _loose_groups(shown) for remote_id in group}
    keys |= {*(await ledger.owners(alike)).values()}
    entries = await ledger.by_key(keys)
    found = compare(entries, shown, named=not identity.always_trusted)
    if found:
        await asyncio.to_thread(_save, ledger.engine, found, entries)
    return found


def _save(engine: Engine, found: Sequence[DuplicateFinding], entries: Mapping[str, Entry]) -> None:
    event, rows = creation_event.c, [each.row for each in found]
    events = select(event.creation_id, event.what, event.detail).where(
        among(event.creation_id, rows)
    )
    findings = [
        Transition(entries[each.key], each.what, " ".join(each.remote_ids)) for each in found
    ]
    with engine.begin() as connection:
        known = {tuple(row) for row in connection.execute(events)}
        new = [each for each in findings if (each.entry.id, each.what, each.detail) not in known]
        add_events(connection, new, clock(connection))


def contradictions(
    entries: Iterable[Entry],
    fields: Mapping[int, Mapping[str, Collection[str]]],
    shown: ServiceLists,
    findings: Sequence[DuplicateFinding],
    identifying: AbstractSet[str],
) -> dict[int, tuple[str, Collection[str]]]:
    """Return, by ledger row, how the service contradicts the response to its create. Pure.

    A code and remote ids: the service has two records, a record of a refused row, or none of a created
    row, perhaps another person's under its id. `fields` has the rows that were read back.
    """
    found: dict[int, tuple[str, Collection[str]]] = {}
    by_row = {each.row: each for each in findings}
    for entry in entries:
        finding = by_row.get(entry.id)
        absent = entry.id not in fields and not shown.contains(entry.remote_id or "")
        absent = absent or _is_another(fields.get(entry.id, {}), identifying)
        if entry.state is State.CREATED and absent:
            found[entry.id] = "created_not_found", ()
        elif finding is not None and entry.state in EXISTING:
            found[entry.id] = "duplicate_found", finding.remote_ids
        elif finding is not None and entry.state is State.REJECTED:
            found[entry.id] = "refused_but_created", finding.remote_ids
    return found


def appeared(
    entries: Iterable[Entry], digests: Mapping[str, Collection[str]], new: Iterable[ServiceRecord]
) -> dict[int, tuple[str, Collection[str]]]:
    """Return, by ledger row that was created, the `new` records that may be its person too. Pure."""
    near: dict[str | None, set[str]] = defaultdict(set)
    for known in new:
        for each in (known.key, *known.other_digests):
            near[each].add(known.remote_id)
    found: dict[int, tuple[str, Collection[str]]] = {}
    for entry in entries:
        ids = set[str]().union(*(near.get(each, ()) for each in digests[entry.key]))
        if entry.state in EXISTING and not entry.existed and (ids := ids - {*entry.dismissed}):
            found[entry.id] = "duplicate_found", sorted({entry.remote_id or "", *ids})
    return found


def _is_another(fields: Mapping[str, Collection[str]], identifying: AbstractSet[str]) -> bool:
    """Return whether a record that was read back differs in every name and key that was sent."""
    different = {*fields.get("different", ())}
    return bool(different & identifying) and identifying.isdisjoint(fields.get("equal", ()))
