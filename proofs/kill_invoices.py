"""Kills of an extraction with SIGKILL at every point with an external effect.

    python -m proofs.kill_invoices [--every N]

For each point the process is killed there, and no half-written file or table may be visible. Then
the task is retried, and table, versions, days, steps and leases must equal those of an undisturbed
run.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
from sqlalchemy import Engine, text

from bms_sandbox.serve import Sandbox, running
from bms_warehouse import database
from bms_warehouse.queries.records import fingerprint
from bms_warehouse.tables import client_invoice, client_invoice_version
from proofs import flows
from proofs.flows import UNIT, Extraction
from proofs.page import command
from tests.support.warehouse_server import warehouse_server

FEWEST = 85
"""Points there were when this was written; fewer would mean that the wrapping misses some."""


def contents(engine: Engine) -> dict[str, object]:
    """Return what must not depend on how days were shared out over runs."""
    with engine.connect() as connection:
        days = text("select day, invoices, open_invoices from bms.client_invoice_day order by day")
        return {
            "rows": connection.scalar(text("select count(*) from bms.client_invoice")),
            "versions": connection.scalar(text("select count(*) from bms.client_invoice_version")),
            "quarantined": connection.scalar(text("select count(*) from bms.quarantine")),
            "invoices": fingerprint(connection, client_invoice),
            "history": fingerprint(connection, client_invoice_version),
            "days": [tuple(row) for row in connection.execute(days)],
        }


def change(sandbox: Sandbox) -> None:
    """Change what the service holds, in every way that a load has to follow."""
    paid, gone, bad, *_ = sandbox.invoices(1, UNIT.span.start, UNIT.span.start)
    sandbox.edit_invoice(1, paid["id_invoice"], total_vat="1.23")
    sandbox.delete_invoice(1, gone["id_invoice"])
    sandbox.edit_invoice(1, bad["id_invoice"], currency="E\0R")
    sandbox.insert_invoice(id_entity=1, invoice_date=UNIT.span.start.isoformat())


class Killing:
    """Cells of kill and retry, each in a separate warehouse with an older load."""

    def __init__(
        self, sandbox: Sandbox, warehouse: Callable[[str | None], str], folder: Path
    ) -> None:
        """`warehouse(template)` returns the URI of a new one, a copy of that warehouse if given."""
        self._url = sandbox.url
        self._warehouse = warehouse
        self._folder = folder
        self.before = warehouse(None)
        Extraction(self.before, str(folder / "before"), self._url, "killed").load()
        change(sandbox)
        uri = warehouse(self.before)
        self.was = self.read_state(uri)
        undisturbed = flows.run(Extraction(uri, str(folder / "undisturbed"), self._url, "killed"))
        assert undisturbed.well, undisturbed.text
        self.points = undisturbed.reached
        self.will_be = self.read_state(uri)
        assert self.was != self.will_be

    def read_state(self, uri: str) -> dict[str, object]:
        """Return what a warehouse shows."""
        engine = database.connect(uri)
        state = contents(engine)
        engine.dispose()
        return state

    def cell(self, point: int) -> list[str]:
        """Kill at `point`, compare, retry, compare again; return the differences."""
        uri, root = self._warehouse(self.before), self._folder / f"point-{point}"
        flow = Extraction(uri, str(root), self._url, "killed")
        ending = flows.run(flow, point)
        wrong = [] if ending.killed else [f"ended with {ending.code}"]
        left = self.read_state(uri)
        if left not in (self.was, self.will_be):
            wrong.append("something between before and after shows")
        wrong += [f"half-written: {path.name}" for path in root.rglob("*") if broken(path)]
        flow.load()
        if self.read_state(uri) != self.will_be:
            wrong.append("the next run ended with another table")
        return wrong + self.records(uri, published=left == self.will_be)

    def records(self, uri: str, *, published: bool) -> list[str]:
        """Return what is wrong with leases and the record of runs, after a run that was disturbed and another."""
        engine = database.connect(uri)
        with engine.connect() as connection:
            leases = connection.scalar(text("select count(*) from bms.client_invoice_lease"))
            states = list(connection.scalars(text("select state from bms.step_run order by id")))
        engine.dispose()
        # Killed before it was entered, in between, or after its end.
        first = {"complete"} if published else {"failed"}
        fine = states[1:] in ([*first, "complete"], ["complete"]) and states[0] == "complete"
        wrong = [f"{leases} leases left"] if leases else []
        return wrong + ([] if fine else [f"run rows say {states}"])


def broken(path: Path) -> bool:
    """Return whether a visible file (not a `.part`) is incomplete."""
    if path.is_dir() or path.suffix == ".part":
        return False
    try:
        if path.name.endswith(".json.zst"):
            json.loads(pa.input_stream(str(path), compression="zstd").read())
        else:
            return not path.read_bytes().endswith(b"\r\n")
    except (ValueError, OSError, pa.ArrowException):
        return True
    return False


def cells(killing: Killing, points: Iterable[int]) -> dict[int, list[str]]:
    """Return what is wrong, by point."""
    return {point: wrong for point in points if (wrong := killing.cell(point))}


def main(*, every: int = 1) -> bool:
    """Kill at every point, or at some; print what was seen, and return whether all is right."""
    options = ("--today", "2026-03-31", "--frozen", "--invoices-per-day", "5")
    with warehouse_server() as here, running(options=options) as sandbox:
        killing = Killing(sandbox, here.warehouse, here.folder)
        chosen = range(0, len(killing.points), every)
        started = time.perf_counter()
        wrong = cells(killing, chosen)
        seconds = time.perf_counter() - started
    for name, count in Counter(killing.points).items():
        print(f"{count:4} {name}")
    print(f"{len(chosen)} of {len(killing.points)} points, {seconds / len(chosen):.2f} s each")
    for point, what in wrong.items():
        print(f"WRONG at {point} ({killing.points[point]}): {'; '.join(what)}")
    print("nothing half-written, every next run right" if not wrong else f"{len(wrong)} wrong")
    return not wrong and len(killing.points) >= FEWEST


if __name__ == "__main__":
    command(main)
