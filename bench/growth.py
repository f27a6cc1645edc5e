"""Time and memory against the number of stored rows; prints the page bench/results/growth.md.

    python -m bench.growth [--invoices 10000 100000 1000000 10000000] [--contacts 10000 100000 1000000]

Invoices: 1,000 days of one entity, filled by its loads; ten million are ten such entities, nine of
them copied in the database. Contacts: pages of 1,000. Each figure is of one process, without its
start and without latency of the service, which runs on the same machine; `bms why` includes its
start, and is the slowest of an id, a number as written, a number from memory and one that is missing.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import psycopg

from bench.unit import TODAY
from bms_sandbox.serve import running
from bms_warehouse.tables import client_invoice, client_invoice_day
from proofs.page import command, heading, show
from tests.support.measurement import compiled, load_average, measured
from tests.support.warehouse_server import WarehouseServer, warehouse_server

DAYS = 1_000
LARGEST = 1_000_000
"""Invoices of one entity; more are spread over more entities."""
ASKED = ("36780004", "FA20250126-1-0004", "fa20250126 1 4", "99999999", "FA20250126-1-9999")
NOT_FOUND = 3
"""Exit code of `bms why` for an invoice that is missing."""
FROZEN = ("--fast", "--today", TODAY.isoformat(), "--entities", "1")

INVOICES = ("first load", "night", "audit", "board", "bms why")
CONTACTS = ("first sync", "sync, nothing changed", "audit", "board")


def of_invoices(here: WarehouseServer, rows: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of `INVOICES` with this number of stored invoices."""
    per_day, entities = min(rows, LARGEST) // DAYS, max(rows // LARGEST, 1)
    demo = ("--flat", "--invoices-per-day", str(per_day), "--contacts", "0", "--consultants", "0")
    with running(options=(*FROZEN, *demo)) as sandbox:
        given = (sandbox.url, here.warehouse(), (here.folder / f"invoices-{rows}").as_uri())
        span = ("--first", TODAY - timedelta(days=DAYS), "--days", DAYS)
        yield measured("unit", "invoices", *given, *span)
        copy_to_entities(given[1], entities)
        for work in ("night", "audit", "board"):
            yield measured("unit", work, *given)
        yield {"seconds": max(answered(each, *given[1:]) for each in ASKED)}
        here.drop(given[1])


def answered(number: str, database: str, folder: str) -> float:
    """Ask `bms why` for an invoice, and return the seconds of the process."""
    environment = compiled() | {"BMS_WAREHOUSE_URL": database, "BMS_DATA_ROOT": folder}
    command = (sys.executable, "-m", "bms_cli", "why", "invoice", number)
    quiet, started = subprocess.DEVNULL, time.perf_counter()
    done = subprocess.run(command, check=False, env=environment, stdout=quiet)  # noqa: S603 - our own
    assert done.returncode in {0, NOT_FOUND}, number
    return time.perf_counter() - started


def copy_to_entities(warehouse: str, entities: int) -> None:
    """Copy the rows of entity 1 to the entities from 2 on, and do what autovacuum does."""
    with psycopg.connect(warehouse, autocommit=True) as connection:
        for table in (client_invoice, client_invoice_day):
            names = ", ".join(each.name for each in table.columns if each.name != "id_entity")
            # Rows with equal numbers would be held as those of a service that ignores the entity.
            copied = names.replace("reference_number", "reference_number || '-' || each")
            statement = (
                f"insert into {table} (id_entity, {names}) select each, {copied}"  # noqa: S608
                f" from {table}, generate_series(2, {entities}) each where id_entity = 1"
            )
            connection.execute(statement.encode())
        connection.execute("vacuum analyze")


def of_contacts(here: WarehouseServer, rows: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of `CONTACTS` with this number of contacts."""
    demo = ("--contacts", str(rows), "--consultants", "0", "--employees", "1")
    with running(options=(*FROZEN, *demo)) as sandbox:
        given = (sandbox.url, here.warehouse(), (here.folder / f"contacts-{rows}").as_uri())
        for work in ("contacts", "contacts", "lists", "board"):
            yield measured("unit", work, *given, "--page-size", 1_000)
        here.drop(given[1])


def row_of(rows: int, figures: Sequence[dict[str, Any]]) -> Sequence[object]:
    """Return seconds and peak memory of each work with this number of rows."""
    seconds = (f"{each['seconds']:.2f}" for each in figures)
    return f"{rows:,}", *seconds, *(f"{each['peak'] / 1e6:.0f}" for each in figures[:3])


SIZES = (10**4, 10**5, 10**6)


def main(*, invoices: Sequence[int] = (*SIZES, 10**7), contacts: Sequence[int] = SIZES) -> None:
    """Measure, and print the page."""
    heading("Growth with the number of stored rows")
    before = load_average()
    with warehouse_server() as here:
        for what, measure, names, wanted in (
            ("stored invoices", of_invoices, INVOICES, invoices),
            ("contacts", of_contacts, CONTACTS, contacts),
        ):
            seconds, memory = (
                (f"{name}, s" for name in names),
                (f"{name}, MB" for name in names[:3]),
            )
            found = (row_of(rows, [*measure(here, rows)]) for rows in wanted)
            show([what, *seconds, *memory], found, texts=0)
    print(f"Load average {before:.1f} at the start, {load_average():.1f} at the end.")


if __name__ == "__main__":
    command(main)
