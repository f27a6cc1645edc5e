"""Comparison of one run over a year with 365 daily runs.

python -m proofs.ranges_invoices [--days 365]
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterable
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
from bms_sandbox.serve import Sandbox
from bms_warehouse import database
from bms_warehouse.queries import fingerprint
from bms_warehouse.tables import client_invoice, client_invoice_version

COUNTS = ("rows_read", "inserted", "changed", "unchanged", "quarantined", "missing")


def extract(
    engine: Engine, data_root: Path, sandbox: Sandbox, windows: Iterable[Window]
) -> dict[str, int]:
    """Extract each window in a separate run; return the total counts."""
    flow = FlowContext(engine, UPath(data_root), FlowSettings())
    settings = ClientSettings(
        base_url=sandbox.url,
        client_id=sandbox.credentials.client_id,
        application_id=sandbox.credentials.application_id,
        secret=sandbox.credentials.secret,
    )
    counts = dict.fromkeys(COUNTS, 0)
    for window in windows:
        step = Step("invoice_extraction", str(window), "extract", 1, window.start, window.end)
        unit = Unit(1, (window,))
        work = extract_unit(Client(settings), flow, unit, step, language="FR")
        manifest = asyncio.run(work)
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
            "invoices": fingerprint(connection, client_invoice),
            "history": fingerprint(connection, client_invoice_version),
            "days": [tuple(row) for row in connection.execute(days)],
        }


def main() -> int:
    """Compare; 1 if anything differs."""
    from bms_sandbox.serve import running  # noqa: PLC0415
    from tests.support.warehouse_server import warehouse_server  # noqa: PLC0415 - tests bring their own

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--days", type=int, default=365)
    given = options.parse_args()
    last = date(2026, 3, 30)
    year = Window(last - timedelta(days=given.days - 1), last)
    found = []
    with (
        warehouse_server() as here,
        running(options=("--today", "2026-03-31", "--frozen", "--invoices-per-day", "20")) as box,
    ):
        for name, windows in (
            ("one run", [year]),
            (f"{given.days} daily runs", year.cut(1)),
        ):
            engine = database.connect(here.warehouse())
            started = time.perf_counter()
            counts = extract(engine, here.folder / name, box, windows)
            seconds = time.perf_counter() - started
            again = extract(engine, here.folder / name, box, [year])
            found.append(contents(engine))
            engine.dispose()
            print(f"{name}: {seconds:.1f} s, {counts}")
            print(f"  rows {found[-1]['rows']}, versions {found[-1]['versions']}")
            print(f"  sha256 {found[-1]['invoices']}; all again in one run: {again}")
    same = found[0] == found[1]
    print("the same rows, versions and days" if same else "they differ")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
