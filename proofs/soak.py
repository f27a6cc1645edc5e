"""All flows at once for an hour, with faults and kills, then compared with the service's records.

    python -m proofs.soak [--minutes 60] [--seed 1] > proofs/results/soak.md

In each round invoices are extracted, contacts synced, and files of employees and contacts dropped
and created, each in a separate process, two at a time. One in a hundred responses has each fault of
`FAULTS`; one in four processes is killed (SIGKILL) at a random moment, and is run again until it
ends. The service's data change between rounds. Exits with 1 if anything is lost, duplicated,
different, stuck, or grows. Rows without a usable response that no newer record of the lists explains are
left to review, as promised, and are not lost.
"""

import itertools
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from statistics import median
from typing import Any, Final

import psutil
from sqlalchemy import Engine, text

from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_sandbox.serve import Sandbox, running
from bms_warehouse import database
from proofs import flows, ground_truth
from proofs.flows import UNIT, ContactSync, Creation, Extraction, Flow
from proofs.page import command, heading, show
from tests.bms_flows.onboarding import grid
from tests.bms_flows.onboarding.crm import people
from tests.bms_flows.onboarding.onboarding import Run
from tests.support.french_excel import in_letters
from tests.support.warehouse_server import WarehouseServer, warehouse_server

FAULTS: Final = {name: given for name, given in grid.FAULTS.items() if name != "none"}
SHARE: Final = 0.01
KILLED: Final = 0.25
ROWS: Final = 4
"""Rows of each dropped file."""
GROWTH: Final = 1.5
"""What the last tenth of a series may be of its first."""
SANDBOX: Final = "sandbox, MB"
PROCESS: Final = "a flow's process at most, MB"


