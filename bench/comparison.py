"""Benchmark of loads compared with their ceilings, with dlt and with pandas; writes Markdown.

    python -m bench.comparison [--quick | --full] [--days 365] [--contacts 100000] [--repeat 3]
        [--minutes 60] [--cases TEXT] [--name comparison]

Loads invoices of three row shapes, with one and with seven days per request, and contacts with pages
of 100 and of 1,000, into one PostgreSQL. A round measures, each in a separate process: the ceilings
(the fastest counts), our first load, our load with nothing changed and with 5 % changed, the ceiling
of these two, and the peers' first loads. `--full` runs the slow peers, too. `--quick` loads 30 days
and 10,000 contacts, and writes below `.local/bench`.
After each load rows and sums are compared with the ceiling's. Ratios are taken within a round. No
peer and no case starts after the given minutes (60, and 240 for `--full`). `--cases` selects cases by a part of their names.
"""

import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg

from bench import comparison_report as report
from bench.comparison_report import (
    AGAIN,
    CEILING,
    CHANGED,
    COMPARE,
    FIRST,
    OURS,
    Case,
    Found,
    Measure,
    Peer,
)
from bench.peers.task import WORKS
from bench.unit import EARLIER, TODAY
from bms_sandbox.serve import Sandbox, running
from proofs.page import command
from tests.support.measurement import (
    PROJECT,
    load_average,
    measured,
    run_measured,
    tree_cpu_seconds,
)
from tests.support.virtual_environment import python_of
from tests.support.warehouse_server import WarehouseServer, warehouse_server

VARIANTS = ("one", "two", "batches")
PEERS = (
    Peer("dlt, on Arrow", "dlt", "dlt_pipeline", "arrow"),
    Peer("dlt, tuned", "dlt", "dlt_pipeline", "tuned", slow=True),
    Peer("requests, pandas to_sql", "pandas", "pandas_loop", "", slow=True),
)
CASES = [
    *(
        Case("invoices", shape, step, latency)
        for latency in (0.02, 0.0)
        for shape in ("filled", "sparse", "escaped")
        for step in (1, 7)
    ),
    *(Case("contacts", "", step, latency) for latency in (0.02, 0.0) for step in (100, 1000)),
]


class WrongRows(RuntimeError):
    """A load ended with other rows or sums than the ceiling's."""


@dataclass
class Course:
    """The sandboxes by row shape, one PostgreSQL, and what was measured on them."""

    here: WarehouseServer
    sandboxes: dict[str, Sandbox]
    days: int
    until: float
    full: bool = False
    """Whether the slow peers are measured."""
    found: Found = field(default_factory=list)
    expected: dict[tuple[str, str], Any] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)

    def take(
        self, case: Case, uri: str, run: Callable[[], dict[str, Any]], **label: Any
    ) -> Measure:
        """Run a script; store its output, and the CPU time of PostgreSQL and of the sandbox."""
        process = self.sandboxes[case.shape].process
        assert process is not None
        with psycopg.connect(uri, autocommit=True) as connection:
            connection.execute("checkpoint")
            wal = "select pg_current_wal_lsn() - '0/0'::pg_lsn"
            [(before,)] = connection.execute(wal).fetchall()
            cpu = {pid: tree_cpu_seconds(pid) for pid in (self.here.pid, process.pid)}
            load, output = load_average(), run()
            [(after,)] = connection.execute(wal).fetchall()
        cpu = {pid: tree_cpu_seconds(pid) - each for pid, each in cpu.items()}
        return Measure(
            case=case,
            **label,
            **{name: output[name] for name in ("process", "seconds", "cpu", "peak")},
            server_cpu=cpu[self.here.pid],
            wal=float(after - before),
            requests=output.get("requests", 0),
            sandbox=cpu[process.pid] / output["process"],
            load=load,
        )

    def ceilings(self, case: Case, label: dict[str, Any]) -> None:
        """Measure each variant; keep the fastest."""
        taken = []
        for variant in VARIANTS:
            bare = self.here.warehouse()
            run = self._ceiling(case, bare, variant)
            taken.append(self.take(case, bare, run, **label, what=FIRST, who=CEILING))
            self.expected[case.work, case.shape] = _sums(bare, case.work, "ceiling")
            self.here.drop(bare)
        self.found.append(min(taken, key=lambda measure: measure.process))

    def ours(self, case: Case, label: dict[str, Any]) -> None:
        """Measure our loads, and what the later loads cannot do without."""
        full = self.here.warehouse()
        root = (self.here.folder / full.rpartition("/")[2].partition("?")[0]).as_uri()
        given = (case.work, self.sandboxes[case.shape].url, full, root, *self._size(case))
        load = partial(measured, "unit", *given)
        for what in (FIRST, AGAIN, CHANGED):
            if what == CHANGED and case.work == "invoices":
                load("--variant", EARLIER)
            elif what == CHANGED:
                with psycopg.connect(full) as connection:
                    connection.execute(WORKS[case.work]["edits"].encode())
            taken = self.take(case, full, load, **label, what=what, who=OURS)
            self.found.append(taken)
            self._same(full, case, "bms", OURS)
        compare = self._ceiling(case, full, "compare")
        taken = self.take(case, full, compare, **label, what=AGAIN, who=COMPARE)
        self.found += [taken, taken._replace(what=CHANGED)]
        self.here.drop(full)

    def peer(self, peer: Peer, case: Case, label: dict[str, Any]) -> None:
        """Measure a peer's first load."""
        base = self.here.warehouse()
        folder = self.here.folder / f"peer-{time.monotonic_ns()}"
        folder.mkdir()
        script = PROJECT / "bench" / "peers" / f"{peer.script}.py"
        given = (case.work, self.sandboxes[case.shape].url, base, folder, *self._size(case))
        command = (python_of(peer.lock), script, *given, "--variant", peer.variant)
        try:
            taken = self.take(
                case, base, lambda: run_measured(command), **label, what=FIRST, who=peer.name
            )
            self._same(base, case, "peer", peer.name)
            self.found.append(taken)
        except (subprocess.CalledProcessError, WrongRows) as error:
            self.failed[peer.name, case.work] = str(error)
        self.here.drop(base)

    def round(self, case: Case, number: int) -> None:
        """Measure everything of a case once."""
        self.sandboxes[case.shape].set_latency(case.latency)
        label = {"round": number}
        self.ceilings(case, label)
        self.ours(case, label)
        for peer in PEERS:
            wanted = (self.full or not peer.slow) and (peer.name, case.work) not in self.failed
            if wanted and time.monotonic() < self.until:
                self.peer(peer, case, label)

    def warm_up(self, case: Case) -> None:
        """Load once, unmeasured: the sandbox renders its rows when first asked, Python compiles."""
        base = self.here.warehouse()
        self._ceiling(case, base, "fetch")()
        url, root = self.sandboxes[case.shape].url, (self.here.folder / "warm-up").as_uri()
        measured("unit", case.work, url, base, root, *self._size(case))
        self.here.drop(base)

    def _ceiling(self, case: Case, uri: str, variant: str) -> Callable[[], dict[str, Any]]:
        url, size = self.sandboxes[case.shape].url, self._size(case)
        given = (case.work, url, uri, self.here.folder, "--variant", variant, *size)
        return partial(measured, "ceiling", *given)

    def _size(self, case: Case) -> tuple[object, ...]:
        if case.work == "contacts":
            return ("--page-size", case.step)
        span = ("--first", TODAY - timedelta(days=self.days), "--days", self.days)
        return (*span, "--window", case.step)

    def _same(self, uri: str, case: Case, schema: str, who: str) -> None:
        found = _sums(uri, case.work, f"{schema}.{WORKS[case.work]['table']}")
        expected = self.expected.get((case.work, case.shape))
        if expected and found != expected:
            raise WrongRows(f"{who}: {found}, and the ceiling {expected}")


