"""The records that dropped rows turned out to be: from the first match on, the id is who it is."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, select
from sqlalchemy.dialects.postgresql import insert

from bms_flows.onboarding.ledger.store import among
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.outcome import Outcome
from bms_flows.onboarding.resources.match_rules import Identity
from bms_warehouse.tables import creation_match


def of(warehouse: Engine, resource: str, keys: Collection[str]) -> dict[str, str]:
    """Return the remote ids that keys were found to be."""
    with warehouse.connect() as connection:
        found = connection.execute(
            select(creation_match.c.key, creation_match.c.remote_id).where(
                creation_match.c.resource == resource, among(creation_match.c.key, keys)
            )
        )
        return dict(found.all())


def of_rows(identity: Identity, sheet: Sheet, outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Return the remote id of every row that has one, by all that it is known by from now on. Pure."""
    if identity.alone:
        return {}
    values = {row.line: row.values for row in sheet.rows}
    return {
        key: outcome.guid
        for outcome in outcomes
        if outcome.guid
        for key, finder in identity.finders(values[outcome.line]).items()
        if finder.trust != "never"
    }


def keep(
    connection: Connection, resource: str, drop_id: int, remote_ids: Mapping[str, str]
) -> None:
    """Keep the remote ids that keys were found to be; what was found first stays. Safe to repeat."""
    now = datetime.now(UTC)
    rows = [
        {"resource": resource, "key": key, "remote_id": remote_id, "drop_id": drop_id}
        | {"matched_at": now}
        for key, remote_id in sorted(remote_ids.items())
    ]
    if rows:
        connection.execute(insert(creation_match).on_conflict_do_nothing(), rows)
