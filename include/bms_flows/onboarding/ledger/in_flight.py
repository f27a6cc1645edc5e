"""Rows of the ledger that the service's lists may not show: unfinished ones, and records just made.

What two drops have of the same person under two keys meets only here, so drops look here and enter
their rows one after the other.
"""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection, select, text

from bms_flows.onboarding.ledger.entry import HERE, OPEN, State
from bms_flows.onboarding.resources.match_rules import Identity, unpacked
from bms_warehouse.tables import creation, creation_body


def of(connection: Connection, identity: Identity, since: datetime) -> dict[str, Collection[str]]:
    """Return what rows may be found by, by key, that are unfinished or were done after `since`."""
    unfinished = creation.c.state.in_([*OPEN, State.REVIEW])
    made = creation.c.state.in_(HERE) & (creation.c.changed_at > since)
    rows = connection.execute(
        select(creation.c.key, creation_body.c.body)
        .join_from(creation, creation_body)
        .where(creation.c.resource == identity.resource, unfinished | made)
    )
    return {key: identity.finders(unpacked(body)) for key, body in rows}


def in_turn(connection: Connection, resource: str) -> None:
    """Wait until no other drop is entering rows of `resource`, and keep others waiting.

    Until the end of the caller's transaction, which does nothing else than look here and enter:
    where its process dies or stands still the session ends, and the next one goes on.
    """
    connection.execute(
        text("select pg_advisory_xact_lock(hashtext('bms.creation enter'), hashtext(:resource))"),
        {"resource": resource},
    )
