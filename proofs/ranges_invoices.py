"""Comparison of one run over a year with 365 daily runs.

python -m proofs.ranges_invoices [--days 365]
"""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path

from sqlalchemy import Engine, text
from upath import UPath

from bms.client import Client
from bms.settings import ClientSettings
from bms_flows.invoices.run import extract_unit
from bms_flows.invoices.units import Unit
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from bms_sandbox.serve import Sandbox, running
from bms_warehouse import database
from bms_warehouse.queries import fingerprint
from bms_warehouse.tables import client_invoice, client_invoice_version
from proofs.page import command

COUNTS = ("rows_read", "inserted", "changed", "unchanged", "quarantined", "missing")


def extract(
    engine: Engine, data_root: Path, sandbox: Sandbox, windows: Iterable[Window]
) -> dict[str, int]:
    """Extract each window in a separate run; return the total counts."""
    flow = FlowContext(engine, UPath(data_root), FlowSettings())
    settings = ClientSettings(base_url=sandbox.url, **asdict(sandbox.credentials))
    counts = dict.fromkeys(COUNTS, 0)
    for window in windows:
        step = Step("invoice_extraction", str(window), "extract", 1, window.start, window.end)
        manifest = asyncio.run(
            extract_unit(Client(settings), flow, Unit(1, (window,)), step, language="FR")
        )
        for name in COUNTS:
            counts[name] += manifest[name]
    return counts


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


def main(*, days: int = 365) -> bool:
    """Compare; return whether nothing differs."""
    from tests.support.warehouse_server import warehouse_server  # noqa: PLC0415 - tests bring their own

    last = date(2026, 3, 30)
    year = Window(last - timedelta(days=days - 1), last)
    options = ("--today", "2026-03-31", "--frozen", "--invoices-per-day", "20")
    found = []
    with warehouse_server() as here, running(options=options) as sandbox:
        for name, windows in {"one run": [year], f"{days} daily runs": year.cut(1)}.items():
            engine = database.connect(here.warehouse())
            started = time.perf_counter()
            counts = extract(engine, here.folder / name, sandbox, windows)
            seconds = time.perf_counter() - started
            again = extract(engine, here.folder / name, sandbox, [year])
            found.append(contents(engine))
            engine.dispose()
            print(f"{name}: {seconds:.1f} s, {counts}; all again in one run: {again}")
            print(f"  {found[-1]}", flush=True)
    print("the same rows, versions and days" if found[0] == found[1] else "they differ")
    return found[0] == found[1]


if __name__ == "__main__":
    command(main)
