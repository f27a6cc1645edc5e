"""What goes wrong in the database, said without the data: PostgreSQL's own texts quote rows."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext

TRANSIENT = ("08", "40", "53", "55", "57")
"""Classes of SQLSTATE that may pass: connection, rollback, resources, locks, shutdown."""


class WarehouseError(Exception):
    """The database refused or broke off; names the error's kind, its code and its place, no value."""

    def __init__(self, error: psycopg.Error) -> None:
        self.sqlstate = error.sqlstate
        self.retriable = error.sqlstate is None or error.sqlstate.startswith(TRANSIENT)
        if error.sqlstate is None:
            super().__init__("no answer: is PostgreSQL running where the connection points?")
            return
        names = (error.diag.schema_name, error.diag.table_name, error.diag.column_name)
        place = ".".join(name for name in names if name)
        parts = [
            f"{type(error).__name__} ({error.sqlstate})",
            f"at {place}" if place else "",
            f"by {error.diag.constraint_name}" if error.diag.constraint_name else "",
        ]
        super().__init__(" ".join(part for part in parts if part))


@contextmanager
def without_data() -> Iterator[None]:
    """Turn psycopg's errors into `WarehouseError`, for what is done with the driver directly."""
    try:
        yield
    except psycopg.Error as error:
        raise WarehouseError(error) from None


def speak_without_data(engine: Engine) -> None:
    """Have everything done through `engine` raise `WarehouseError` in place of psycopg's errors."""

    @event.listens_for(engine, "handle_error")
    def replace(context: ExceptionContext) -> None:
        error = context.original_exception
        if isinstance(error, psycopg.Error):
            raise WarehouseError(error) from None
