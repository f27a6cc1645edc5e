"""Database errors without row data, which PostgreSQL's own texts contain."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from sqlalchemy.engine import ExceptionContext

TRANSIENT = ("08", "25006", "25P03", "25P04", "40", "53", "55", "57", "58030")
"""Prefixes of transient SQLSTATEs: connection, standby, timeouts, rollback, resources, locks, shutdown, disk."""
OUTAGE = ("08", "25006", "53", "57P", "58030")
"""Prefixes of those that last until an administrator has acted: connection, standby, full disk, shutdown, failed disk."""
READ_ONLY_DISK = "Read-only file system"
"""Part of a text of a failed disk, whose code 42501 is that of a missing privilege."""

REMEDIES = {
    "25006": "the address leads to a standby, or role or database is read-only, as hosted ones with a full "
    "disk: connect to the primary, or name all servers and add target_session_attrs=read-write",
    "25P04": "the transaction_timeout of the role, the database or the address: set it to 0 for the role of the "
    "warehouse, whose loads take minutes",
    "42501": "the user lacks a privilege (bms doctor names it): connect as the owner of the tables, and for bms migrate "
    "as the owner of the database",
    "53100": "free space on PostgreSQL's disk (its log names the file) and retry",
    "55P03": "another session has locked a table, or waits to: end VACUUM FULL, ALTER TABLE or the like, or wait",
    "58030": "PostgreSQL's disk fails or became read-only: repair it (PostgreSQL's log names the file)",
    "57014": "usually the statement_timeout of the role, the database or the address: raise it for "
    "the role of the warehouse, whose loads take minutes",
}
"""What to do, by SQLSTATE: read-only, timeout, privilege, disk full, locked, failed disk, canceled."""

CAUSES = (
    (r"authentication failed|role .* does not exist|no password", "check user and password"),
    (r"permission denied for database", "grant the user CONNECT on the database"),
    (r"database .* does not exist", "the database does not exist; create it, or check its name"),
    (r"not permitted to log in", "the role may not log in: alter role … login"),
    (r"pg_hba.conf", "pg_hba.conf permits no login of this user from this machine"),
    (
        r"certificate|not support SSL",
        "no encryption: check sslmode and sslrootcert (the server's authority) in the address",
    ),
    (
        r"in recovery mode|starting up|shutting down",
        "the server starts, stops or recovers from a crash; read its log if this lasts",
    ),
    (
        r"too many (connections|clients)|connection slots",
        "all connections are taken: end idle ones, or raise max_connections or the role's limit",
    ),
    (f"{READ_ONLY_DISK}|Input/output error", REMEDIES["58030"]),
    (r"could not write|No space left", "free space on PostgreSQL's disk"),
    (r"Connection refused", "no server listens at the address; check host and port"),
    (
        r"resolve host|translate host name|Name or service not known",
        "the host is unknown; check it, and percent-encode special characters of the password",
    ),
)
"""Parts of libpq's texts, which have no code, and what to check."""

NOT_MIGRATED = ("3F000", "42P01", "42703")
"""SQLSTATEs of a missing schema, table or column."""


class WarehouseError(psycopg.Error):
    """Database error with its type, code and location, without values."""

    retriable = False
    retry_for_hours = False

    def __init__(self, error: psycopg.Error | str) -> None:
        if isinstance(error, str):
            super().__init__(error)
            return
        unconnected = error.sqlstate is None and isinstance(error, psycopg.OperationalError)
        failed_disk = READ_ONLY_DISK in (error.diag.message_primary or "")
        code = "58030" if failed_disk else error.sqlstate or ""
        self.retriable = unconnected or code.startswith(TRANSIENT)
        self.retry_for_hours = unconnected or code.startswith(OUTAGE)
        if unconnected:
            # libpq reports a refused login without a code too; its text is omitted.
            super().__init__(f"no connection to PostgreSQL: {_cause(str(error))}")
            return
        if error.sqlstate is None:
            super().__init__(
                f"{type(error).__name__}: psycopg refused a value before PostgreSQL saw it: report this defect"
            )
            return
        parts = (error.diag.schema_name, error.diag.table_name, error.diag.column_name)
        location = ".".join(part for part in parts if part)
        if denied := re.fullmatch(
            r"permission denied for (\w+ \w+)", error.diag.message_primary or ""
        ):
            location = denied[1]
        texts = [
            f"{type(error).__name__} ({error.sqlstate})",
            f"at {location}" if location else "",
            f"by {error.diag.constraint_name}" if error.diag.constraint_name else "",
        ]
        super().__init__(" ".join(text for text in texts if text) + _remedy(code))
        self.sqlstate = error.sqlstate


