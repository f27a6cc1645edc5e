"""Peak memory of a process that loads many years of invoices; writes Markdown.

python -m bench.invoices_memory [--units 10] [--per-day 1000]
"""

import argparse
from datetime import date, timedelta
from pathlib import Path

from bms_sandbox.serve import running
from tests.support.measurement import measured
from tests.support.published import stamp
from tests.support.warehouse_server import warehouse_server

TODAY = date(2026, 4, 1)
RESULTS = Path(__file__).parent / "results"


def long_run(years: int, per_day: int) -> str:
    """Return the peak memory after each year of a process that loads many, a unit after another."""
    options = ("--flat", "--invoices-per-day", str(per_day), "--today", TODAY.isoformat())
    days = 366 * years
    with (
        warehouse_server() as here,
        running(options=(*options, "--frozen", "--entities", "1")) as sandbox,
    ):
        root = (here.folder / "files").as_uri()
        span = ("--first", TODAY - timedelta(days=days), "--days", days)
        done = measured("invoices_unit", sandbox.url, here.warehouse(), root, *span)
    peaks = ", ".join(f"{peak / 1e6:.0f}" for peak in done["peaks"])
    return (
        f"{years} units of 366 days, {per_day} invoices each, in one process: "
        f"{done['rows_read']:,} rows, {done['seconds']:.0f} s (the sandbox renders its rows "
        f"meanwhile); peak memory after each unit, MB: {peaks}."
    )


def main() -> None:
    """Measure, print and keep the result."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--units", type=int, default=10)
    options.add_argument("--per-day", type=int, default=1000)
    given = options.parse_args()
    text = "\n\n".join(["# Invoices: memory", stamp(), long_run(given.units, given.per_day), ""])
    print(text)
    (RESULTS / "invoices.md").write_text(text)


if __name__ == "__main__":
    main()
