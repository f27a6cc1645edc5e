"""The flows that the board shows, in the order in which it shows them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flow:
    """A flow as people name it, and its step in `bms.run` that brings it up to date."""

    title: str
    loads: str


FLOWS = {
    "invoice_extraction": Flow("Client invoices", "extract"),
    "contact_sync": Flow("Contacts", "sync"),
    "consultant_sync": Flow("Consultants", "sync"),
    "employee_directory": Flow("Employees", "sync"),
    "employee_onboarding": Flow("New employees", "conclude"),
    "retention": Flow("Retention", "sweep"),
}
"""By the id of the DAG."""
