"""Steps of runs, as flows record them."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine

from bms_warehouse.tables import step_run
from tests.support.sql import insert_row


def add_step(where: Engine | Connection, at: datetime | None = None, /, **given: Any) -> None:
    """Record a step that took no time at `at`, by default now: a complete sync of the contacts, but for `given`."""
    at = at or datetime.now(UTC)
    usual = {"flow": "contact_sync", "dag_run_id": "scheduled__1", "step": "sync"}
    times = {"state": "complete", "started_at": at, "finished_at": at}
    insert_row(where, step_run, usual | times | given)
