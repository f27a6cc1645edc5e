"""Leases on the days of an entity: one run at a time loads a day."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, Engine, delete, func, select, text, update

from bms_flows.invoices.units import Unit
from bms_flows.runtime import step_log
from bms_warehouse.database import clock
from bms_warehouse.errors import WarehouseError
from bms_warehouse.locks import Busy, LeaseLost
from bms_warehouse.tables import client_invoice_lease as lease

LIFE = timedelta(minutes=10)
"""Lifetime of a lease without renewal; then another run may take the days over."""

ABANDONED = timedelta(hours=1)
"""Time after its end from which a lease counts as that of a killed load: no request takes as long."""

TAKING_S = 15
"""Maximum seconds that a worker is suspended while it takes a lease: others of the same days wait for it."""

RENEWAL_S = 60.0
"""Minimum seconds between two renewals."""

EXCLUSION_VIOLATION = "23P01"


@dataclass
class Lease:
    """A step run's lease on its windows."""

    step_run_id: int
    windows: int
    renewed_at: float
    """Monotonic clock."""

    def renew(self, connection: Connection) -> None:
        """Extend the lease, at most once in `RENEWAL_S`."""
        if time.monotonic() - self.renewed_at < RENEWAL_S:
            return
        mine = lease.c.step_run_id == self.step_run_id
        connection.execute(update(lease).where(mine).values(expires_at=clock(connection) + LIFE))
        self.renewed_at = time.monotonic()

    def name_session(self, connection: Connection) -> None:
        """Name the database session after the step until its transaction ends.

        A run that takes the days over ends the session by this name. Otherwise the row locks of a
        worker that was lost or suspended would block every other load of the same rows.
        """
        connection.execute(
            select(func.set_config("application_name", _session(self.step_run_id), True))
        )

    def fence(self, connection: Connection) -> None:
        """Lock the lease until the transaction ends; raise `LeaseLost` if a window was lost."""
        held = (
            select(lease.c.step_run_id)
            .where(lease.c.step_run_id == self.step_run_id)
            .with_for_update()
        )
        if len(connection.execute(held).all()) != self.windows:
            raise LeaseLost("another run took these days over while this run was suspended")


@contextmanager
def lease_days(engine: Engine, unit: Unit, *, step_run_id: int, task: str) -> Iterator[Lease]:
    """Lease the unit's days for the block; raise `Busy` if another task holds some of them.

    `Busy` removes the step run, which has done nothing: its task waits and tries again. An earlier
    attempt of the same `task` loses its lease and can no longer publish.
    """
    held = Lease(step_run_id, len(unit.windows), time.monotonic())
    try:
        _take(engine, unit, step_run_id, task)
    except WarehouseError as error:
        if error.sqlstate != EXCLUSION_VIOLATION:
            raise
        step_log.remove(engine, step_run_id)
        raise Busy(f"entity {unit.id_entity}: another run works on some of these days") from None
    try:
        yield held
    finally:
        with engine.begin() as connection:
            held.name_session(connection)  # else a worker suspended here blocks the takeover
            connection.execute(delete(lease).where(lease.c.step_run_id == step_run_id))


def end_abandoned(engine: Engine) -> None:
    """Delete abandoned leases: the loads that held them can no longer publish."""
    with engine.begin() as connection:
        ended = clock(connection) - ABANDONED
        connection.execute(delete(lease).where(lease.c.expires_at < ended))


_FREE = """
    from bms.client_invoice_lease
    where id_entity = :id_entity and days && any(cast(:days as daterange[])) and (expires_at < :now or task = :task)
"""
"""Leases of some of the days that expired, or that are of an earlier attempt."""
_INSERT = text("""
    insert into bms.client_invoice_lease (id_entity, days, step_run_id, task, expires_at)
    select :id_entity, unnest(cast(:days as daterange[])), :step_run_id, :task, :expires_at
""")
_END_SESSIONS = text(
    "select pg_terminate_backend(pid) from pg_stat_activity "
    "where datname = current_database() and application_name = any(:names)"
)


def _take(engine: Engine, unit: Unit, step_run_id: int, task: str) -> None:
    days = [f"[{window.start},{window.end}]" for window in unit.windows]
    given = {"id_entity": unit.id_entity, "days": days, "step_run_id": step_run_id, "task": task}
    with engine.begin() as connection:
        idle = f"set local idle_in_transaction_session_timeout = '{TAKING_S}s'"
        connection.execute(text(idle))
        given |= {"now": (now := clock(connection)), "expires_at": now + LIFE}
        # Their row locks would block other sessions.
        others = connection.scalars(text(f"select step_run_id {_FREE}"), given).all()
        connection.execute(_END_SESSIONS, {"names": [*map(_session, others)]})
        connection.execute(text(f"delete {_FREE}"), given)
        connection.execute(_INSERT, given)


def _session(step_run_id: int) -> str:
    return f"bms load of step {step_run_id}"
