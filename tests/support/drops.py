"""Drops with their plans and rows, as onboarding stores them; `given` has the columns that differ."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine

from bms_warehouse.tables import creation, creation_plan, dropped_file, quarantine
from tests.support.sql import insert_row

Where = Engine | Connection


def add_drop(where: Where, at: datetime | None = None, /, **given: Any) -> None:
    """Store an open drop of a file of employees, entered at a time, by default now."""
    at = at or datetime.now(UTC)
    usual = {"resource": "employee", "path": "a.csv", "size": 1, "stamp": "1", "state": "open"}
    times = {"dag_run_id": "manual__1", "expires_at": at, "entered_at": at}
    insert_row(where, dropped_file, usual | times | given)


def add_plan(where: Where, at: datetime | None = None, /, **given: Any) -> None:
    """Store a plan of the first drop that is not decided yet."""
    usual = {"drop_id": 1, "id": "p", "resource": "employee", "state": "made", "bound": {}}
    empty: dict[str, Any] = {"counts": {}, "breaches": [], "creates": {}, "rows": []}
    insert_row(where, creation_plan, usual | empty | {"made_at": at or datetime.now(UTC)} | given)


def add_row(where: Where, key: str, at: datetime | None = None, /, **given: Any) -> None:
    """Store a row of the first drop in the ledger: created with one POST."""
    at = at or datetime.now(UTC)
    usual = {"resource": "employee", "key": key, "digest": "d", "drop_id": 1, "line": 2}
    state = {"state": "created", "attempt": 1, "max_attempts": 5, "empty_lookups": 0}
    rest: dict[str, Any] = {"evidence": [], "candidates": [], "entered_at": at, "changed_at": at}
    insert_row(where, creation, usual | state | rest | given)


def add_invalid_row(where: Where, row_key: str, code: str, raw: str, /, **given: Any) -> None:
    """Store a row in quarantine: a contact."""
    at = datetime.now(UTC)
    usual = {"resource": "contact", "id_entity": 0, "row_key": row_key, "code": code, "raw": raw}
    times = {"step_run_id": 1, "first_seen_at": at, "last_seen_at": at}
    insert_row(where, quarantine, usual | times | given)
