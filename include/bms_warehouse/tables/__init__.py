"""The tables of schema `bms`: one module for each noun, one metadata for all."""

from bms_warehouse.tables.creation import creation, creation_body, creation_event, creation_plan
from bms_warehouse.tables.drops import drop
from bms_warehouse.tables.invoices import (
    CLIENT_INVOICE_FIELDS,
    client_invoice,
    client_invoice_day,
    client_invoice_lease,
    client_invoice_version,
)
from bms_warehouse.tables.names import code_name
from bms_warehouse.tables.runs import control_total, quarantine, run
from bms_warehouse.tables.schema import METADATA

__all__ = [
    "CLIENT_INVOICE_FIELDS",
    "METADATA",
    "client_invoice",
    "client_invoice_day",
    "client_invoice_lease",
    "client_invoice_version",
    "code_name",
    "control_total",
    "creation",
    "creation_body",
    "creation_event",
    "creation_plan",
    "drop",
    "quarantine",
    "run",
]