class ConnectionLost(WarehouseError):
    """An open connection ended; PostgreSQL's reason did not arrive."""

    retriable = True
    retry_for_hours = True

    def __init__(self) -> None:
        super().__init__(
            "the connection to PostgreSQL was lost: the server or the network closed it, for example "
            "at a restart or an idle limit. Retry; if it recurs, read PostgreSQL's log"
        )


class ServerTooOld(WarehouseError):
    """The server lacks a setting of the session, and functions of the schema."""

    def __init__(self) -> None:
        super().__init__("PostgreSQL is older than version 14: upgrade it; nothing was written")


class PoolerFound(WarehouseError):
    """The connection goes through a pooler, which shares sessions between clients."""

    def __init__(self) -> None:
        super().__init__(
            "the address of the warehouse leads to a connection pooler such as PgBouncer, which shares "
            "sessions between clients: advisory locks, temporary tables, prepared statements and "
            "session settings of a load would be lost. Connect to PostgreSQL itself"
        )


class EncodingUnsupported(WarehouseError):
    """The database stores text in an encoding that lacks characters of the service."""

    def __init__(self, encoding: str) -> None:
        super().__init__(
            f"the database of the warehouse stores text as {encoding}, which can't hold every name: "
            "create a database with encoding 'UTF8' template template0"
        )


REFUSALS = {
    "unsupported startup parameter": PoolerFound,
    "support command-line options": PoolerFound,
    "idle_session_timeout": ServerTooOld,
}
"""Parts of the texts with which PgBouncer, RDS Proxy and old servers refuse the settings of a session."""


def _cause(text: str) -> str:
    """Return what to check if no connection opened; `text` may be in the language of the server."""
    anything = (
        "check that the server runs at the configured address, "
        "and check user, password and database"
    )
    return next((cause for pattern, cause in CAUSES if re.search(pattern, text)), anything)


def _remedy(sqlstate: str) -> str:
    """Return the remedy of an error after a semicolon, or an empty text."""
    if sqlstate in NOT_MIGRATED:
        return "; migrate the warehouse: bms migrate"
    return f"; {REMEDIES[sqlstate]}" if sqlstate in REMEDIES else ""


@contextmanager
def without_data() -> Iterator[None]:
    """Convert psycopg's errors to `WarehouseError`."""
    try:
        yield
    except psycopg.Error as error:
        raise _converted(error, connected=True) from None


def unwrapped(context: ExceptionContext) -> None:
    """Make SQLAlchemy raise `WarehouseError` without wrapping."""
    error = context.original_exception
    if isinstance(error, psycopg.Error):
        if context.connection is None and error.sqlstate is None:
            for refusal in (each for part, each in REFUSALS.items() if part in str(error)):
                raise refusal from None
        raise _converted(error, connected=context.connection is not None) from None


def _converted(error: psycopg.Error, *, connected: bool) -> WarehouseError:
    """Return the error without values; `connected` means that the connection had opened."""
    if isinstance(error, WarehouseError):
        return error
    # libpq may find the connection closed before it reads the server's reason.
    if connected and error.sqlstate is None and isinstance(error, psycopg.OperationalError):
        return ConnectionLost()
    return WarehouseError(error)


class Cursor(psycopg.Cursor[Any]):
    """Cursor whose errors contain no row data."""

    def execute(self, *args: Any, **kwargs: Any) -> Self:
        """Execute a statement."""
        with without_data():
            return super().execute(*args, **kwargs)

    def executemany(self, *args: Any, **kwargs: Any) -> None:
        """Execute a statement for each set of values."""
        with without_data():
            super().executemany(*args, **kwargs)

    @contextmanager
    def copy(self, *args: Any, **kwargs: Any) -> Iterator[psycopg.Copy]:
        """Copy rows from or to the server."""
        with without_data(), super().copy(*args, **kwargs) as copy:
            yield copy
