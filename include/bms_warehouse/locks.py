"""Advisory locks, and the errors of locks and leases."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, text

from bms_warehouse.errors import without_data


class Busy(Exception):
    """Another run holds the lock or lease; a retry can succeed."""

    retriable = True

    def __init__(
        self, message: str, *, retry_after: float = 60.0, retry_for_hours: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.retry_for_hours = retry_for_hours


class LeaseLost(Exception):
    """Another run took the lease over; the caller must write nothing more."""

    retriable = True


def serialize(connection: Connection, name: str) -> None:
    """Wait for the lock `name`, and hold the lock until the transaction ends."""
    connection.execute(
        text("select pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": name}
    )


@contextmanager
def lock(connection: Connection, name: str, holder: str, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock `name` for the block, across transactions; raise `Busy` with the text `holder`.

    With `shared`, other `shared` holders may hold the lock too. The database releases the lock when
    the connection closes. The end of the block rolls back uncommitted changes.
    """
    given, kind = {"name": name}, "_shared" if shared else ""
    attempt = text(f"select pg_try_advisory_lock{kind}(hashtextextended(:name, 0))")
    acquired = connection.scalar(attempt, given)
    connection.commit()
    if not acquired:
        raise Busy(holder)
    try:
        yield
    finally:
        connection.rollback()
        with without_data():
            connection.connection.rollback()  # what was executed beside SQLAlchemy
        unlock = text(f"select pg_advisory_unlock{kind}(hashtextextended(:name, 0))")
        connection.execute(unlock, given)
        connection.commit()
