"""`python -m bms_flows.rebuild`: make the invoice tables again from the answers that were kept.

Every complete step is loaded again in its order, from its raw answers, as if seen when it was, with
the zone, language and date of the range that it was loaded with: the same rows, versions and days
come of it. All in one transaction; nothing changes when an
answer is missing (retention keeps raw answers for BMS_KEEP_RAW_DAYS).
"""

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Date,
    DateTime,
    Engine,
    cast,
    delete,
    func,
    select,
    text,
)
from upath import UPath

from bms_flows.invoices.load import RESOURCE, Languages, Loader
from bms_flows.invoices.publish import publish
from bms_flows.invoices.raw import ResponsesMissing
from bms_flows.invoices.repeats import StoredResponses, reload
from bms_flows.invoices.units import Unit
from bms_flows.runtime import storage
from bms_flows.runtime.settings import FlowSettings
from bms_warehouse import database
from bms_warehouse.errors import WarehouseError
from bms_warehouse.queries import fingerprint
from bms_warehouse.tables import (
    client_invoice,
    client_invoice_day,
    client_invoice_version,
    code_name,
    control_total,
    quarantine,
    step_run,
)


class ListedOtherwise(RuntimeError):
    """Steps that don't say by which date their range was filtered, and whose rows deny the setting."""


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild did: steps loaded, and the table's fingerprint before and after."""

    steps: int
    before: str
    after: str


def rebuild(
    engine: Engine,
    data_root: UPath,
    settings: FlowSettings,
    progress: Callable[[int, int], None] | None = None,
) -> Rebuilt:
    """Make the invoice tables again.

    Raises `ResponsesMissing` and `ListedOtherwise` before anything is touched.
    """
    with engine.begin() as connection:
        # Nothing is asked of the database while thousands of answers are looked for, and read.
        database.read_meanwhile(connection)
        # Readers go on with what stands; a load that would publish waits, and then starts anew.
        connection.execute(text(f"lock table {client_invoice} in exclusive mode"))
        steps = _steps(connection, settings)
        gone = [
            number for number, kept in steps if _stored(data_root, kept).lacks(Unit.from_dict(kept))
        ]
        if gone:
            raise ResponsesMissing(f"raw answers of steps {', '.join(map(str, gone))} are gone")
        before = fingerprint(connection, client_invoice)
        _empty(connection, [number for number, _ in steps])
        for done, (number, kept) in enumerate(steps, 1):
            _again(connection, data_root, settings, number, kept)
            if progress:
                progress(done, len(steps))
        return Rebuilt(len(steps), before, fingerprint(connection, client_invoice))


def _steps(connection: Connection, settings: FlowSettings) -> list[tuple[int, dict[str, Any]]]:
    complete = (
        select(step_run.c.id, step_run.c.details, step_run.c.finished_at)
        .where(
            step_run.c.flow == "invoice_extraction",
            step_run.c.step == "extract",
            step_run.c.state == "complete",
        )
        .order_by(step_run.c.finished_at, step_run.c.id)
    )
    range_date = settings.invoice_range_date
    if denying := _listed_otherwise(connection, range_date):
        raise ListedOtherwise(
            f"rows of steps {', '.join(map(str, denying))} are not listed by {range_date}; "
            "set BMS_INVOICE_RANGE_DATE to the date that these were loaded with"
        )
    # Steps that don't say when their rows were seen ended at that very moment.
    return [
        (number, {"seen_at": ended.isoformat(), "range_date": range_date, **kept})
        for number, kept, ended in connection.execute(complete)
    ]


def _listed_otherwise(connection: Connection, range_date: str) -> list[int]:
    """Return the steps that don't say their date, and of which a row stands under another day."""
    version = client_invoice_version.c
    listed: ColumnElement[Any] = version[range_date]
    if isinstance(listed.type, DateTime):
        listed = cast(func.timezone(step_run.c.details["zone"].astext, listed), Date)
    denying = (
        select(step_run.c.id)
        .join(client_invoice_version, version["_step_run_id"] == step_run.c.id)
        .where(~step_run.c.details.has_key("range_date"), version["_day"].is_distinct_from(listed))
        .distinct()
        .order_by(step_run.c.id)
    )
    return [*connection.scalars(denying)]


def _stored(data_root: UPath, kept: dict[str, Any]) -> StoredResponses:
    """Return the stored answers of a step."""
    read_at = datetime.fromisoformat(kept.get("read_at", kept["seen_at"]))
    return StoredResponses(data_root / kept["raw"], kept["zone"], kept["range_date"], read_at)


def _empty(connection: Connection, steps: list[int]) -> None:
    for table in (client_invoice, client_invoice_version, client_invoice_day):
        connection.execute(delete(table))
    for table in (quarantine, code_name):
        connection.execute(delete(table).where(table.c.resource == RESOURCE))
    connection.execute(delete(control_total).where(control_total.c.step_run_id.in_(steps)))


def _again(
    connection: Connection,
    data_root: UPath,
    settings: FlowSettings,
    number: int,
    kept: dict[str, Any],
) -> None:
    unit = Unit.from_dict(kept)
    names = Languages(kept["language"], settings.language)
    merging = Loader(connection, number, names, datetime.fromisoformat(kept["seen_at"]))
    load = reload(
        connection, merging, unit, _stored(data_root, kept), later=unit.accepts is not None
    )
    publish(load, merging, unit)


def main(arguments: list[str] | None = None) -> int:
    """Run the command: 0 when done, 1 when answers are missing or the database can't be reached."""
    parser = argparse.ArgumentParser(prog="python -m bms_flows.rebuild", description=__doc__)
    parser.add_argument(
        "--url",
        default=os.environ.get("BMS_WAREHOUSE_URL"),
        help="libpq URI of the warehouse, postgresql://… (default: $BMS_WAREHOUSE_URL)",
    )
    parser.add_argument(
        "--data-root",
        default=os.environ.get("BMS_DATA_ROOT"),
        help="where the raw answers are, file://… or s3://… (default: $BMS_DATA_ROOT)",
    )
    options = parser.parse_args(arguments)
    for name in ("url", "data_root"):
        if not getattr(options, name):
            parser.error(f"--{name.replace('_', '-')} is needed")
    engine = database.connect(options.url)
    try:
        made = rebuild(
            engine, storage.data_root(options.data_root), FlowSettings.from_environment(), _show
        )
    except (ResponsesMissing, ListedOtherwise, WarehouseError) as error:
        print(f"nothing was changed: {error}", file=sys.stderr)  # noqa: T201 - a command's answer
        return 1
    finally:
        engine.dispose()
    same = "the same rows as before" if made.before == made.after else "other rows than before"
    print(f"{made.steps} steps loaded again: {same} (sha256 {made.after})")  # noqa: T201
    return 0


def _show(done: int, of: int) -> None:
    end = "\n" if done == of else ""
    print(f"\rstep {done} of {of}", end=end, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
