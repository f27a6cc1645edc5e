"""Benchmark of the mirror of contacts compared with its ceilings; writes Markdown.

    python -m bench.mirror_speed [--contacts 100000] [--details 10000] [--repeat 3]

Each round measures, each in a separate process: the ceilings (`bench.ceiling contacts`, with the
same readings), a first
sync of the list alone, the same with nothing changed, with details, and with 1 % changed. Ratios
are taken within a round; the best of three ceilings counts. The report shows the machine's load,
which changes seconds more than ratios.
"""

import argparse
import os
import time
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from bench.bars import SHADES, Bar, draw
from bms_sandbox.serve import Sandbox, running
from tests.support.measurement import cpu_seconds, load_average, measured
from tests.support.published import stamp
from tests.support.warehouse_server import WarehouseServer, warehouse_server

RESULTS = Path(__file__).parent / "results"
PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
LATENCY = 0.02
LOADS = ("one", "two", "batches")
CEILINGS = {
    "first sync, list alone": "fetch, split, COPY, merge",
    "nothing changed": "fetch, split, compare",
    "1 % changed": "fetch, split, compare",
}

Round = dict[str, dict[str, Any]]


def round_of(here: WarehouseServer, sandbox: Sandbox, details: int) -> Round:
    """Measure everything once."""
    found: Round = {}

    def take(script: str, *arguments: object) -> dict[str, Any]:
        pid = sandbox.process.pid if sandbox.process else os.getpid()
        before, started, load = cpu_seconds(pid), time.perf_counter(), load_average()
        work = ("contacts",) if script == "ceiling" else ()
        taken = measured(script, *work, sandbox.url, *arguments)
        taken["sandbox"] = (cpu_seconds(pid) - before) / (time.perf_counter() - started)
        taken["load"] = load
        return taken

    def ceiling(database: str, variant: str) -> dict[str, Any]:
        given = ("--variant", variant, "--details", details, "--readings", 2)
        return take("ceiling", database, *given)

    mirror = here.warehouse()
    root = (here.folder / mirror.rpartition("/")[2].partition("?")[0]).as_uri()
    found["fetch"] = ceiling(mirror, "fetch")
    loads = []
    for variant in LOADS:
        bare = here.warehouse()
        loads.append(ceiling(bare, variant))
        here.drop(bare)
    found["fetch, split, COPY, merge"] = min(loads, key=lambda each: float(each["seconds"]))
    found["first sync, list alone"] = take("mirror_unit", mirror, root)
    found["fetch, split, compare"] = ceiling(mirror, "compare")
    found["nothing changed"] = take("mirror_unit", mirror, root)
    found["details, thrown away"] = ceiling(mirror, "details")
    found["list and details"] = take("mirror_unit", mirror, root, "--details", details)
    with psycopg.connect(mirror) as connection:
        # As if the service had changed one row in a hundred, and all others had their details.
        connection.execute("update bms.contact set _detailed = true")
        connection.execute(
            "update bms.contact set _row_hash = '', _list_hash = '' where id % 100 = 1"
        )
    found["1 % changed"] = take("mirror_unit", mirror, root, "--details", details)
    here.drop(mirror)
    return found


def report(rounds: list[Round]) -> str:
    """Return the rounds as Markdown: medians, and the range of the ratios."""
    lines = ["| what | s | CPU s of the process | requests | peak MB | of | ratio | range |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |"]
    for name in rounds[0]:
        seconds = median(each[name]["seconds"] for each in rounds)
        cpu = median(each[name]["cpu"] for each in rounds)
        peak = max(each[name]["peak"] for each in rounds) / 1e6
        requests = rounds[0][name].get("requests")
        of = CEILINGS.get(name, "")
        ratios = [each[name]["seconds"] / each[of]["seconds"] for each in rounds if of]
        middle = f"{median(ratios):.2f}" if ratios else ""
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""
        lines.append(
            f"| {name} | {seconds:.1f} | {cpu:.1f} | {f'{requests:,}' if requests else ''} "
            f"| {peak:.0f} | {of} | {middle} | {spread} |"
        )
    # Time of the details alone: the difference from a run without them.
    shares = [
        each["details, thrown away"]["seconds"]
        / (each["list and details"]["seconds"] - each["nothing changed"]["seconds"])
        for each in rounds
    ]
    loads = [each[name]["load"] for each in rounds for name in each]
    busy = [each[name]["sandbox"] for each in rounds for name in each]
    lines.append("")
    lines.append(
        f"Details: {median(shares):.0%} ({min(shares):.0%} to {max(shares):.0%}) of the throughput of bare"
        " requests: the additional time of a run with details, compared with discarding them."
    )
    lines.append(f"Load average {min(loads):.1f} to {max(loads):.1f}.")
    lines.append(f"The sandbox used {min(busy):.0%} to {max(busy):.0%} of a core.")
    return "\n".join(lines)


def panel(rounds: list[Round]) -> tuple[str, list[Bar]]:
    """Return the seconds of each run and of its ceiling as bars."""
    bars = [
        Bar(name, median(each[name]["seconds"] for each in rounds), kind)
        for ours, ceiling in CEILINGS.items()
        for name, kind in ((ours, "ours"), (ceiling, "ceiling"))
    ]
    return "Seconds of each run, and of its ceiling below", bars


def main() -> None:
    """Measure, print and keep the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--contacts", type=int, default=100_000)
    options.add_argument("--details", type=int, default=10_000)
    options.add_argument("--repeat", type=int, default=3)
    given = options.parse_args()
    few = ("--fast", "--contacts", str(given.contacts), "--consultants", "0", "--employees", "1")
    waits = ("--latency", str(LATENCY), "--today", "2026-04-01")
    with warehouse_server() as here, running(options=(*few, *waits)) as sandbox:
        round_of(here, sandbox, given.details)  # the sandbox renders its rows at the first request
        rounds = [round_of(here, sandbox, given.details) for _ in range(given.repeat)]
    heading = (
        f"# Contacts: {given.contacts:,}, and {given.details:,} details, "
        f"at {LATENCY * 1000:.0f} ms, 16 in flight"
    )
    made = f"{stamp()} {given.repeat} rounds."
    text = "\n\n".join([heading, made, report(rounds), ""])
    print(text)
    (RESULTS / "mirror.md").write_text(text)
    for shade in SHADES:
        (PICTURES / f"mirror-{shade}.svg").write_text(draw([panel(rounds)], shade))


if __name__ == "__main__":
    main()