def _sums(uri: str, work: str, table: str) -> Any:
    with psycopg.connect(uri) as connection:
        statement = f"select {WORKS[work]['sums']} from {table}"  # noqa: S608 - our own names
        return connection.execute(statement.encode()).fetchone()


def _sandboxes(contacts: int) -> dict[str, tuple[str, ...]]:
    """Return the options of the sandbox of each row shape; contacts have the shape ''."""
    common = f"--fast --entities 1 --employees 1 --consultants 0 --today {TODAY}"
    flat = f"{common} --flat --invoices-per-day 1000 --contacts 0"
    options = {
        "filled": f"{flat} --shape filled",
        "sparse": f"{flat} --shape sparse --dialect nulls=absent",
        "escaped": f"{flat} --shape filled --dialect json_text=escaped",
        "": f"{common} --invoices-per-day 0 --contacts {contacts}",
    }
    return {shape: tuple(each.split()) for shape, each in options.items()}


def main(
    *,
    quick: bool = False,
    full: bool = False,
    days: int = 365,
    contacts: int = 100_000,
    repeat: int = 3,
    minutes: float = 0.0,
    cases: str = "",
    name: str = "comparison",
) -> None:
    """Measure, print and store the results."""
    if quick:
        days, contacts = 30, 10_000
    into = PROJECT / ".local" / "bench" if quick else PROJECT / "bench" / "results"
    chosen = [case for case in CASES if cases in case.name]
    for peer in PEERS:
        if full or not peer.slow:
            python_of(peer.lock)
    started = time.monotonic()
    with ExitStack() as stack:
        here = stack.enter_context(warehouse_server())
        shapes = {case.shape for case in chosen}
        sandboxes = {
            shape: stack.enter_context(running(options=options))
            for shape, options in _sandboxes(contacts).items()
            if shape in shapes
        }
        until = started + 60 * (minutes or (240 if full else 60))
        course = Course(here, sandboxes, days, until, full)
        for case in {(case.work, case.shape): case for case in chosen}.values():
            course.warm_up(case)
        text = "No case was measured within the given minutes."
        for number in range(1, repeat + 1):
            for case in chosen:
                if time.monotonic() < course.until:
                    course.round(case, number)
                    size = report.Size(days, contacts, (time.monotonic() - started) / 60)
                    text = report.write(into, name, course.found, PEERS, size, course.failed)
    print(text)


if __name__ == "__main__":
    command(main)
