"""Stored profiles of loads: saved with each published load, read before the next one is judged."""

from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Select, insert, select

from bms_flows.runtime import step_log
from bms_flows.runtime.list_id import ListId
from bms_flows.runtime.profile import Profile, StoredProfile, volatile_fields
from bms_flows.runtime.windows import local_date
from bms_warehouse.history import Stamp
from bms_warehouse.tables import load_profile, step_run

EARLIER: Final = 90
"""Profiles that a load is compared with."""


def save(
    connection: Connection,
    list_id: ListId,
    stamp: Stamp,
    profile: Profile,
    accepted: Mapping[str, str | None],
) -> None:
    """Store the profile of a published load, in the caller's transaction."""
    connection.execute(
        insert(load_profile).values(
            **list_id._asdict(),
            step_run_id=stamp.step_run_id,
            read_at=stamp.observed_at,
            profile=profile.as_dict(),
            accepted=dict(accepted),
        )
    )


def earlier(connection: Connection, list_id: ListId, zone: ZoneInfo) -> list[StoredProfile]:
    """Return the profiles of the latest published loads, the latest first."""
    rows = connection.execute(_latest(list_id, EARLIER))
    return [
        StoredProfile.of(each.profile, local_date(each.read_at, zone), each.accepted)
        for each in rows
    ]


def volatile(connection: Connection, list_id: ListId) -> frozenset[str]:
    """Return the unknown fields that a load of this list leaves out."""
    latest = connection.execute(_latest(list_id, 2))
    return volatile_fields([each.profile for each in latest])


def _latest(list_id: ListId, most: int) -> Select[Any]:
    """Return the query of the latest `most` profiles, the latest first."""
    stored = load_profile.c
    return (
        select(stored.profile, stored.read_at, stored.accepted)
        .where(list_id.of(load_profile))
        .order_by(stored.step_run_id.desc())
        .limit(most)
    )


def held_measures(connection: Connection, step_run_id: int) -> list[str]:
    """Return the measures for which the run before a step run was held, if it was."""
    last = step_run.c
    details = connection.scalar(
        step_log.same_step(step_run_id)
        .with_only_columns(last.details)
        .where(last.id < step_run_id, last.state.in_(("complete", "unstable", "suspect")))
        .order_by(last.id.desc())
        .limit(1)
    )
    return [*(details or {}).get("measures", ())]
