"""Benchmark of writing invoices to PostgreSQL from stored responses, without the service.

    python -m bench.store_speed [--rows 100000] [--repeat 3] [--before CHECKOUT] [--keep]

A round loads filled invoices (all fields, 1,000 a day, 7 days per response) into an empty warehouse:
first all, then the same again, then the same with 1 % changed, each in one transaction with its
publication. Seconds are those of one process that reads, compares and writes; CPU is that of all
processes of PostgreSQL. With `--before`, rounds alternate with the code of another checkout. The
table shows medians; `--keep` writes it to `bench/results/store.md`.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from sqlalchemy import Engine, text
from upath import UPath

from bms_flows.invoices.load import Languages, Loader
from bms_flows.invoices.publish import publish
from bms_flows.invoices.raw import StoredResponses, raw_file_name, reload
from bms_flows.invoices.units import Unit
from bms_flows.runtime.landing import save_raw
from bms_flows.runtime.windows import Window
from bms_warehouse import database
from tests.support.measurement import PROJECT, cpu_seconds, load_average
from tests.support.published import git, stamp
from tests.support.warehouse_server import warehouse_server

FIRST = date(2025, 1, 6)
PER_DAY = 1_000
LOADS = ("first load", "unchanged", "1 % changed")
FIGURES = ("seconds", "cpu", "wal", "table", "indexes")
RESULTS = Path(__file__).parent / "results" / "store.md"


def invoice(number: int, day: date, *, changed: bool) -> dict[str, Any]:
    """Return an invoice with every field of the interface, some with accents."""
    draws = random.Random(number)  # noqa: S311 - reproducible values
    net = draws.randrange(10_000, 9_000_000)
    vat = net // 5
    at = f"{day}T09:{number % 60:02d}:12+01:00"
    return {
        "id_invoice": 1_000_000 + number,
        "reference_number": f"FAC-{day:%Y%m}-{number:07d}",
        "invoice_date": f"{day}",
        "due_date": f"{day + timedelta(days=45)}",
        "invoice_type": "STANDARD",
        "invoice_type_name": "Facture émise",
        "id_client": draws.randrange(1, 5_000),
        "client_name": f"Société d'Études Générales n° {draws.randrange(5_000)}",
        "po_number": f"BC-{draws.randrange(10**8):08d}",
        "vat_number": f"FR{draws.randrange(10**11):011d}",
        "invoice_subject": f"Régie {day:%B %Y} - prestations forfaitaires et frais refacturés",
        "total_excl_vat": net / 100,
        "total_vat": vat / 100,
        "total_incl_vat": (net + vat) / 100,
        "total_due": 0 if changed else (net + vat) / 100,
        "currency": "EUR",
        "payment_mode": "TRANSFER",
        "payment_mode_name": "Virement bancaire",
        "status": "SENT",
        "status_name": "Envoyée au client",
        "id_account_manager": draws.randrange(1, 300),
        "created_on": at,
        "created_by": draws.randrange(1, 300),
        "canceled": False,
        "canceled_on": at,
        "canceled_by": 17,
        "id_credit": 900_000 + number,
        "sent": True,
        "sent_on": at,
        "sent_by": 17,
    }


def write_responses(folder: UPath, rows: int, *, changed: bool) -> Unit:
    """Store the responses of a step, and return their unit."""
    whole = Window(FIRST, FIRST + timedelta(days=-(-rows // PER_DAY) - 1))
    numbers = iter(range(rows))
    for window in whole.cut(7):
        listed = [
            invoice(number, day, changed=changed and number % 100 == 0)
            for day in window
            for _, number in zip(range(PER_DAY), numbers, strict=False)
        ]
        save_raw(folder / raw_file_name(1, window), json.dumps(listed, ensure_ascii=False).encode())
    return Unit(1, (whole,))


def load(engine: Engine, unit: Unit, folder: UPath, step: int) -> dict[str, int]:
    """Load and publish a unit from its responses; return the counts of rows."""
    at = datetime(2026, 1, step, tzinfo=UTC)
    stored = StoredResponses(folder, "Europe/Paris", "invoice_date", at)
    autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
    with autocommit.connect() as committed, engine.begin() as writing:
        loader = Loader(writing, step, Languages("FR", "FR"), at)
        transform = reload(committed, loader, unit, stored, later=False)
        writing.execute(
            text(
                "insert into bms.step_run (id, flow, dag_run_id, step, state, started_at)"
                " overriding system value"
                " values (:step, 'invoice_extraction', 'bench', 'extract', 'running', :at)"
            ),
            {"step": step, "at": at},
        )
        publish(transform, loader, unit)
        return {"inserted": transform.counts.inserted, "changed": transform.counts.changed}


def once(rows: int) -> dict[str, dict[str, float]]:
    """Do the three loads in a server of their own, and return the figures of each."""
    found = {}
    with warehouse_server() as server, TemporaryDirectory() as temporary:
        engine = database.connect(server.warehouse())
        same, other = (UPath(temporary) / name for name in ("same", "other"))
        unit = write_responses(same, rows, changed=False)
        write_responses(other, rows, changed=True)
        changes = ((rows, 0), (0, 0), (0, -(-rows // 100)))
        expected = [{"inserted": new, "changed": changed} for new, changed in changes]
        for step, name in enumerate(LOADS, 1):
            rest(engine)
            before, started = usage(engine, server.pid), time.perf_counter()
            counts = load(engine, unit, other if step == len(LOADS) else same, step)
            seconds = time.perf_counter() - started
            if counts != expected[step - 1]:
                raise RuntimeError(f"{name}: {counts}")
            after = usage(engine, server.pid)
            found[name] = {
                "seconds": seconds,
                "cpu": after["cpu"] - before["cpu"],
                "wal": (after["wal"] - before["wal"]) / 1e6,
                "table": after["table"] / 1e6,
                "indexes": after["indexes"] / 1e6,
            }
        engine.dispose()
    return found


def rest(engine: Engine) -> None:
    """Do what autovacuum and the checkpointer do between loads, so that they do nothing during one."""
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        for statement in ("vacuum analyze", "checkpoint", "alter system set autovacuum = off"):
            connection.execute(text(statement))
        connection.execute(text("select pg_reload_conf()"))


def usage(engine: Engine, server: int) -> dict[str, float]:
    """Return the CPU seconds of the server's processes, its WAL position and the tables' bytes."""
    parent = psutil.Process(server)
    ended = parent.cpu_times()
    cpu = sum(cpu_seconds(each.pid) for each in (parent, *parent.children()))
    with engine.connect() as connection:
        wal, table, indexes = connection.execute(
            text(
                """
                select pg_current_wal_insert_lsn() - '0/0'::pg_lsn, sum(pg_table_size(oid)),
                    sum(pg_indexes_size(oid))
                from pg_class where relkind = 'r' and relnamespace = 'bms'::regnamespace
                    and relname like 'client\\_invoice%'
                """
            )
        ).one()
    return {
        "cpu": cpu + ended.children_user + ended.children_system,
        "wal": float(wal),
        "table": float(table),
        "indexes": float(indexes),
    }


def measured(checkout: Path, rows: int) -> dict[str, dict[str, float]]:
    """Run `once` of this file with the packages of a checkout."""
    command = [sys.executable, __file__, "--once", "--rows", str(rows)]
    environment = {**os.environ, "PYTHONPATH": f"{checkout / 'include'}:{checkout}"}
    done = subprocess.run(  # noqa: S603 - this script
        command, check=True, stdout=subprocess.PIPE, text=True, env=environment
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]  # the figures of `once`


def table(found: dict[str, list[dict[str, dict[str, float]]]]) -> str:
    """Return the medians as a Markdown table: a line per load and checkout."""
    lines = [
        "| load | code | s | PostgreSQL's CPU s | WAL MB | tables MB | indexes MB |",
        "| --- | --- |" + " ---: |" * len(FIGURES),
    ]
    for name in LOADS:
        for code, rounds in found.items():
            middle = [median(each[name][figure] for each in rounds) for figure in FIGURES]
            cells = [f"{value:.2f}" for value in middle[:2]]
            cells += [f"{value:.1f}" for value in middle[2:]]
            lines.append(f"| {name} | {code} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure in alternating rounds, print the medians and, where asked, store them."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument(
        "--before", type=Path, help="checkout of the code to compare with, such as a git worktree"
    )
    options.add_argument("--keep", action="store_true", help=f"write {RESULTS.name}")
    options.add_argument("--once", action="store_true", help="one round, as JSON")
    given = options.parse_args()
    if given.once:
        print(json.dumps(once(given.rows)))
        return
    codes = {"this": PROJECT}
    if given.before:
        short = git("-C", str(given.before), "rev-parse", "--short=8", "HEAD").strip()
        codes = {short: given.before, **codes}
    found: dict[str, list[dict[str, dict[str, float]]]] = {code: [] for code in codes}
    load_before = load_average()
    for _ in range(given.repeat):
        for code, checkout in codes.items():
            found[code].append(measured(checkout, given.rows))
            print(code, found[code][-1], flush=True)
    loads = f"Load average: {load_before:.1f} at the start, {load_average():.1f} at the end."
    rounds = f"{given.rows:,} filled invoices, median of {given.repeat} rounds."
    page = f"# Writing invoices to PostgreSQL\n\n{stamp()} {rounds} {loads}\n\n{table(found)}\n"
    print(page)
    if given.keep:
        RESULTS.write_text(page)


if __name__ == "__main__":
    main()
