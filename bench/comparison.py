"""Benchmark of loads compared with their ceilings and with dlt, pandas and Singer; writes Markdown.

    python -m bench.comparison [--quick | --full] [--repeat 3] [--minutes 15]

Loads invoices, and contacts at page size 100, into one PostgreSQL, from one sandbox: a first load, and a
second with nothing changed. A round measures, each in a separate process: the ceilings (the
fastest counts), our load twice, the ceiling of its second run, and the peers' first loads. Slow
peers run only in the last round; so do second loads, where the first took less than 40 s. Without
latency peers run once, without their second loads. `--full` runs everything and takes an hour. After
each load rows and sums are compared with the ceiling's. Ratios are taken within a round. No peer and
no round starts after the given minutes.
"""

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import psycopg

from bench import comparison_report as report
from bench.comparison_report import AGAIN, CEILING, FIRST, OURS, SCAN, Found, Measure, Peer
from bms_sandbox.serve import Sandbox, running
from tests.support.measurement import PROJECT, cpu_seconds, load_average, measured
from tests.support.virtual_environment import python_of
from tests.support.warehouse_server import WarehouseServer, warehouse_server

TODAY = date(2026, 4, 1)
VARIANTS = {"contacts": ("merge", "arrow", "once"), "invoices": ("merge", "arrow", "once", "lanes")}
AGAIN_BELOW = 40
"""Seconds of a peer's first load, beyond which its second is spared."""
SUMS = {
    "invoices": (
        "select count(*), count(distinct id_invoice), sum(id_invoice), sum(length(client_name)), "
        "round(sum(total_incl_vat::numeric), 2), round(sum(total_due::numeric), 2) from"
    ),
    "contacts": (
        "select count(*), count(distinct id), sum(id), sum(id_client::numeric), "
        "count(email), sum(length(last_name)) from"
    ),
}
OUR_TABLES = {"invoices": "bms.client_invoice", "contacts": "bms.contact"}
PEER_TABLES = {"invoices": "peer.client_invoice", "contacts": "peer.contact"}
PEERS = (
    Peer("dlt, on Arrow", "dlt", "dlt_pipeline", "arrow"),
    Peer("dlt, tuned", "dlt", "dlt_pipeline", "tuned"),
    Peer("requests, pandas to_sql", "pandas", "pandas_loop", "default", slow=True),
    Peer("dlt, its defaults", "dlt", "dlt_pipeline", "default", slow=True),
    Peer("Singer tap and target", "singer", "singer_pipe", "default", slow=True),
)
WITHOUT_LATENCY = PEERS[:3]
LATENCIES = (0.02, 0.0)
WORKS = ("contacts", "invoices")


class WrongRows(RuntimeError):
    """A load ended with other rows or sums than the ceiling's."""


