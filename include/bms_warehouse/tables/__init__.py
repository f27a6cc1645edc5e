"""Tables of the warehouse, declared with SQLAlchemy."""

from bms_warehouse.tables.creation import (
    creation,
    creation_body,
    creation_event,
    creation_match,
    creation_plan,
    creation_snapshot,
)
from bms_warehouse.tables.drops import contact_agreement, contact_difference, dropped_file
from bms_warehouse.tables.history import VIEWS, superseded
from bms_warehouse.tables.invoices import (
    CLIENT_INVOICE_FIELDS,
    client_invoice,
    client_invoice_day,
    client_invoice_digest,
    client_invoice_finding,
    client_invoice_lease,
    client_invoice_missing_number,
    client_invoice_version,
    code_name,
)
from bms_warehouse.tables.mirror import MIRROR_TABLES, list_digest
from bms_warehouse.tables.monitoring import alarm, contract, reconciliation, service_identity
from bms_warehouse.tables.schema import METADATA, PRIVATE_METADATA
from bms_warehouse.tables.step_runs import control_total, load_profile, quarantine, step_run

contact = MIRROR_TABLES["contact"].current
consultant = MIRROR_TABLES["consultant"].current
employee = MIRROR_TABLES["employee"].current

__all__ = [
    "CLIENT_INVOICE_FIELDS",
    "METADATA",
    "MIRROR_TABLES",
    "PRIVATE_METADATA",
    "VIEWS",
    "alarm",
    "client_invoice",
    "client_invoice_day",
    "client_invoice_digest",
    "client_invoice_finding",
    "client_invoice_lease",
    "client_invoice_missing_number",
    "client_invoice_version",
    "code_name",
    "consultant",
    "contact",
    "contact_agreement",
    "contact_difference",
    "contract",
    "control_total",
    "creation",
    "creation_body",
    "creation_event",
    "creation_match",
    "creation_plan",
    "creation_snapshot",
    "dropped_file",
    "employee",
    "list_digest",
    "load_profile",
    "quarantine",
    "reconciliation",
    "service_identity",
    "step_run",
    "superseded",
]
