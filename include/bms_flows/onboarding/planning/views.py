"""The planner's view of the ledger, alone and with the mirror in place of the service's lists."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Engine, select

from bms.records.declaration import described
from bms_flows.onboarding.ledger import entering, transitions
from bms_flows.onboarding.ledger.entry import EXISTING
from bms_flows.onboarding.ledger.store import PostgresLedger, with_managers
from bms_flows.onboarding.planning.matching import EVER, PlanningView, keys_of, match_keys_of
from bms_flows.onboarding.planning.rules import Reading
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.body import body_digest
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.match_rules import Comparable, Identity
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_warehouse.queries import drops
from bms_warehouse.queries.records import codes_in_use
from bms_warehouse.resources import RESOURCES
from bms_warehouse.tables.mirror import MIRROR_TABLES


async def ledger_view(
    ledger: PostgresLedger,
    sheet: Sheet,
    resource: Resource,
    identity: Identity,
    settings: OnboardingSettings,
    read_at: datetime | None,
) -> tuple[PlanningView, set[str]]:
    """Return the view of the ledger, without records of the service, and the records on undo sheets.

    `read_at` is the time of the records that are shown: later records may be missing.
    """
    match_keys = match_keys_of(sheet, identity)
    # A created record may be missing from the lists for this long.
    since = read_at - transitions.EMPTY_LOOKUPS * settings.settle if read_at else EVER

    def stored() -> tuple[PlanningView, set[str]]:
        name, mirror = resource.name, MIRROR_TABLES[resource.name].current
        with ledger.engine.connect() as connection:
            in_flight = entering.rows_in_flight(connection, identity, since)
            matched = entering.matched_ids(connection, name, match_keys)
            codes = codes_in_use(connection, mirror, resource.codes)
            view = PlanningView(entries, in_flight, (), matched=matched, since=since, codes=codes)
            undone = drops.undone(connection, name)
        verified = entering.verified_fields(ledger.engine, [each.id for each in entries.values()])
        read_back = {row: names["different"] for row, names in verified.items()}
        return replace(view, read_back=read_back, sent=sent), undone

    entries = await with_managers(ledger, keys_of(sheet, identity))
    made = [each for each in entries.values() if each.state in EXISTING]
    dropped = {body_digest(row.values) for row in sheet.rows} if made else set()
    sent = await ledger.bodies([each.id for each in made if each.digest not in dropped])
    return await asyncio.to_thread(stored)


def mirror_view(
    engine: Engine, sheet: Sheet, reading: Reading, read_at: datetime | None
) -> PlanningView:
    """Return the planner's view of the ledger and of the mirror, read at `read_at`."""
    name, identity = reading.resource.name, reading.identity
    ledger = PostgresLedger(engine, name)
    given = (ledger, sheet, reading.resource, identity, reading.settings, read_at)
    view, undone = asyncio.run(ledger_view(*given))
    shown = with_restricted(engine, sheet, identity, mirrored_records(engine, name, identity))
    with engine.connect() as connection:
        removed = drops.removed(connection, MIRROR_TABLES[name].current)
    contains = frozenset(known.remote_id for known in shown).__contains__
    view = replace(view, shown=shown, headcount=len(shown), contains=contains)
    return view.without(undone & removed)


def with_restricted(
    engine: Engine, sheet: Sheet, identity: Identity, shown: Iterable[ServiceRecord]
) -> list[ServiceRecord]:
    """Return the records with the match keys of restricted fields, if rows have such keys and the mirror the fields.

    Lists show none of these fields, and details are read of namesakes only: not of a person with a new name.
    """
    table, digests = MIRROR_TABLES[identity.resource].private, dict[str, list[str]]()
    for rule in identity.possible_match_rules:
        given = any({*rule.fields} <= row.values.keys() for row in sheet.rows)
        if table is not None and given and identity.unlisted.issuperset(rule.fields):
            key, *columns = [*table.primary_key.columns, *(table.c[each] for each in rule.fields)]
            with engine.connect() as connection:
                for row in connection.execute(select(key, *columns)).mappings():
                    values = Comparable({each: row[each] for each in rule.fields})
                    found = rule.digests(identity.resource, values)
                    digests.setdefault(row[key], []).extend(found)
    return [
        msgspec.structs.replace(each, other_digests=(*each.other_digests, *digests[each.remote_id]))
        if digests.get(each.remote_id)
        else each
        for each in shown
    ]


def mirrored_records(engine: Engine, name: str, identity: Identity) -> Iterator[ServiceRecord]:
    """Yield the records of a mirror as the service's list showed them; without those that are missing."""
    [source] = (each for each in RESOURCES if each.name == name)
    table = MIRROR_TABLES[name].current
    columns = {each.name: each.column for each in described(source.item).values()}
    wanted = [table.c[column].label(field) for field, column in columns.items()]
    scope = [table.c["_entity"]] if source.per_entity else []
    present = table.c["_removal_reason"].is_distinct_from("missing")
    with engine.connect() as connection:
        for row in connection.execute(select(*wanted, *scope).where(present)).mappings():
            values = {field: _as_listed(row[field]) for field in columns}
            of_list = str(row["_entity"] or "") if source.per_entity else ""
            yield REMOTES[name].record_of(identity, source.item(**values), of_list)


def _as_listed(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
