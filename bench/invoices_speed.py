"""Time an invoice load beside its ceiling, in turns on one machine; write the results as Markdown.

    python -m bench.invoices_speed [--days 365] [--per-day 1000] [--repeat 3] [--units 10]

Each round measures, each in a process of its own: the ceiling (fetch, decode, COPY, merge), our
first load, our second load with nothing changed, its ceiling (fetch, decode, scan of the stored
hashes), and a load with 1 % of the rows changed. Ratios are taken within a round. The machine's
load stands beside the figures: what others do on it moves seconds, and ratios less.
"""

import argparse
import os
import time
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from bench.stand import Stand, cpu_seconds, load_average, machine, measured, stand
from bms_sandbox.serve import Sandbox, running

TODAY = date(2026, 4, 1)
RESULTS = Path(__file__).parent / "results"
LATENCY = 0.02


def round_of(here: Stand, sandbox: Sandbox, days: int) -> dict[str, dict[str, Any]]:
    """Measure everything once."""
    first = TODAY - timedelta(days=days)
    span = ("--first", first, "--days", days)
    found: dict[str, dict[str, Any]] = {}

    def take(name: str, script: str, *arguments: object) -> None:
        pid = sandbox.process.pid if sandbox.process else os.getpid()
        before, started, load = cpu_seconds(pid), time.perf_counter(), load_average()
        found[name] = measured(script, sandbox.url, *arguments, *span)
        found[name]["sandbox"] = (cpu_seconds(pid) - before) / (time.perf_counter() - started)
        found[name]["load"] = load

    bare, full = here.warehouse(), here.warehouse()
    root = (here.folder / full.rpartition("/")[2].partition("?")[0]).as_uri()
    take("ceiling", "ceiling_invoices", bare, "--variant", "merge")
    take("first load", "invoices_unit", full, root)
    take("decode and scan", "ceiling_invoices", full, "--variant", "scan")
    take("nothing changed", "invoices_unit", full, root)
    with psycopg.connect(full) as connection:
        # As if the service had changed one row in a hundred.
        connection.execute(
            "update bms.client_invoice set _row_hash = '' where id_invoice % 100 = 1"
        )
    take("1 % changed", "invoices_unit", full, root)
    here.drop(bare)
    here.drop(full)
    return found


def report(rounds: list[dict[str, dict[str, Any]]]) -> str:
    """Return the rounds as Markdown: medians, and the range of the ratios."""
    lines = ["| what | s | CPU s of the process | rows/s | peak MB | of | ratio | range |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |"]
    ceilings = {
        "first load": "ceiling",
        "nothing changed": "decode and scan",
        "1 % changed": "decode and scan",
    }
    for name in rounds[0]:
        seconds = median(each[name]["seconds"] for each in rounds)
        cpu = median(each[name]["cpu"] for each in rounds)
        rows = rounds[0][name].get("rows") or rounds[0][name]["rows_read"]
        peak = max(each[name]["peak"] for each in rounds) / 1e6
        ratios = [
            each[name]["seconds"] / each[ceilings[name]]["seconds"]
            for each in rounds
            if name in ceilings
        ]
        middle = f"{median(ratios):.2f}" if ratios else ""
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""
        of = ceilings.get(name, "")
        lines.append(
            f"| {name} | {seconds:.1f} | {cpu:.1f} | {rows / seconds:,.0f} | {peak:.0f} "
            f"| {of} | {middle} | {spread} |"
        )
    loads = [each[name]["load"] for each in rounds for name in each]
    busy = [each[name]["sandbox"] for each in rounds for name in each]
    lines.append("")
    lines.append(f"Load average meanwhile {min(loads):.1f} to {max(loads):.1f}.")
    lines.append(f"The sandbox used {min(busy):.0%} to {max(busy):.0%} of a core.")
    return "\n".join(lines)


def long_run(years: int, per_day: int) -> str:
    """Return the peak memory after each year of a process that loads many, a unit after another."""
    options = ("--flat", "--invoices-per-day", str(per_day), "--today", TODAY.isoformat())
    days = 366 * years
    with stand() as here, running(options=(*options, "--frozen", "--entities", "1")) as sandbox:
        root = (here.folder / "files").as_uri()
        span = ("--first", TODAY - timedelta(days=days), "--days", days)
        done = measured("invoices_unit", sandbox.url, here.warehouse(), root, *span)
    peaks = ", ".join(f"{peak / 1e6:.0f}" for peak in done["peaks"])
    return (
        f"{years} units of 366 days, {per_day} invoices each, in one process: {done['rows_read']:,} rows, "
        f"{done['seconds']:.0f} s (the sandbox renders its rows meanwhile); "
        f"peak memory after each unit, MB: {peaks}."
    )


def main() -> None:
    """Measure, print and keep the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--days", type=int, default=365)
    options.add_argument("--per-day", type=int, default=1000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--units", type=int, default=10)
    options.add_argument("--unit-per-day", type=int, default=200)
    given = options.parse_args()
    flat = ("--fast", "--flat", "--invoices-per-day", str(given.per_day), "--entities", "1")
    waits = ("--latency", str(LATENCY), "--today", TODAY.isoformat())
    with stand() as here, running(options=(*flat, *waits)) as sandbox:
        round_of(here, sandbox, given.days)  # the sandbox renders its rows at the first request
        rounds = [round_of(here, sandbox, given.days) for _ in range(given.repeat)]
    heading = (
        f"# Invoices: {given.days} days of {given.per_day} at {LATENCY * 1000:.0f} ms, 16 in flight"
    )
    made = f"{date.today():%Y-%m-%d}, {machine()}; {given.repeat} rounds."  # noqa: DTZ011 - a heading
    text = "\n\n".join(
        [heading, made, report(rounds), long_run(given.units, given.unit_per_day), ""]
    )
    print(text)
    (RESULTS / "invoices.md").write_text(text)


if __name__ == "__main__":
    main()
