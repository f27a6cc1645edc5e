"""Leases on the days of an entity: one run at a time loads a day."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, Engine, and_, delete, func, insert, or_, select, text, update
from sqlalchemy.dialects.postgresql import Range

from bms_flows.invoices.units import Unit
from bms_flows.runtime import step_log
from bms_flows.runtime.windows import DAY
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


_END_SESSIONS = text(
    "select pg_terminate_backend(pid) from pg_stat_activity "
    "where datname = current_database() and application_name = any(:names)"
)


def _take(engine: Engine, unit: Unit, step_run_id: int, task: str) -> None:
    days = [Range(window.start, window.end + DAY) for window in unit.windows]
    with engine.begin() as connection:
        idle = f"set local idle_in_transaction_session_timeout = '{TAKING_S}s'"
        connection.execute(text(idle))
        now = clock(connection)
        free = and_(
            lease.c.id_entity == unit.id_entity,
            or_(*(lease.c.days.op("&&")(each) for each in days)),
            or_(lease.c.expires_at < now, lease.c.task == task),
        )
        # Their row locks would block other sessions.
        others = connection.scalars(select(lease.c.step_run_id).where(free)).all()
        connection.execute(_END_SESSIONS, {"names": [*map(_session, others)]})
        connection.execute(delete(lease).where(free))
        connection.execute(
            insert(lease),
            [
                {
                    "id_entity": unit.id_entity,
                    "days": each,
                    "step_run_id": step_run_id,
                    "task": task,
                    "expires_at": now + LIFE,
                }
                for each in days
            ],
        )


def _session(step_run_id: int) -> str:
    return f"bms load of step {step_run_id}"
