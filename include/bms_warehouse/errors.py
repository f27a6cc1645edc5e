"""What goes wrong in the database, said without the data: PostgreSQL's own texts quote rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from sqlalchemy.engine import ExceptionContext

TRANSIENT = ("08", "25P03", "40", "53", "55", "57")
"""SQLSTATEs that may pass, by how they begin: connection, stood still, rollback, resources, locks, shutdown."""


DISK_FULL = "53100"

NOT_MIGRATED = ("3F000", "42P01", "42703")
"""SQLSTATEs of a schema, table or column that isn't there."""


class WarehouseError(psycopg.Error):
    """The database refused or broke off; names the error's kind, its code and its place, no value."""

    def __init__(self, error: psycopg.Error) -> None:
        self.retriable = error.sqlstate is None or error.sqlstate.startswith(TRANSIENT)
        if error.sqlstate is None:
            # libpq gives a refused sign-in no code either, and its text is left out.
            super().__init__(
                "no connection: is PostgreSQL running where the connection points, and are "
                "user, password and database right?"
            )
            return
        names = (error.diag.schema_name, error.diag.table_name, error.diag.column_name)
        place = ".".join(name for name in names if name)
        parts = [
            f"{type(error).__name__} ({error.sqlstate})",
            f"at {place}" if place else "",
            f"by {error.diag.constraint_name}" if error.diag.constraint_name else "",
        ]
        super().__init__(" ".join(part for part in parts if part) + _remedy(error.sqlstate))
        self.sqlstate = error.sqlstate


def _remedy(sqlstate: str) -> str:
    """Return what to do about an error, led by a semicolon, where that is known."""
    if sqlstate in NOT_MIGRATED:
        return "; bring the warehouse up to date: python -m bms_warehouse migrate"
    if sqlstate == DISK_FULL:
        return "; make room on PostgreSQL's disk (its log names the file) and try again"
    return ""


@contextmanager
def without_data() -> Iterator[None]:
    """Turn psycopg's errors into `WarehouseError`."""
    try:
        yield
    except WarehouseError:
        raise
    except psycopg.Error as error:
        raise WarehouseError(error) from None


def unwrapped(context: ExceptionContext) -> None:
    """Have SQLAlchemy raise `WarehouseError` itself, not wrapped into an error of its own."""
    error = context.original_exception
    if isinstance(error, psycopg.Error):
        raise error if isinstance(error, WarehouseError) else WarehouseError(error) from None


class Cursor(psycopg.Cursor[Any]):
    """psycopg's cursor, whose errors quote no row."""

    def execute(self, *args: Any, **kwargs: Any) -> Self:
        """Execute a statement, as psycopg does."""
        with without_data():
            return super().execute(*args, **kwargs)

    def executemany(self, *args: Any, **kwargs: Any) -> None:
        """Execute a statement with many values, as psycopg does."""
        with without_data():
            super().executemany(*args, **kwargs)

    @contextmanager
    def copy(self, *args: Any, **kwargs: Any) -> Iterator[psycopg.Copy]:
        """Copy, as psycopg does."""
        with without_data(), super().copy(*args, **kwargs) as copy:
            yield copy
