"""Benchmark of an invoice load compared with its ceiling; writes Markdown.

    python -m bench.invoices_speed [--days 365] [--per-day 1000] [--repeat 3] [--units 10]

Each round measures, each in a separate process: three ceilings (fetch, decode, COPY, merge; the
fastest counts), our first load, our second load with nothing changed, its ceiling (fetch, decode,
scan of the stored hashes), a load with 1 % of the rows changed, and ceiling and first load with one
request at a time. Rows and sums of both are compared. Ratios are taken within a round. The report
shows the machine's load, which changes seconds more than ratios.
"""

import argparse
import os
import time
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from bms_sandbox.serve import Sandbox, running
from tests.support.measurement import cpu_seconds, load_average, measured
from tests.support.published import stamp
from tests.support.warehouse_server import WarehouseServer, warehouse_server

TODAY = date(2026, 4, 1)
RESULTS = Path(__file__).parent / "results"
LATENCIES = (0.02, 0.0)
CEILINGS = ("merge", "arrow", "once", "lanes")
BASES = {
    "first load": [f"ceiling, {variant}" for variant in CEILINGS],
    "nothing changed": ["decode and scan"],
    "1 % changed": ["decode and scan"],
    "first load, one request at a time": ["ceiling, one request at a time"],
}
"""Ceilings of each load; the fastest in the same round counts."""
SUMS = "select count(*), sum(total_incl_vat), sum(total_due), max(id_invoice) from"

Measures = dict[str, dict[str, Any]]


def round_of(here: WarehouseServer, sandbox: Sandbox, days: int) -> Measures:
    """Measure everything once."""
    first = TODAY - timedelta(days=days)
    span = ("--first", first, "--days", days)
    found: Measures = {}
    made: list[str] = []

    def warehouse() -> str:
        made.append(here.warehouse())
        return made[-1]

    def take(name: str, script: str, *arguments: object) -> None:
        pid = sandbox.process.pid if sandbox.process else os.getpid()
        before, started, load = cpu_seconds(pid), time.perf_counter(), load_average()
        found[name] = measured(script, sandbox.url, *arguments, *span)
        found[name]["sandbox"] = (cpu_seconds(pid) - before) / (time.perf_counter() - started)
        found[name]["load"] = load

    def root(uri: str) -> str:
        return (here.folder / uri.rpartition("/")[2].partition("?")[0]).as_uri()

    for variant in CEILINGS:
        bare = warehouse()
        take(f"ceiling, {variant}", "ceiling_invoices", bare, "--variant", variant)
    full = warehouse()
    take("first load", "invoices_unit", full, root(full))
    _same(bare, full)
    take("decode and scan", "ceiling_invoices", full, "--variant", "scan")
    take("nothing changed", "invoices_unit", full, root(full))
    with psycopg.connect(full) as connection:
        # As if the service had changed one row in a hundred.
        connection.execute(
            "update bms.client_invoice set _row_hash = '' where id_invoice % 100 = 1"
        )
    take("1 % changed", "invoices_unit", full, root(full))
    _same(bare, full)
    bare, full = warehouse(), warehouse()
    take("ceiling, one request at a time", "ceiling_invoices", bare, "--in-flight", 1)
    take("first load, one request at a time", "invoices_unit", full, root(full), "--in-flight", 1)
    _same(bare, full)
    for uri in made:
        here.drop(uri)
    return found


def warm_up(here: WarehouseServer, sandbox: Sandbox, days: int) -> None:
    """Load once, unmeasured: the sandbox renders its rows when first asked, Python compiles."""
    span = ("--first", TODAY - timedelta(days=days), "--days", days)
    uri = here.warehouse()
    measured("invoices_unit", sandbox.url, uri, (here.folder / "warm-up").as_uri(), *span)
    here.drop(uri)


