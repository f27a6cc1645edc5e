"""Model of a backfill's growth with entities, invoices, history and workers, measured and simulated.

    python -m bench.scaling_simulation [--overhead 4]

Measures real loads of two sizes: CPU seconds per row in the worker and in PostgreSQL, peak memory,
bytes per row as table, raw response and Parquet. Simulates from these: tasks of one entity and year
on workers and a database with a number of cores, which active tasks share, under the pool. Writes
bench/results/scaling.md.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from math import ceil
from pathlib import Path

import psutil
import psycopg

from bms_flows.runtime.settings import FlowSettings
from bms_sandbox.serve import running
from tests.support.measurement import load_average, measured
from tests.support.published import stamp
from tests.support.warehouse_server import WarehouseServer, warehouse_server

RESULTS = Path(__file__).parent / "results"
TODAY = date(2026, 4, 1)
YEAR, YEARS, ENTITIES = 365, 10, 100
MOST_ROWS_IN_A_REQUEST = 4_000
"""Answers are cut below 3 MB, some 740 bytes a row."""
_DEFAULT = FlowSettings()
NIGHT = (
    _DEFAULT.lookback_days
    + _DEFAULT.lookback_budget
    + ceil(YEAR * YEARS / _DEFAULT.lookback_rotation)
)
"""Maximum days that a night reads, by years of history."""


@dataclass(frozen=True)
class Model:
    """What a load costs: seconds of a core, seconds of waiting, bytes."""

    worker: float
    """Seconds of a worker's core for a row."""
    database: float
    """Seconds of a core of PostgreSQL for a row."""
    start: float
    """Seconds of a worker's core until a task begins: its process, imports, token."""
    latency: float = 0.02
    peak: int = 0
    table_bytes: float = 0
    file_bytes: float = 0


@dataclass(frozen=True)
class Site:
    """Where it runs."""

    workers: int
    cores: int = 2
    tasks: int = 4
    database_cores: int = 4
    disk: float = 200e6
    """Bytes a second that PostgreSQL's disk takes; what is stored is written twice, as log first."""
    pool: int = 32
    slots: int = 8


@dataclass
class Task:
    """One unit at work: what is left of its start (core seconds) and of its rows."""

    worker: int
    start: float
    rows: float


@dataclass
class Outcome:
    """Seconds, and of them how long what was the narrowest place."""

    seconds: float = 0
    bound: Counter[str] = field(default_factory=Counter)
    in_flight: float = 0


