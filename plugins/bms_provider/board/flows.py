"""The flows that the board shows, in the order in which it shows them."""

from __future__ import annotations

from dataclasses import dataclass

from bms_flows.onboarding.inbox.flows import FLOWS as DROPS


@dataclass(frozen=True)
class Flow:
    """A flow as people name it."""

    title: str
    loads: str | None = None
    """Its step in `bms.run` that loads, where it has others too."""
    mirrors: str | None = None
    """The table that it keeps up to date, as quarantine and self-audit name it."""
    creates: str | None = None
    """The resource that it creates, as drops name it."""


FLOWS = {
    "invoice_extraction": Flow("Client invoices", "extract", mirrors="client_invoice"),
    "contact_sync": Flow("Contacts", "sync", mirrors="contact"),
    "consultant_sync": Flow("Consultants", "sync", mirrors="consultant"),
    "employee_directory": Flow("Employees", "sync", mirrors="employee"),
    DROPS["employee"]: Flow("New employees", "conclude", creates="employee"),
    DROPS["contact"]: Flow("New contacts", "conclude", creates="contact"),
    DROPS["consultant"]: Flow("New consultants", "conclude", creates="consultant"),
    "reconciliation": Flow("Self-audit"),
    "service_contract": Flow("Contract probe"),
    "retention": Flow("Retention"),
}
"""By the id of the DAG."""

TASKS = {"decide": "plan", "enter": None}
"""Tasks of steps that aren't named after them; a task `enter` or `enter_again` may have entered."""


def task_of(step: str) -> tuple[str | None, int | None]:
    """Return the id of the task that did a step, and which of its parts; None what the name doesn't tell."""
    name, _, part = step.rpartition("_")
    if name == "create" and part.isdecimal():
        return name, int(part)
    return TASKS.get(step, step), None