def _same(bare: str, full: str) -> None:
    """Raise unless the ceiling's table and ours hold the same rows and sums."""
    with psycopg.connect(bare) as ceiling, psycopg.connect(full) as ours:
        expected = ceiling.execute(f"{SUMS} ceiling").fetchone()
        found = ours.execute(f"{SUMS} bms.client_invoice").fetchone()
    if found != expected:
        raise RuntimeError(f"not the same work: {found}, and the ceiling {expected}")


def report(rounds: list[Measures]) -> str:
    """Return the rounds as Markdown: medians, and the range of the ratios."""
    lines = ["| what | s | CPU s of the process | rows/s | peak MB | ratio | range |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name in rounds[0]:
        seconds = median(each[name]["seconds"] for each in rounds)
        cpu = median(each[name]["cpu"] for each in rounds)
        rows = rounds[0][name].get("rows") or rounds[0][name]["rows_read"]
        peak = max(each[name]["peak"] for each in rounds) / 1e6
        ratios = [
            each[name]["seconds"] / min(each[base]["seconds"] for base in BASES[name])
            for each in rounds
            if name in BASES
        ]
        middle = f"{median(ratios):.2f}" if ratios else ""
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""
        lines.append(
            f"| {name} | {seconds:.1f} | {cpu:.1f} | {rows / seconds:,.0f} | {peak:.0f} "
            f"| {middle} | {spread} |"
        )
    loads = [each[name]["load"] for each in rounds for name in each]
    busy = [each[name]["sandbox"] for each in rounds for name in each]
    lines.append("")
    lines.append(f"Load average {min(loads):.1f} to {max(loads):.1f}.")
    lines.append(f"The sandbox used {min(busy):.0%} to {max(busy):.0%} of a core.")
    return "\n".join(lines)


def long_run(years: int, per_day: int) -> str:
    """Return the peak memory after each year of a process that loads many, a unit after another."""
    options = ("--flat", "--invoices-per-day", str(per_day), "--today", TODAY.isoformat())
    days = 366 * years
    with (
        warehouse_server() as here,
        running(options=(*options, "--frozen", "--entities", "1")) as sandbox,
    ):
        root = (here.folder / "files").as_uri()
        span = ("--first", TODAY - timedelta(days=days), "--days", days)
        done = measured("invoices_unit", sandbox.url, here.warehouse(), root, *span)
    peaks = ", ".join(f"{peak / 1e6:.0f}" for peak in done["peaks"])
    return (
        f"{years} units of 366 days, {per_day} invoices each, in one process: "
        f"{done['rows_read']:,} rows, {done['seconds']:.0f} s (the sandbox renders its rows "
        f"meanwhile); peak memory after each unit, MB: {peaks}."
    )


def main() -> None:
    """Measure, print and keep the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--days", type=int, default=365)
    options.add_argument("--per-day", type=int, default=1000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--units", type=int, default=10, help="0: leave it out")
    options.add_argument("--unit-per-day", type=int, default=200)
    given = options.parse_args()
    flat = ("--fast", "--flat", "--invoices-per-day", str(given.per_day), "--entities", "1")
    made = f"{stamp()} {given.repeat} rounds."
    parts = [f"# Invoices: {given.days} days of {given.per_day}", made]
    for latency in LATENCIES:
        waits = ("--latency", str(latency), "--today", TODAY.isoformat())
        with warehouse_server() as here, running(options=(*flat, *waits)) as sandbox:
            warm_up(here, sandbox, given.days)
            rounds = [round_of(here, sandbox, given.days) for _ in range(given.repeat)]
        parts += [f"## {latency * 1000:.0f} ms latency, 16 requests in flight", report(rounds)]
        print("\n\n".join(parts[-2:]), flush=True)
        _keep(parts)
    if given.units:
        parts += ["## Ten years", long_run(given.units, given.unit_per_day)]
        print(parts[-1])
        _keep(parts)


def _keep(parts: list[str]) -> None:
    (RESULTS / "invoices.md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
