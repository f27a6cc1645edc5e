"""Time and memory against the number of stored rows; writes Markdown.

    python -m bench.growth [--invoices 10000 100000 1000000 10000000] [--contacts 10000 100000 1000000] [--keep]

Invoices: 1,000 days of one entity, filled by its loads; ten million are ten such entities, nine of
them copied in the database. Contacts: pages of 1,000. Each figure is of one process, without its
start and without latency of the service, which runs on the same machine.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from bench.unit import TODAY
from bms_sandbox.serve import running
from proofs.page import command, table
from tests.support.measurement import load_average, measured
from tests.support.published import stamp
from tests.support.warehouse_server import WarehouseServer, warehouse_server

RESULTS = Path(__file__).parent / "results" / "growth.md"
DAYS = 1_000
LARGEST = 1_000_000
"""Invoices of one entity; more are spread over more entities."""
FROZEN = ("--fast", "--today", TODAY.isoformat(), "--entities", "1")

INVOICES = ("first load", "night", "audit", "board")
CONTACTS = ("first sync", "sync, nothing changed", "audit", "board")


def of_invoices(here: WarehouseServer, rows: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of `INVOICES` with so many stored invoices."""
    per_day, entities = min(rows, LARGEST) // DAYS, max(rows // LARGEST, 1)
    demo = ("--flat", "--invoices-per-day", str(per_day), "--contacts", "0", "--consultants", "0")
    with running(options=(*FROZEN, *demo)) as sandbox:
        given = (sandbox.url, here.warehouse(), (here.folder / f"invoices-{rows}").as_uri())
        span = ("--first", TODAY - timedelta(days=DAYS), "--days", DAYS)
        yield measured("unit", "invoices", *given, *span)
        copy_to_entities(given[1], entities)
        for work in ("night", "audit", "board"):
            yield measured("unit", work, *given)
        here.drop(given[1])


def copy_to_entities(warehouse: str, entities: int) -> None:
    """Copy the rows of entity 1 to the entities from 2 on, and do what autovacuum does."""
    with psycopg.connect(warehouse, autocommit=True) as connection:
        for table in ("client_invoice", "client_invoice_day"):
            names = connection.execute(
                "select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute"
                " where attrelid = %s::regclass and attnum > 0 and not attisdropped"
                " and attgenerated = '' and attname <> 'id_entity'",
                [f"bms.{table}"],
            ).fetchone()
            assert names
            statement = (
                f"insert into bms.{table} (id_entity, {names[0]}) select each, {names[0]}"  # noqa: S608
                f" from bms.{table}, generate_series(2, {entities}) each where id_entity = 1"
            )
            connection.execute(statement.encode())
        connection.execute("vacuum analyze")


def of_contacts(here: WarehouseServer, rows: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of `CONTACTS` with so many contacts."""
    demo = ("--contacts", str(rows), "--consultants", "0", "--employees", "1")
    with running(options=(*FROZEN, *demo)) as sandbox:
        given = (sandbox.url, here.warehouse(), (here.folder / f"contacts-{rows}").as_uri())
        for work in ("contacts", "contacts", "lists", "board"):
            yield measured("unit", work, *given, "--page-size", 1_000)
        here.drop(given[1])


def rows_of(found: dict[int, list[dict[str, Any]]]) -> Iterator[tuple[object, ...]]:
    """Yield seconds and peak memory of each work, a line per number of rows."""
    for rows, figures in found.items():
        seconds = (f"{each['seconds']:.2f}" for each in figures)
        yield f"{rows:,}", *seconds, *(f"{each['peak'] / 1e6:.0f}" for each in figures[:-1])


SIZES = (10**4, 10**5, 10**6)


def main(
    *,
    invoices: Sequence[int] = (*SIZES, 10**7),
    contacts: Sequence[int] = SIZES,
    keep: bool = False,
) -> None:
    """Measure, print and, with `keep`, store the table."""
    before = load_average()
    parts = []
    with warehouse_server() as here:
        for what, measure, names, wanted in (
            ("stored invoices", of_invoices, INVOICES, invoices),
            ("contacts", of_contacts, CONTACTS, contacts),
        ):
            found = {rows: [*measure(here, rows)] for rows in wanted}
            heads = [
                what,
                *(f"{name}, s" for name in names),
                *(f"{name}, MB" for name in names[:-1]),
            ]
            parts.append(table(heads, rows_of(found), texts=0))
            print(parts[-1], flush=True)
    load = f"Load average {before:.1f} at the start, {load_average():.1f} at the end."
    title = "# Growth with the number of stored rows"
    text = "\n\n".join([title, f"{stamp()} {load}", *parts, ""])
    print(text)
    if keep:
        RESULTS.write_text(text)


if __name__ == "__main__":
    command(main)
