"""Equal tables however days are split over runs; `python -m proofs.ranges_invoices` covers a year."""

import subprocess
import sys
from datetime import date
from pathlib import Path

from sqlalchemy import Engine

from bms_flows.runtime.windows import Window
from bms_sandbox.serve import Sandbox
from proofs.ranges_invoices import contents, extract
from tests.support.sql import execute

DAYS = Window(date(2026, 3, 1), date(2026, 3, 20))


def test_a_range_in_one_run_equals_daily_runs(
    sandbox: Sandbox, warehouse: Engine, tmp_path: Path
) -> None:
    daily = extract(warehouse, tmp_path, sandbox, DAYS.cut(1))
    by_days = contents(warehouse)
    again = extract(warehouse, tmp_path, sandbox, [DAYS])
    assert daily["rows_read"] == daily["inserted"] == by_days["rows"] == by_days["versions"]
    written = {name: count for name, count in again.items() if count}
    assert written == {"rows_read": by_days["rows"], "unchanged": by_days["rows"]}
    assert contents(warehouse) == by_days


def test_the_order_of_runs_does_not_matter(
    sandbox: Sandbox, warehouse: Engine, tmp_path: Path
) -> None:
    """As Airflow's backfill may run them: backwards."""
    extract(warehouse, tmp_path, sandbox, reversed(DAYS.cut(3)))
    backwards = contents(warehouse)
    execute(
        warehouse,
        "truncate bms.client_invoice, bms.client_invoice_superseded, bms.client_invoice_day",
    )
    extract(warehouse, tmp_path, sandbox, [DAYS])
    assert contents(warehouse) == backwards


WORK = """
import sys
from datetime import date
from pathlib import Path
from proofs.ranges_invoices import extract
from bms_flows.runtime.windows import Window
from bms_sandbox.serve import Sandbox
from bms_sandbox.tokens import Credentials
from bms_warehouse import database

url, uri, folder = sys.argv[1:]
box = Sandbox(url, Credentials("demo-client", "demo-application", "demo-secret"))
counts = extract(database.connect(uri), Path(folder), box, [Window(date(2026, 3, 1), date(2026, 3, 20))])
import bms_flows.mirror.run
print(counts["inserted"], counts["quarantined"], *{name.partition(".")[0] for name in sys.modules})
"""
UNNEEDED = {"alembic", "mako", "holidays", "openpyxl", "pandas", "s3fs", "gcsfs", "adlfs", "boto3"}
"""Packages that an extraction or a mirror would only wait for."""


def test_extraction_and_load_import_only_what_they_need(
    sandbox: Sandbox, warehouse_uri: str, tmp_path: Path, project: Path
) -> None:
    """Invalid rows included; pyarrow alone would import pandas at the first value it sees."""
    first = sandbox.invoices(1, DAYS.start, DAYS.end)
    sandbox.edit_invoice(1, first[0]["id_invoice"], currency="E\0R")
    done = subprocess.run(  # noqa: S603 - this file's own program
        [sys.executable, "-c", WORK, sandbox.url, warehouse_uri, str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=project,
    )
    inserted, quarantined, *imported = done.stdout.split()
    assert (inserted, quarantined) == (str(len(first) - 1), "1")
    assert UNNEEDED.intersection(imported) == set()
