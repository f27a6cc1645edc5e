"""Connection of the command to the warehouse; SQLAlchemy is imported when one is made."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from bms_cli.output import FAILED, UNKNOWN, show_error
from bms_flows.runtime.settings import InvalidSetting

if TYPE_CHECKING:
    from sqlalchemy import Engine


@contextmanager
def connected(url: str, consequence: str = "") -> Iterator["Engine"]:
    """Connect to the warehouse for the block; exit with 2 if it does not answer, with 1 if it refuses."""
    from bms_warehouse.errors import WarehouseError

    engine = connect(url)
    try:
        yield engine
    except WarehouseError as error:
        refused, lost = error.sqlstate, error.retriable
        outcome = (
            "refused a statement" if refused else "does not answer" if lost else "can't be used"
        )
        show_error(f"{consequence}The warehouse {outcome}: {error}")
        raise typer.Exit(FAILED if error.sqlstate else UNKNOWN) from None
    finally:
        engine.dispose()


def connect(uri: str) -> "Engine":
    """Return an engine with a connection timeout of ten seconds, unless the URI has another.

    A statement waits two minutes for a lock: VACUUM FULL would suspend a command for hours without a word, and
    a migration that waits stops every flow.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    from bms_warehouse import database

    try:
        url = make_url(uri)
    except (ArgumentError, ValueError):
        # SQLAlchemy's text quotes the URI, which can contain a password.
        raise InvalidSetting(
            "invalid URI of the warehouse: use postgresql://user:password@host:port/database"
        ) from None
    given = url.query.get("options", ())
    options = ("-c lock_timeout=2min", *([given] if isinstance(given, str) else given))
    limited = url.set(query={"connect_timeout": "10", **url.query, "options": options})
    return database.connect(limited.render_as_string(hide_password=False))