def simulate(model: Model, site: Site, tasks: int, rows: float, per_day: float) -> Outcome:
    """Run `tasks` units of `rows` rows each, cores shared by what is at work. Pure."""
    todo, at_work, outcome = tasks, list[Task](), Outcome()
    in_a_request = min(MOST_ROWS_IN_A_REQUEST, 7 * per_day)
    asked = site.slots * in_a_request / model.latency  # rows a second that requests can bring
    most = min(site.workers * site.tasks, site.pool // site.slots)
    while todo or at_work:
        while todo and len(at_work) < most:
            busy = Counter(task.worker for task in at_work)
            worker = min(range(site.workers), key=lambda each: busy[each])
            at_work.append(Task(worker, model.start, rows))
            todo -= 1
        busy = Counter(task.worker for task in at_work)
        loading = sum(task.start <= 0 for task in at_work)
        database = _database(model, site, loading) if loading else 0
        speeds = []
        for task in at_work:
            share = min(1, site.cores / busy[task.worker])
            speeds.append(share if task.start > 0 else min(asked, share / model.worker, database))
        step = min(
            (task.start if task.start > 0 else task.rows) / speed
            for task, speed in zip(at_work, speeds, strict=True)
        )
        outcome.seconds += step
        outcome.in_flight = max(outcome.in_flight, loading * site.slots)
        narrowest = _narrowest(site, most, todo, loading, database, speeds)
        outcome.bound[narrowest] += step  # type: ignore[assignment]  # a counter of seconds
        for task, speed in zip(at_work, speeds, strict=True):
            if task.start > 0:
                task.start = max(0.0, task.start - step * speed)
            else:
                task.rows = max(0.0, task.rows - step * speed)
            if task.start < 1e-9:  # noqa: PLR2004 - what is left is rounding
                task.start = 0
        at_work = [task for task in at_work if task.start > 0 or task.rows > 1e-6]  # noqa: PLR2004 - as above
    return outcome


def _database(model: Model, site: Site, loading: int) -> float:
    """Return the rows per second that PostgreSQL accepts from each loading task."""
    cores = min(1, site.database_cores / loading) / model.database
    return min(cores, site.disk / (2 * model.table_bytes) / loading)


def _narrowest(
    site: Site, most: int, todo: int, loading: int, database: float, speeds: Sequence[float]
) -> str:
    """Return the bottleneck."""
    if not todo:
        return "the last tasks"
    if loading and sum(speed == database for speed in speeds) >= loading / 2:
        return "database"
    return "pool" if most < site.workers * site.tasks else "workers"


def measure(per_day: int, days: int, start: float) -> tuple[Model, float]:
    """Load `days` of `per_day` invoices; return the costs of a row, and the seconds that it took."""
    flat = ("--fast", "--flat", "--invoices-per-day", str(per_day), "--entities", "1")
    waits = ("--latency", "0.02", "--today", TODAY.isoformat())
    span = ("--first", TODAY - timedelta(days=days), "--days", days, "--in-flight", 8)
    with warehouse_server() as here, running(options=(*flat, *waits)) as sandbox:
        measured("invoices_unit", sandbox.url, here.warehouse(), here.folder.as_uri(), *span)
        uri, files = here.warehouse(), here.folder / "files"
        before = _database_cpu(here)
        done = measured("invoices_unit", sandbox.url, uri, files.as_uri(), *span)
        spent = _database_cpu(here) - before
        rows = done["rows_read"]
        with psycopg.connect(uri) as connection:
            (size,) = connection.execute(
                "select sum(pg_total_relation_size(c.oid)) from pg_class c"
                " join pg_namespace n on n.oid = relnamespace where nspname = 'bms' and relkind = 'r'"
                " and relname like 'client_invoice%'"
            ).fetchone() or (0,)
        stored = sum(path.stat().st_size for path in files.rglob("*") if path.is_file())
    costs = Model(
        worker=done["cpu"] / rows,
        database=spent / rows,
        start=start,
        peak=done["peak"],
        table_bytes=float(size) / rows,
        file_bytes=stored / rows,
    )
    return costs, done["seconds"]


def _database_cpu(here: WarehouseServer) -> float:
    """Return the CPU seconds of the server so far, its ended backends included."""
    (server,) = (
        process
        for process in psutil.process_iter(["name"])
        if process.info["name"] == "postgres" and _leads(process, here)
    )
    times = server.cpu_times()
    alive = sum(sum(child.cpu_times()[:2]) for child in server.children())
    return float(times.user + times.system + times.children_user + times.children_system + alive)


def _leads(process: psutil.Process, here: WarehouseServer) -> bool:
    parent = process.parent()
    leads = parent is None or parent.name() != "postgres"
    return leads and process.cwd() == str(here.folder / "data")


def duration(seconds: float) -> str:
    """Return a duration in a readable unit."""
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"  # noqa: PLR2004 - two hours


def growth(model: Model) -> str:
    """Return a backfill of everything, by workers, cores of the database, and the pool."""
    lines = [
        "| invoices a day | workers | database | pool | time | rows/s | in flight | narrowest |",
        "| ---: | ---: | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    sites = [
        Site(1),
        Site(2),
        Site(4),
        Site(10),
        Site(10, pool=320),
        Site(10, pool=320, database_cores=16, disk=1e9),
        Site(20, pool=640, database_cores=16, disk=1e9),
        Site(40, pool=1280, database_cores=64, disk=1e9),
    ]
    for per_day in (20, 100, 1000):
        rows = YEAR * per_day
        for site in sites:
            found = simulate(model, site, ENTITIES * YEARS, rows, per_day)
            narrowest, _ = found.bound.most_common(1)[0]
            speed = ENTITIES * YEARS * rows / found.seconds
            lines.append(
                f"| {per_day} | {site.workers} | {site.database_cores} cores, {site.disk / 1e6:.0f} MB/s "
                f"| {site.pool} "
                f"| {duration(found.seconds)} | {speed:,.0f} | {found.in_flight:.0f} | {narrowest} |"
            )
    return "\n".join(lines)


def daily(model: Model) -> str:
    """Return what every night costs: a task for each entity, its days read again."""
    lines = [
        "| entities | invoices a day | workers | rows read | time |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for entities in (2, 100, 1000):
        for per_day in (20, 1000):
            for workers in (1, 10):
                found = simulate(model, Site(workers), entities, NIGHT * per_day, per_day)
                read = entities * NIGHT * per_day
                lines.append(
                    f"| {entities} | {per_day} | {workers} | {read:,} | {duration(found.seconds)} |"
                )
    return "\n".join(lines)


def main() -> None:
    """Measure, simulate, print and keep the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--overhead", type=float, default=4.0, help="core seconds of a task's start"
    )
    given = options.parse_args()
    load = load_average()
    small, _ = measure(20, YEAR, given.overhead)
    model, took = measure(400, YEAR, given.overhead)
    foretold = simulate(replace(model, start=0), Site(1), 1, YEAR * 400, 400).seconds
    text = "\n\n".join(
        [
            "# How a backfill grows",
            (
                f"{stamp()} Load average at the start: {load:.1f}. "
                f"Core seconds are the cost of work, independent of other processes."
            ),
            (
                f"Measured: a row costs {model.worker * 1e6:.0f} µs of a worker's core and "
                f"{model.database * 1e6:.0f} µs of PostgreSQL's (a year of 20 a day: "
                f"{small.worker * 1e6:.0f} and {small.database * 1e6:.0f}), {model.table_bytes:.0f} bytes "
                f"in PostgreSQL with its version and indexes, {model.file_bytes:.0f} bytes as raw response "
                f"and Parquet. Peak memory of a task {model.peak / 1e6:.0f} MB. A task's start is taken "
                f"as {given.overhead:g} core seconds. One year of 400 a day: the model gives "
                f"{foretold:.1f} s, it took {took:.1f} s."
            ),
            f"## {ENTITIES} entities, {YEARS} years: {ENTITIES * YEARS} tasks",
            growth(model),
            f"## Every night: {NIGHT} days of each entity, the most that {YEARS} years ask for",
            daily(model),
            "",
        ]
    )
    print(text)
    (RESULTS / "scaling.md").write_text(text)


if __name__ == "__main__":
    main()
