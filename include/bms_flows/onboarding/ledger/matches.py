"""Remote ids that match keys of dropped rows were matched to; the first match of a key is final."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, select
from sqlalchemy.dialects.postgresql import insert

from bms_flows.onboarding.ledger.store import among
from bms_warehouse.tables import creation_match


def load(engine: Engine, resource: str, keys: Collection[str]) -> dict[str, str]:
    """Return the remote ids that `keys` were matched to, by key."""
    with engine.connect() as connection:
        found = connection.execute(
            select(creation_match.c.key, creation_match.c.remote_id).where(
                creation_match.c.resource == resource, among(creation_match.c.key, keys)
            )
        )
        return dict(found.all())


def save(
    connection: Connection, resource: str, drop_id: int, remote_ids: Mapping[str, str]
) -> None:
    """Save remote ids by key in the caller's transaction; existing matches stay. Idempotent."""
    now = datetime.now(UTC)
    rows = [
        {"resource": resource, "key": key, "remote_id": remote_id, "drop_id": drop_id}
        | {"matched_at": now}
        for key, remote_id in sorted(remote_ids.items())
    ]
    if rows:
        connection.execute(insert(creation_match).on_conflict_do_nothing(), rows)
