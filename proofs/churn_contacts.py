"""Mirror of a list over HTTP while its rows change; counts missed and falsely removed rows.

    python -m proofs.churn_contacts [--contacts 5000] [--runs 6]

For each order of the list: runs of the flow's own `sync`, of the list alone, with the sandbox.
Before each page after the first, a row may be inserted before it or a served row deleted, and
a thread inserts, edits and deletes all the time. After each run the mirror is compared with the
sandbox's rows; the last run, at rest, must agree row by row.
"""

import argparse
import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import psycopg
from upath import UPath

from bms.client import Client
from bms.settings import ClientSettings
from bms_flows.mirror.resource import RunOptions
from bms_flows.mirror.resources import CONTACTS, source
from bms_flows.mirror.run import sync
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_sandbox.serve import ControlError, Sandbox, running
from bms_warehouse import database
from tests.support.warehouse_server import WarehouseServer, warehouse_server

ORDERS = ("id", "id_desc", "name", "modified_on")
PAGE = 100


@dataclass
class Result:
    """What the runs in one order came to."""

    order: str
    runs: int = 0
    complete: int = 0
    moved: list[float] = field(default_factory=list)
    """Of each run, the share of rows that came, went or were edited during one pass of it."""
    calls: list[float] = field(default_factory=list)
    """Of each run that agreed, its calls for the list in the calls of one pass."""
    missed: int = 0
    falsely_removed: int = 0
    agrees: bool = False

    @property
    def line(self) -> str:
        """One row of the table."""
        moved = f"{min(self.moved):.1%} to {max(self.moved):.1%}"
        calls = f"{max(self.calls):.2f}" if self.calls else ""
        cells = (self.order, self.runs, moved, self.complete, self.runs - self.complete)
        ends = (self.missed, self.falsely_removed, calls, "yes" if self.agrees else "no")
        return f"| {' | '.join(map(str, (*cells, *ends)))} |"


HEAD = (
    "| order of the list | runs | rows moved in a pass | complete | unstable | missed when complete "
    "| falsely removed | most requests, in passes | equal once changes stop |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
)


def live(sandbox: Sandbox) -> dict[int, str | None]:
    """Return the contacts that are there and not deleted, with their city."""
    return {row["id"]: row["city"] for row in sandbox.rows("contacts") if not row["deleted"]}


class Work:
    """Someone who inserts, edits and deletes."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.made = 0
        self._sandbox = sandbox
        self._random = Random(1)  # noqa: S311 - a repeatable draw, not a secret
        self._done = threading.Event()
        self._keys = list(live(sandbox))

    def _act(self) -> None:
        while not self._done.wait(0.002):  # changes at the rate of a user
            key = self._random.choice(self._keys)
            try:
                match self.made % 3:
                    case 0:
                        self._sandbox.insert("contacts", city=f"new {self.made}")
                    case 1:
                        self._sandbox.edit("contacts", key, city=f"city {self.made}")
                    case 2:
                        self._sandbox.delete("contacts", key)
            except ControlError:
                continue  # deleted already
            self.made += 1

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Work during the block."""
        worker = threading.Thread(target=self._act)
        worker.start()
        try:
            yield
        finally:
            self._done.set()
            worker.join()
            self._done.clear()


def played(here: WarehouseServer, sandbox: Sandbox, order: str, count: int, runs: int) -> Result:
    """Play the runs in one order."""
    result, uri = Result(order), here.warehouse()
    sandbox.clear_faults()
    sandbox.fill(contacts=count, consultants=0, employees=0)
    sandbox.set_dialect(list_order=order)
    engine = database.connect(uri)
    flow = FlowContext(engine, UPath(here.folder / order), FlowSettings())
    settings = ClientSettings(
        base_url=sandbox.url,
        client_id=sandbox.credentials.client_id,
        application_id=sandbox.credentials.application_id,
        secret=sandbox.credentials.secret,
        concurrency=8,
        page_size=PAGE,
    )

    async def once() -> dict[str, Any]:
        async with Client(settings) as client:
            step = Step("contact_sync", "churn", "sync")
            asked = RunOptions(details=False, accept_gone=True)
            return await sync(client, flow, CONTACTS, source(client, CONTACTS), asked, step)

    def mirrored(condition: str) -> dict[int, str | None]:
        with psycopg.connect(uri) as connection:
            query = f"select id, city from bms.contact where {condition}"  # noqa: S608 - conditions of this file
            return dict(connection.execute(query.encode()).fetchall())

    asyncio.run(once())
    for kind in ("page_insert", "page_delete"):
        sandbox.set_fault(kind, "list_contacts", probability=0.3)
    work = Work(sandbox)
    for _ in range(runs):
        before, made, fired = live(sandbox), work.made, sum(sandbox.truth()["faults"].values())
        with work.going_on():
            manifest = asyncio.run(once())
        after = live(sandbox)
        events = work.made - made + sum(sandbox.truth()["faults"].values()) - fired
        # Two passes, and who is assigned before.
        result.moved.append(events / (1 + manifest["passes"]) / len(after))
        result.runs += 1
        marked = mirrored(
            f"_removal_reason = 'missing' and _step_run_id = {manifest['step_run_id']}"
        )
        result.falsely_removed += len(marked.keys() & after.keys())
        if manifest["state"] == "complete":
            result.complete += 1
            result.calls.append(manifest["list_calls"] / -(-len(sandbox.rows("contacts")) // PAGE))
            result.missed += len((before.keys() & after.keys()) - mirrored("not deleted").keys())
    sandbox.clear_faults()
    last = asyncio.run(once())
    result.agrees = last["state"] == "complete" and mirrored("not deleted") == live(sandbox)
    engine.dispose()
    here.drop(uri)
    return result


def main() -> None:
    """Play all orders and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--contacts", type=int, default=5_000)
    options.add_argument("--runs", type=int, default=6)
    given = options.parse_args()
    print(HEAD)
    with warehouse_server() as here, running(options=("--contacts", "0")) as sandbox:
        for order in ORDERS:
            print(played(here, sandbox, order, given.contacts, given.runs).line, flush=True)


if __name__ == "__main__":
    main()