@dataclass
class Soak:
    """What a soak has done so far."""

    here: WarehouseServer
    sandbox: Sandbox
    random: Random
    minutes: float
    uri: str = ""
    begun: float = field(default_factory=time.monotonic)
    rounds: int = 0
    processes: int = 0
    killed: int = 0
    repeated: int = 0
    wrong: list[str] = field(default_factory=list)
    employees: list[str] = field(default_factory=list)
    contacts: list[str] = field(default_factory=list)
    reviewed: list[Any] = field(default_factory=list)
    """Keys of rows that are left to review."""
    levels: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """What should not grow, over time; the sandbox stores whatever was made, so its memory is only shown."""

    def __post_init__(self) -> None:
        self.uri = self.here.warehouse()
        self.engine: Engine = database.connect(self.uri, pool_size=1)

    @property
    def left(self) -> float:
        """Seconds until it is to end."""
        return self.begun + 60 * self.minutes - time.monotonic()

    def carry_through(self, flow: Flow, kill_after: float | None) -> None:
        """Run a flow until it ends well, the first time perhaps killed after some seconds."""
        if kill_after is not None:
            with flows.begun(flow) as process:
                first = process.ended(kill_after)
            self.processes += 1
            self.killed += first.code is None
            if first.well:
                return
        endings = flows.finished(flow)
        self.processes += len(endings)
        self.repeated += len(endings) - 1
        self.levels[PROCESS] += [each.peak / 1e6 for each in endings if each.well]
        if not endings[-1].well:
            last = endings[-1]
            self.wrong.append(f"stuck: {type(flow).__name__} {last.kind} {last.text[:200]}")
            print(f"\n{self.wrong[-1]}", file=sys.stderr, flush=True)

    def flows(self) -> Iterator[Flow]:
        """Yield what a round does."""
        name, root = f"round-{self.rounds}", str(self.here.folder / "data")
        yield Extraction(self.uri, root, self.sandbox.url, name)
        yield Creation(self._drop("employee"))
        yield ContactSync(self.uri, root, self.sandbox.url, name, page_size=100)
        yield Creation(self._drop("contact"))

    def _drop(self, resource: str) -> Run:
        numbers = range(ROWS * self.rounds, ROWS * (self.rounds + 1))
        if resource == "employee":
            keys = [str(500_000 + each) for each in numbers]
            rows = [f"1;{key};{in_letters(key)};Prénom;2026-05-15" for key in keys]
            self.employees += keys
        else:
            keys = [f"personne.{each}@depot.example" for each in numbers]
            phones = [f"0601{each:06d}" for each in numbers]
            rows = [
                f"{in_letters(each)};Une;{key};{phone};Dépôt SA;"
                for each, key, phone in zip(numbers, keys, phones, strict=True)
            ]
            self.contacts += keys
        content = people(resource, *rows)
        seen = FoundFile(f"{resource}-{self.rounds}.csv", len(content), str(self.rounds))
        drop = claim.claim_file(self.engine, resource, seen)
        # Half of the runs are tried again, half are cleared: these find nothing of what steps returned.
        kept = str(self.here.folder / f"kept-{drop.id}.json") if self.random.random() < 0.5 else ""  # noqa: PLR2004 - half
        service = flows.service(self.sandbox.url)
        return Run(self.uri, service, drop.id, content, resource=resource, kept=kept)

    def play_round(self, pool: ThreadPoolExecutor) -> None:
        """Run a round, and check the servers every second."""
        self._change()
        under_way: list[Future[None]] = []
        for flow in self.flows():
            kill_after = self.random.uniform(0.1, 3) if self.random.random() < KILLED else None
            under_way.append(pool.submit(self.carry_through, flow, kill_after))
        while not all(each.done() for each in under_way):
            self.check()
            time.sleep(1)
        for each in under_way:
            each.result()
        self.rounds += 1

    def _change(self) -> None:
        """Change the service's data: pay, book, edit, delete."""
        for invoice in self.random.sample(
            self.sandbox.invoices(1, UNIT.span.start, UNIT.span.end), 2
        ):
            self.sandbox.pay(1, invoice["id_invoice"])
        own = [
            row
            for row in self.sandbox.rows("contacts")
            if not row["email"].endswith("@depot.example")
        ]
        first, second, gone = self.random.sample(own, 3)
        for each in (first, second):
            self.sandbox.edit("contacts", each["id"], notes=f"round {self.rounds}")
        self.sandbox.delete("contacts", gone["id"])
        self.sandbox.insert("contacts")

    def check(self) -> None:
        """Take a sample, and show how far it is."""
        assert self.sandbox.process is not None
        server = psutil.Process(self.here.pid)
        postgres = sum(map(memory, (server, *server.children(recursive=True))))
        with self.engine.connect() as connection:
            count = "select count(*) from pg_stat_activity where backend_type = 'client backend'"
            connections = int(connection.scalar(text(count)) or 0)
        serving = memory(psutil.Process(self.sandbox.process.pid))
        now = {SANDBOX: serving, "PostgreSQL, MB": postgres, "connections": connections}
        for name, value in now.items():
            self.levels[name].append(value)
        line = (
            f"{max(0, self.left) / 60:5.1f} min left, {self.rounds} rounds, {self.processes} processes, "
            f"{self.killed} killed; {len(self.wrong)} wrong; "
            + ", ".join(f"{name} {value:.0f}" for name, value in now.items())
        )
        print(f"\r{line:<130}", end="", file=sys.stderr, flush=True)

    def judge(self) -> None:
        """Update everything without faults, and compare it with the service's records."""
        self.sandbox.clear_faults()
        root = str(self.here.folder / "data")
        for flow in (
            Extraction(self.uri, root, self.sandbox.url, "last"),
            ContactSync(self.uri, root, self.sandbox.url, "last", page_size=100),
        ):
            self.carry_through(flow, None)
        with self.engine.connect() as connection:
            for window in UNIT.windows:
                days = (window.start, window.end)
                self.wrong += ground_truth.invoices(connection, self.sandbox, UNIT.id_entity, *days)
            self.wrong += ground_truth.contacts(connection, self.sandbox)
            self.wrong += ground_truth.stuck(connection)
            left = ground_truth.unproven(connection)
        made = self.sandbox.truth()["created"]
        for what, keys, name in (
            ("employees", self.employees, "payroll_number"),
            ("contacts", self.contacts, "email"),
        ):
            found = Counter(row[name] for row in made[what])
            self.reviewed += (asked := [key for body in left if (key := body.get(name))])
            self.wrong += [f"lost: {what} {key}" for key in sorted({*keys} - {*found, *asked})]
            self.wrong += [f"doubled: {what} {key}" for key, count in found.items() if count > 1]
        for name, series in self.levels.items():
            first, _, last = tenths(series)
            self.wrong += [f"grows: {name}"] * (name != SANDBOX and last > GROWTH * first + 1)

    def report(self) -> None:
        """Print the page."""
        by_kind = Counter(each.partition(":")[0] for each in self.wrong)
        truth = self.sandbox.truth()
        kinds = ("doubled", "lost", "too many", "different", "stuck", "grows")
        counts = {
            "rounds": self.rounds,
            "rows dropped": len(self.employees) + len(self.contacts),
            "requests": sum(sum(each.values()) for each in truth["requests"].values()),
            "faults": sum(truth["faults"].values()),
            "processes": self.processes,
            "killed": self.killed,
            "run again": self.repeated,
            "left to review": len(self.reviewed),
            **{name: by_kind[name] for name in kinds},
        }
        heading("Soak", f"{(time.monotonic() - self.begun) / 60:.0f} minutes. ")
        show(("What", "Count"), ((name, f"{count:,}") for name, count in counts.items()))
        over_time = (
            (name, *(f"{each:,.0f}" for each in tenths(series)))
            for name, series in self.levels.items()
        )
        show(("Over time", "first tenth", "median", "last tenth"), over_time)
        print(*(f"- {each}\n" for each in dict.fromkeys(self.wrong)), sep="", end="")


def memory(process: psutil.Process) -> float:
    """Return MB of a process's private memory; 0 for one that has just ended.

    PostgreSQL's shared buffers do not count: they fill with stored data up to their limit.
    """
    try:
        return float(process.memory_full_info().uss) / 1e6
    except psutil.Error:
        return 0.0


def tenths(series: Sequence[float]) -> tuple[float, float, float]:
    """Return the medians of the first tenth, of all and of the last tenth."""
    tenth = max(1, len(series) // 10)
    return median(series[:tenth]), median(series), median(series[-tenth:])


def main(*, minutes: float = 60.0, seed: int = 1) -> bool:
    """Run the soak and print the page; return whether all is right."""
    size = ("--invoices-per-day", "8", "--contacts", "60", "--consultants", "0", "--employees", "5")
    with warehouse_server() as here, running(options=("--today", "2026-03-31", *size)) as sandbox:
        sandbox.set_clock(datetime.now(UTC), frozen=False)  # lags end by the service's own clock
        for kind, parameters in FAULTS.items():
            sandbox.set_fault(kind, "*", probability=SHARE, **parameters)
        soak = Soak(here, sandbox, Random(seed), minutes)  # noqa: S311 - a draw, no secret
        with ThreadPoolExecutor(2) as pool:
            for _ in itertools.takewhile(lambda _: soak.left > 0, itertools.count()):
                soak.play_round(pool)
        soak.judge()
        soak.engine.dispose()
        soak.report()
    return not soak.wrong


if __name__ == "__main__":
    command(main)
