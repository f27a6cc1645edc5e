"""Comparison of the demo's results with the sandbox's own records.

Each function returns the subject and the finding. It raises StackError if the records differ, or if
the injected fault did not occur.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import psycopg

from bms_sandbox.serve import DEMO, Sandbox
from stack.launcher import Running
from stack.processes import StackError

LOST, MOVED = "commit_then_lose_reply", "page_delete"
"""The sandbox's faults that the demo injects."""

Proof = tuple[str, str]


def control(running: Running) -> Sandbox:
    """Return the client of the running sandbox's control API."""
    if running.sandbox is None:
        raise StackError("The demo controls the sandbox, but AIRFLOW_CONN_BMS_DEFAULT is preset.")
    return Sandbox(running.sandbox, DEMO)  # the control API needs no credentials


def amounts(running: Running, steps: Sequence[Mapping[str, Any]]) -> Proof:
    """Compare entity, id, currency and total of each extracted invoice."""
    shown, stored = set(), set()
    query = (
        "select id_entity, id_invoice, currency, total_incl_vat from bms.client_invoice"
        " where id_entity = %s and invoice_date between %s and %s"
    )
    fields = ("id_entity", "id_invoice", "currency")
    with psycopg.connect(running.warehouse) as connection:
        for step in steps:
            window = step["id_entity"], step["window_start"], step["window_end"]
            stored |= set(connection.execute(query, window).fetchall())
            shown |= {
                (*(row[name] for name in fields), Decimal(row["total_incl_vat"]))
                for row in control(running).invoices(*window)
            }
    differing = {key[:2] for key in stored ^ shown}
    _require(not differing, f"{len(differing)} of {len(shown)} invoices differ")
    return "Amounts", f"all {len(shown)} invoices have the service's total, to the cent"


def lost_response(running: Running, expected: int) -> Proof:
    """Compare the employees that the run created with those that the sandbox has, one by one."""
    truth = control(running).truth()
    lost = truth["faults"].get(LOST, 0)
    created = Counter(row["payroll_number"] for row in truth["created"]["employees"])
    _require(lost > 0, "the sandbox lost no response")
    _require(
        len(created) == expected and set(created.values()) == {1},
        f"the service created {created.total()} employees for {expected} rows",
    )
    return "Lost response", f"{lost} injected: {expected} employees exist in the service, each once"


def moved_contacts(running: Running) -> Proof:
    """Look in the warehouse for each contact that the service has."""
    moved = control(running).truth()["faults"].get(MOVED, 0)
    shown = {row["id"] for row in control(running).rows("contacts") if not row["deleted"]}
    with psycopg.connect(running.warehouse) as connection:
        query = "select id from bms.contact where not deleted"
        lost = shown - {number for (number,) in connection.execute(query)}
    _require(moved > 0, "no contact moved between pages")
    _require(not lost, f"{len(lost)} of {len(shown)} contacts are not in the warehouse")
    all_of_them = f"all {len(shown)} undeleted contacts are in the warehouse"
    return "Moved contact", f"{moved} injected: {all_of_them}"


def earlier_drops(running: Running) -> int:
    """Return the number of files of employees that the warehouse knows."""
    query = "select count(*) from bms.dropped_file where resource = 'employee'"
    with psycopg.connect(running.warehouse) as connection:
        row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0


def _require(holds: bool, finding: str) -> None:
    if not holds:
        raise StackError(
            f"The demo's result is wrong: {finding}.\n"
            "Meaning: a defect of this project, since the sandbox's own records differ.\n"
            "To do: report the defect with the folder .local/logs."
        )
