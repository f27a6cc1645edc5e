"""Count the requests and seconds of onboarding contacts into a large CRM, step by step.

    python -m bench.onboarding_requests [--contacts 100000] [--rows 1,20,1000] [--latency-ms 20]
                                        [--page-size-max 0] [--list-order id] [--keep]

The steps are those of the DAG's tasks: plan, enter, create (all chunks), conclude. Each step has
a new client, as in Airflow. The sandbox counts requests, except for tokens.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from bms.client import Client
from bms.settings import ClientSettings
from bms_flows.onboarding import execution, proposal
from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.onboarding.planning import rules
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting import differences
from bms_flows.onboarding.reporting.receipt import make_receipt
from bms_flows.onboarding.resources.remotes import Contacts
from bms_flows.onboarding.sending.verify import verify
from bms_flows.onboarding.settings import OnboardingSettings
from bms_sandbox.serve import Sandbox, running
from bms_warehouse import database
from tests.support.published import stamp
from tests.support.warehouse_server import WarehouseServer, warehouse_server

TODAY = date(2026, 3, 31)
RESULT = Path(__file__).parent / "results" / "onboarding.md"
STEPS = ("plan", "enter", "create", "conclude")
LISTS, DETAILS, CREATES = "list_contacts", "read_contact", "create_contact"

Step = Callable[[OnboardingContext], Awaitable[None]]


@dataclass
class Cost:
    """Requests by step and operation, and seconds by step."""

    rows: int
    requests: dict[str, dict[str, int]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def total(self, operation: str) -> int:
        """Return the requests of an operation, over all steps."""
        return sum(each.get(operation, 0) for each in self.requests.values())


def contacts(count: int, turn: int) -> bytes:
    """Return a file of contacts that are in no other file."""
    rows = (
        f"Nouveau{turn}n{n};Prénom;nouveau{turn}.{n}@depot.example;Dépôt {turn} SA"
        for n in range(count)
    )
    return "\n".join(["last_name;first_name;email;imported_company_name", *rows, ""]).encode()


class Onboarding:
    """One drop from plan to receipt, with a new client in each step."""

    def __init__(self, here: WarehouseServer, sandbox: Sandbox, content: bytes) -> None:
        self._sandbox = sandbox
        given = sandbox.credentials
        self._service = ClientSettings(
            base_url=sandbox.url,
            client_id=given.client_id,
            application_id=given.application_id,
            secret=given.secret,
        )
        self._warehouse = database.connect(here.warehouse())
        self._settings = OnboardingSettings(approval="never")
        self.sheet: Sheet = read(content, "a.csv", Contacts.resource)
        self.drop = claim.claim_file(self._warehouse, "contact", FoundFile("a.csv", 1, "1")).id
        self.plan_id = ""
        self.chunks = 0

    async def plan(self, bench: OnboardingContext) -> None:
        """Read the CRM whole, and plan."""
        self.plan_id = (await proposal.plan_drop(bench, self.drop, self.sheet, TODAY)).plan.id

    async def enter(self, bench: OnboardingContext) -> None:
        """Enter the rows in the ledger."""
        begun = await proposal.begin(bench, self.drop, self.plan_id, self.sheet, TODAY)
        assert isinstance(begun, proposal.Entered)
        self.plan_id, self.chunks = begun.plan_id, begun.chunks

    async def create(self, bench: OnboardingContext, chunk: int) -> None:
        """Check and send the rows of a chunk."""
        ended = await execution.apply_chunk(bench, self.drop, self.plan_id, chunk)
        assert set(ended) == {"created"}, ended

    async def conclude(self, bench: OnboardingContext) -> None:
        """Read back, audit, and compare field by field."""
        chunks = await execution.chunks_of(bench, self.drop, self.plan_id)
        await verify(
            bench.warehouse,
            bench.ledger,
            bench.remote,
            bench.settings.settle_s,
            [row for chunk in chunks for row in chunk],
        )
        outcomes, _ = await make_receipt(
            bench.warehouse,
            bench.ledger,
            bench.remote,
            bench.snapshots(self.drop, self.sheet),
            self.plan_id,
        )
        await differences.compare_rows(bench.remote, self.sheet, outcomes)

    async def measured(self, cost: Cost) -> None:
        """Do all steps, and count what each of them asks of the service."""
        await self._step(cost, "plan", self.plan)
        await self._step(cost, "enter", self.enter)
        for chunk in range(self.chunks):
            await self._step(cost, "create", lambda bench, n=chunk: self.create(bench, n))  # type: ignore[misc]
        await self._step(cost, "conclude", self.conclude)

    async def _step(self, cost: Cost, name: str, step: Step) -> None:
        before, started = self._requests(), time.perf_counter()
        async with (
            Client(self._service) as reader,
            Client(replace(self._service, attempts=1)) as writer,
        ):
            remote = Contacts(reader, writer, self._settings)
            resource = rules.read(remote.resource)
            await step(OnboardingContext(self._warehouse, remote, resource, self._settings))
        cost.seconds[name] = cost.seconds.get(name, 0) + time.perf_counter() - started
        counted = cost.requests.setdefault(name, {})
        for operation, times in self._requests().items():
            counted[operation] = counted.get(operation, 0) + times - before.get(operation, 0)

    def _requests(self) -> dict[str, int]:
        counted = self._sandbox.truth()["requests"]
        return {name: sum(counted.get(name, {}).values()) for name in (LISTS, DETAILS, CREATES)}


@contextmanager
def large_crm(given: argparse.Namespace) -> Iterator[Sandbox]:
    """Run a sandbox whose CRM holds many contacts."""
    options = ["--latency", str(given.latency_ms / 1000), "--today", TODAY.isoformat(), "--frozen"]
    with running(options=options) as sandbox:
        sandbox.set_dialect(page_size_max=given.page_size_max, list_order=given.list_order)
        sandbox.fill(contacts=given.contacts)
        yield sandbox


def costs_of(given: argparse.Namespace) -> list[Cost]:
    """Measure one drop after the other."""
    found = []
    with warehouse_server() as here, large_crm(given) as sandbox:
        for turn, rows in enumerate(given.rows):
            cost = Cost(rows)
            drop = Onboarding(here, sandbox, contacts(rows, turn))
            asyncio.run(drop.measured(cost))
            found.append(cost)
            print(f"{rows} rows: {cost.requests}", flush=True)
    return found


def table(costs: list[Cost]) -> str:
    """Return the costs as a Markdown table: requests by what they ask for, seconds by step."""
    lines = [
        (
            "| rows | pages of lists | creates | details | requests"
            " | plan s | enter s | create s | conclude s | s |"
        ),
        "|" + " ---: |" * 10,
    ]
    for cost in costs:
        counts = [cost.total(LISTS), cost.total(CREATES), cost.total(DETAILS)]
        seconds = [cost.seconds[step] for step in STEPS]
        cells = [
            *(f"{n:,}" for n in (cost.rows, *counts, sum(counts))),
            *(f"{s:.1f}" for s in (*seconds, sum(seconds))),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and, where asked, append to the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--contacts", type=int, default=100_000)
    options.add_argument("--rows", default="1,20,1000", help="rows of the drops, comma-separated")
    options.add_argument("--latency-ms", type=float, default=20)
    options.add_argument("--page-size-max", type=int, default=0, help="0: any size is served")
    options.add_argument("--list-order", default="id")
    options.add_argument("--title", default="", help="what the table is called")
    options.add_argument(
        "--keep", action="store_true", help="append to bench/results/onboarding.md"
    )
    given = options.parse_args()
    given.rows = [int(rows) for rows in given.rows.split(",")]
    served = f"{given.page_size_max} rows" if given.page_size_max else "1,000 rows"
    text = "\n\n".join(
        [
            f"## {given.title or f'Pages of {served}, list ordered by {given.list_order}'}",
            f"{stamp()} {given.contacts:,} contacts, {given.latency_ms:.0f} ms.",
            table(costs_of(given)),
            "",
        ]
    )
    print(text)
    if given.keep:
        with RESULT.open("a") as result:
            result.write(f"{text}\n")


if __name__ == "__main__":
    main()
