"""SQL of the documentation, run by an analyst against a warehouse that real loads filled, with the printed results."""

import os
import re
from datetime import date
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, Engine, text

from bms_flows.mirror.resource import RunOptions
from bms_sandbox.serve import Sandbox
from tests.bms_flows.conftest import Extract
from tests.bms_flows.invoices.listed import Company, invoice
from tests.bms_flows.mirror.environment import Mirror
from tests.support.sql import execute, fetch

PROJECT = Path(__file__).parents[2]
RECIPE = re.compile(r"```sql\n((?:--|select|with).*?)```\n+```text\n(.*?)```", re.DOTALL)
PAGES = ["docs/how-to/sql-recipes.md"]
BACKDATE = "update bms.client_invoice set _changed_at = '2026-03-31 21:00+02'"


def shown(connection: Connection, query: str) -> str:
    """Return the result of a query as psql prints it, without a count of rows."""
    found = connection.execute(text(query))
    names = [*found.keys()]
    rows = [["" if value is None else str(value) for value in row] for row in found]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (names, *rows)
    ]
    return "\n".join([lines[0], "-+-".join("-" * width for width in widths), *lines[1:], ""])


def test_every_query_of_the_documentation_returns_its_printed_result(
    warehouse: Engine, sandbox: Sandbox, extract: Extract, mirror: Mirror
) -> None:
    extract("2026-01-01", "2026-03-31")
    mirror.run("contact", page_size=100, asked=RunOptions(details=False))
    with warehouse.begin() as connection:
        connection.exec_driver_sql(BACKDATE)
    paid, canceled = (each["id_invoice"] for each in open_invoices(warehouse)[:2])
    sandbox.pay(1, paid)
    sandbox.cancel(1, canceled)
    extract("2026-01-01", "2026-03-31")

    outdated = []
    for file in (PROJECT / page for page in PAGES):
        written = file.read_text()
        assert RECIPE.search(written)
        with warehouse.connect() as connection:
            connection.execute(text("set role bms_analyst"))
            right = RECIPE.sub(partial(with_result, connection), written)
        if right != written:
            outdated.append(right)
            if os.environ.get("BMS_WRITE_RESULTS"):
                file.write_text(right)
    assert outdated == [], "set BMS_WRITE_RESULTS=1 to write the results"


def test_recipes_are_right_for_credit_notes_unknown_flags_and_missing_invoices(
    company: Company,
) -> None:
    day = date(2026, 3, 2)
    company.service.rows = [
        invoice(1, day, total_excl_vat=100, canceled=True, id_credit=2),
        invoice(2, day, total_excl_vat=-100),
        invoice(3, day, total_excl_vat=50, total_due=60, canceled=None),
        invoice(4, day, total_excl_vat=30, canceled=True, total_due=36),
        invoice(6, day, total_excl_vat=10, canceled=True, id_credit=7),
        invoice(7, day, total_excl_vat=-10, canceled=True),
        invoice(10, day, total_excl_vat=0, total_due=5, currency=None),
        invoice(8, day, total_excl_vat=0, total_due=12, canceled=False),
        invoice(9, day, total_excl_vat=0, total_due=15, canceled=False),
        invoice(5, day, total_excl_vat=20, total_due=24),
    ]
    company.held(day)
    company.accept()
    execute(company.warehouse, BACKDATE)
    company.service.rows.pop()
    company.service.rows[-2]["canceled"] = True  # and its amount due stays
    company.service.rows[-1]["currency"] = "CHF"
    company.held(day)
    company.accept()
    page = (PROJECT / "docs/how-to/sql-recipes.md").read_text()
    open_items, turnover, as_of, *_ = (found[1] for found in RECIPE.finditer(page))
    with company.warehouse.connect() as connection:
        items = {row.currency: row for row in connection.execute(text(open_items))}
        assert (items["EUR"].not_due, items["EUR"].total, items["CHF"].total) == (60, 60, 15)
        sums = {row.currency: row.turnover for row in connection.execute(text(turnover))}
        assert sums == {"EUR": 50, "CHF": 0, None: 0}
        was = {
            row.currency: (row.due_on_31_march, row.due_now)
            for row in connection.execute(text(as_of))
        }
        assert was == {"EUR": (111, 60), None: (5, 5)}


def test_the_recipe_of_fresh_data_shows_held_days_until_they_are_published(
    company: Company,
) -> None:
    day, other = date(2026, 3, 2), date(2026, 3, 9)
    page = (PROJECT / "docs/how-to/sql-recipes.md").read_text()
    fresh = next(found[1] for found in RECIPE.finditer(page) if "'suspect'" in found[1])

    def states() -> list[tuple[str, date]]:
        rows = fetch(company.warehouse, fresh)
        return [(row.state, row.window_start) for row in rows]

    company.service.rows = [invoice(1, day, total_vat=7), invoice(2, other)]
    assert company.held(day)
    company.read(other)
    assert states() == [("suspect", day), ("complete", other)]
    company.accept()
    assert states() == [("complete", day)]


def with_result(connection: Connection, recipe: re.Match[str]) -> str:
    """Return a recipe with the result that its query returns now."""
    return f"```sql\n{recipe[1]}```\n\n```text\n{shown(connection, recipe[1])}```"


def open_invoices(warehouse: Engine) -> list[dict[str, int]]:
    """Return open invoices of entity 1 that were sent, oldest first."""
    query = """
        select id_invoice from bms.client_invoice_current
        where id_entity = 1 and total_due > 0 and sent and not canceled order by invoice_date, id_invoice
    """
    return [row._asdict() for row in fetch(warehouse, query)]
