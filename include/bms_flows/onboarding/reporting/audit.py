"""The audit: what the service shows against what the ledger says, for everything ever sent.

A service that lets a created record show later than two settle times can make the engine create
a second one. No rule can exclude that without an idempotency key; this finds every such double,
in the next run at the latest: one key, more than one record.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from sqlalchemy import Engine, exists, insert, literal, select

from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.ledger.entry import HERE, OPEN, Entry
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_warehouse.tables import creation_event

Marks = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class Finding:
    """A row whose key stands in the service otherwise than in the ledger.

    `double`: more than one record. `surfaced`: a record of a row that was sent and then rejected,
    given up or left to a person.
    """

    what: Literal["double", "surfaced"]
    row: int
    key: str
    remote_ids: tuple[str, ...]


def compare(
    entries: Mapping[str, Entry], shown: Sequence[ServiceRecord], *, named: bool = False
) -> list[Finding]:
    """Compare the ledger's rows (by key) with the records shown; rows never sent don't count. Pure.

    `named`: a key may be shared (a mailbox), and tells a record only together with its marks.
    """
    by_key: dict[str, dict[Marks, set[str]]] = defaultdict(lambda: defaultdict(set))
    for known in shown:
        marks = tuple(sorted(known.marks.items())) if named else ()
        for key in entries.keys() & {known.key or "", *known.others}:
            by_key[key][marks].add(known.remote_id)
    loose = _loose_doubles(entries, shown)
    found = []
    for key in by_key.keys() | loose.keys():
        entry, groups = entries[key], by_key[key]
        if not entry.attempt or entry.state in OPEN:
            continue
        ids = next(
            (group for group in groups.values() if entry.remote_id in group),
            max(groups.values(), key=len, default=set()),
        )
        ids |= loose.get(key, set())
        if entry.state in HERE and entry.remote_id is not None:
            ids.add(entry.remote_id)
        if len(ids) > 1:
            found.append(Finding("double", entry.id, key, tuple(sorted(ids))))
        elif entry.state not in HERE:
            found.append(Finding("surfaced", entry.id, key, tuple(ids)))
    return sorted(found, key=lambda each: each.row)


def _loose_doubles(
    entries: Mapping[str, Entry], shown: Iterable[ServiceRecord]
) -> dict[str, set[str]]:
    """Return, by row, records that are the row's with its key in a looser form: `4217` for `004217`."""
    alike: dict[str, set[str]] = defaultdict(set)
    for group in _loose_groups(shown):
        for remote_id in group:
            alike[remote_id] |= group
    ours = {entry.remote_id: entry for entry in entries.values() if entry.state in HERE}
    found = {
        entry.key: alike[remote_id] - ours.keys() - set(entry.dismissed)
        for remote_id, entry in ours.items()
        if remote_id in alike
    }
    return {key: others for key, others in found.items() if others}


def _loose_groups(shown: Iterable[ServiceRecord]) -> list[set[str]]:
    """Return groups of records with one loose key and the same comparison fields, by remote id."""
    groups: dict[tuple[str, Marks], set[str]] = defaultdict(set)
    for known in shown:
        if None not in known.marks.values():
            marks = tuple(sorted(known.marks.items()))
            for digest in known.loose:
                groups[digest, marks].add(known.remote_id)
    return [group for group in groups.values() if len(group) > 1]


async def audit(onboarding: OnboardingContext, shown: Sequence[ServiceRecord]) -> list[Finding]:
    """Compare, and enter what is found in the rows' history, once."""
    keys = {key for known in shown for key in (known.key, *known.others) if key}
    alike = {remote_id for group in _loose_groups(shown) for remote_id in group}
    keys |= {*(await onboarding.ledger.owners(alike)).values()}
    entries = await onboarding.ledger.by_key(keys)
    found = compare(entries, shown, named=not onboarding.identity.alone)
    if found:
        await asyncio.to_thread(_enter, onboarding.warehouse, found, entries)
    return found


def _enter(warehouse: Engine, found: Sequence[Finding], entries: Mapping[str, Entry]) -> None:
    with warehouse.begin() as connection:
        for each in found:
            detail = " ".join(each.remote_ids)
            known = exists().where(
                creation_event.c.creation_id == each.row,
                creation_event.c.what == each.what,
                creation_event.c.detail == detail,
            )
            values = {
                "creation_id": each.row,
                "at": datetime.now(UTC),
                "what": each.what,
                "attempt": entries[each.key].attempt,
                "detail": detail,
            }
            names = [creation_event.c[name] for name in values]
            row = select(*(literal(v, creation_event.c[n].type) for n, v in values.items())).where(
                ~known
            )
            connection.execute(insert(creation_event).from_select(names, row))