@dataclass
class Course:
    """One sandbox, one PostgreSQL, and what was measured on them."""

    here: WarehouseServer
    sandbox: Sandbox
    days: int
    until: float
    full: bool = False
    """Whether slow peers and second loads are measured in every round."""
    found: Found = field(default_factory=list)
    expected: dict[str, Any] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def _span(self) -> tuple[object, ...]:
        return ("--first", TODAY - timedelta(days=self.days), "--days", self.days)

    def take(self, run: Callable[[], dict[str, Any]], **label: Any) -> Measure:
        """Run a script; store its output and the sandbox's CPU time."""
        pid = self.sandbox.process.pid if self.sandbox.process else os.getpid()
        before, load = cpu_seconds(pid), load_average()
        output = run()
        busy = (cpu_seconds(pid) - before) / output["seconds"]
        return Measure(**label, **_some(output), sandbox=busy, load=load)

    def ceilings(self, work: str, label: dict[str, Any]) -> None:
        """Measure each variant; keep the fastest."""
        taken = []
        for variant in VARIANTS[work]:
            bare = self.here.warehouse()
            run = self._script(f"ceiling_{work}", work, bare, "--variant", variant)
            taken.append(self.take(run, **label, what=FIRST, who=CEILING))
            self.expected[work] = _sums(bare, work, "ceiling")
            self.here.drop(bare)
        self.found.append(min(taken, key=lambda measure: measure.seconds))

    def ours(self, work: str, label: dict[str, Any]) -> None:
        """Measure our first load, our second, and what the second can't do without."""
        full = self.here.warehouse()
        root = (self.here.folder / full.rpartition("/")[2].partition("?")[0]).as_uri()
        unit = {"invoices": "invoices_unit", "contacts": "mirror_unit"}[work]
        run = self._script(unit, work, full, root)
        for what in (FIRST, AGAIN):
            self.found.append(self.take(run, **label, what=what, who=OURS))
            self._same(full, work, OUR_TABLES[work], OURS)
        run = self._script(f"ceiling_{work}", work, full, "--variant", "scan")
        self.found.append(self.take(run, **label, what=AGAIN, who=SCAN))
        self.here.drop(full)

    def peer(self, peer: Peer, work: str, label: dict[str, Any], *, again: bool) -> None:
        """Measure a peer's first load, and its second where that is wanted and affordable."""
        base = self.here.warehouse()
        folder = self.here.folder / f"{peer.script}-{peer.variant}-{work}-{time.monotonic_ns()}"
        folder.mkdir()
        command = [python_of(peer.lock), PROJECT / "bench" / "peers" / f"{peer.script}.py"]
        command += [work, self.sandbox.url, base, folder, "--variant", peer.variant, *self._span]
        for what in (FIRST, AGAIN):
            try:
                taken = self.take(lambda: _output(command), **label, what=what, who=peer.name)
                self._same(base, work, PEER_TABLES[work], peer.name)
            except (subprocess.CalledProcessError, WrongRows) as error:
                self.failed[peer.name, work] = str(error)
                break
            self.found.append(taken)
            if not again or (taken.seconds > AGAIN_BELOW and not self.full):
                break
        self.here.drop(base)

    def round(self, number: int, latency: float, *, last: bool) -> None:
        """Measure everything once."""
        self.sandbox.set_latency(latency)
        for work in WORKS:
            label = {"work": work, "latency": latency, "round": number}
            self.ceilings(work, label)
            self.ours(work, label)
        if self.full:
            peers = list(PEERS)
        elif latency:
            peers = [peer for peer in PEERS if last or not peer.slow]
        else:
            peers = [peer for peer in WITHOUT_LATENCY if last]
        again = self.full or (last and latency > 0)
        for peer in peers:
            for work in WORKS:
                label = {"work": work, "latency": latency, "round": number}
                if (peer.name, work) not in self.failed and time.monotonic() < self.until:
                    self.peer(peer, work, label, again=again)

    def warm_up(self) -> None:
        """Load once, unmeasured: the sandbox renders its rows when first asked, Python compiles."""
        for work in WORKS:
            self.ours(work, {"work": work, "latency": 0.0, "round": 0})
        self.found.clear()

    def _script(self, script: str, work: str, *given: object) -> Callable[[], dict[str, Any]]:
        span = self._span if work == "invoices" else ()
        return lambda: measured(script, self.sandbox.url, *given, *span)

    def _same(self, uri: str, work: str, table: str, who: str) -> None:
        found, expected = _sums(uri, work, table), self.expected.get(work)
        if expected and found != expected:
            raise WrongRows(f"{who}: {found}, and the ceiling {expected}")


def _some(output: dict[str, Any]) -> dict[str, float]:
    return {name: float(output[name]) for name in ("seconds", "cpu", "peak")}


def _output(command: list[object]) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603 - our own scripts
        list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True, cwd=PROJECT
    )
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]  # an object, by every script


def _sums(uri: str, work: str, table: str) -> Any:
    with psycopg.connect(uri) as connection:
        return connection.execute(f"{SUMS[work]} {table}".encode()).fetchone()


def main() -> None:
    """Measure, print and keep the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--quick", action="store_true", help="30 days, 10,000 contacts, stored below .local/bench"
    )
    options.add_argument("--full", action="store_true", help="slow peers, too, in every round")
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--minutes", type=float, help="15, and 120 for --full")
    options.add_argument("--name", default=f"{date.today():%Y-%m-%d}")  # noqa: DTZ011 - a heading
    given = options.parse_args()
    days, contacts = (30, 10_000) if given.quick else (365, 100_000)
    into = PROJECT / ".local" / "bench" if given.quick else PROJECT / "bench" / "results"
    for peer in PEERS:
        python_of(peer.lock)
    minutes = given.minutes or (120 if given.full else 15)
    started = time.monotonic()
    volume = ("--flat", "--invoices-per-day", "1000", "--entities", "1", "--employees", "1")
    contacts_only = (
        "--contacts",
        str(contacts),
        "--consultants",
        "0",
        "--today",
        TODAY.isoformat(),
    )
    with (
        warehouse_server() as here,
        running(options=("--fast", *volume, *contacts_only)) as sandbox,
    ):
        course = Course(here, sandbox, days, started + 60 * minutes, given.full)
        course.warm_up()
        rounds = [(at, number) for at in LATENCIES for number in range(1, given.repeat + 1)]
        for latency, number in rounds:
            if time.monotonic() < course.until:
                course.round(number, latency, last=number == given.repeat)
                size = report.Size(days, contacts, (time.monotonic() - started) / 60)
                text = report.write(into, given.name, course.found, PEERS, size, course.failed)
    print(text)


if __name__ == "__main__":
    main()
