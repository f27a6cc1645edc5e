"""Steps of runs, as flows record them."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, insert

from bms_warehouse.tables import step_run


def add_step(where: Engine | Connection, at: datetime | None = None, **given: Any) -> None:
    """Record a step that took no time at `at`, by default now: a complete sync of the contacts, but for `given`."""
    at = at or datetime.now(UTC)
    usual = {"flow": "contact_sync", "dag_run_id": "scheduled__1", "step": "sync"}
    usual |= {"state": "complete", "started_at": at, "finished_at": at}  # type: ignore[dict-item]  # other columns
    if isinstance(where, Connection):
        where.execute(insert(step_run).values(usual | given))
    else:
        with where.begin() as connection:
            connection.execute(insert(step_run).values(usual | given))
