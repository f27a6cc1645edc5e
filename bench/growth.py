"""Time and memory against the number of stored rows; writes Markdown.

    python -m bench.growth [--invoices 10000 100000 1000000 10000000] [--contacts 10000 100000 1000000]

Invoices: 1,000 days of one entity, filled by its loads; ten million are ten such entities, nine of
them copied in the database. Contacts: pages of 1,000. Each figure is of one process, without its
start and without latency of the service, which runs on the same machine.
"""

import argparse
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from bench.unit import TODAY
from bms_sandbox.serve import running
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


def invoices(here: WarehouseServer, rows: int) -> Iterator[dict[str, Any]]:
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


def contacts(here: WarehouseServer, rows: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of `CONTACTS` with so many contacts."""
    demo = ("--contacts", str(rows), "--consultants", "0", "--employees", "1")
    with running(options=(*FROZEN, *demo)) as sandbox:
        given = (sandbox.url, here.warehouse(), (here.folder / f"contacts-{rows}").as_uri())
        for work in ("contacts", "contacts", "lists", "board"):
            yield measured("unit", work, *given, "--page-size", 1_000)
        here.drop(given[1])


def table(what: str, names: tuple[str, ...], found: dict[int, list[dict[str, Any]]]) -> str:
    """Return seconds and peak memory of each work, a line per number of rows."""
    heads = [what, *(f"{name}, s" for name in names), *(f"{name}, MB" for name in names[:-1])]
    lines = [heads, ["---:"] * len(heads)]
    for rows, figures in found.items():
        seconds = [f"{each['seconds']:.2f}" for each in figures]
        peaks = [f"{each['peak'] / 1e6:.0f}" for each in figures[:-1]]
        lines.append([f"{rows:,}", *seconds, *peaks])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Measure, print and keep the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sizes = [10**4, 10**5, 10**6]
    options.add_argument("--invoices", type=int, nargs="*", default=[*sizes, 10**7])
    options.add_argument("--contacts", type=int, nargs="*", default=sizes)
    options.add_argument("--keep", action="store_true", help=f"write {RESULTS.name}")
    given = options.parse_args()
    before = load_average()
    found: dict[str, dict[int, list[dict[str, Any]]]] = {"invoices": {}, "contacts": {}}
    with warehouse_server() as here:
        for what, measure, wanted in (
            ("invoices", invoices, given.invoices),
            ("contacts", contacts, given.contacts),
        ):
            for rows in wanted:
                found[what][rows] = [*measure(here, rows)]
                print(
                    what,
                    rows,
                    [round(each["seconds"], 2) for each in found[what][rows]],
                    flush=True,
                )
    load = f"Load average {before:.1f} at the start, {load_average():.1f} at the end."
    sections = [
        "# Growth with the number of stored rows",
        f"{stamp()} {load}",
        table("stored invoices", INVOICES, found["invoices"]),
        table("contacts", CONTACTS, found["contacts"]),
    ]
    text = "\n\n".join([*sections, ""])
    print(text)
    if given.keep:
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
