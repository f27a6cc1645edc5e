"""Client invoice tables: invoices, versions, days read, and leases of days."""

from typing import Any

from sqlalchemy import Boolean, Column, Date, Index, Integer, Table, text
from sqlalchemy.dialects.postgresql import ARRAY, DATERANGE, ExcludeConstraint

from bms.records import ClientInvoice, described
from bms_warehouse import resources
from bms_warehouse.tables.history import with_history
from bms_warehouse.tables.schema import (
    BIGINT,
    METADATA,
    TEXT,
    TIMESTAMP,
    TYPES,
    audit_columns,
    column,
    field,
    optional,
)


def _fields() -> list[Column[Any]]:
    entity = "Entity whose list returned the invoice (query parameter)."
    columns = map(resources.column, described(ClientInvoice).values())
    return [
        field("id_entity", BIGINT, entity, key=True),
        *(
            field(name, TYPES[kind], meaning, key=name == ClientInvoice.KEY)
            for name, kind, meaning in columns
        ),
    ]


CLIENT_INVOICE_FIELDS = tuple(column.name for column in _fields())
"""Fields in the order of the interface, after the entity."""


def _added() -> list[Column[Any]]:
    return [
        *audit_columns(copied=True),
        optional(
            "_day",
            Date(),
            "Day under which the service lists the invoice: its BMS_INVOICE_RANGE_DATE.",
        ),
        optional(
            "_missing_since",
            TIMESTAMP,
            "First read of the day that did not return the invoice; rows are never deleted.",
        ),
    ]


client_invoice = Table(
    "client_invoice",
    METADATA,
    *_fields(),
    *_added(),
    Index("ix_client_invoice_id_entity_day", "id_entity", "_day"),
    comment="Latest state of every client invoice that a read returned.",
)

client_invoice_version = with_history(
    client_invoice,
    # The table is append-only, so a small BRIN index finds the rows that a run superseded.
    Index("ix_client_invoice_superseded_at", "_superseded_at", postgresql_using="brin"),
)

client_invoice_day = Table(
    "client_invoice_day",
    METADATA,
    column("id_entity", BIGINT, "Entity.", primary_key=True, autoincrement=False),
    column("day", Date(), "A day of invoices.", primary_key=True),
    column("invoices", Integer, "Invoices in the latest read."),
    column(
        "open_invoices",
        Integer,
        "Invoices of these that are not canceled and either unpaid or not sent.",
    ),
    column("read_at", TIMESTAMP, "Latest complete read of the day."),
    optional("changed_at", TIMESTAMP, "Latest read that changed a row; null until then."),
    comment="Watermark of the extraction: the days read completely.",
)

client_invoice_finding = Table(
    "client_invoice_finding",
    METADATA,
    Column("id_entity", BIGINT, primary_key=True, autoincrement=False, comment="Entity."),
    Column("day", Date(), primary_key=True, comment="A day of invoices."),
    Column(
        "codes",
        ARRAY(TEXT),
        nullable=False,
        comment="Findings of the latest attempt; empty if a later read found nothing.",
    ),
    Column(
        "held", Boolean, nullable=False, comment="Whether the latest attempt is held for review."
    ),
    Column("attempted_at", TIMESTAMP, nullable=False, comment="Latest attempt to read the day."),
    Column("found_at", TIMESTAMP, nullable=False, comment="Latest new finding."),
    Column("step_run_id", BIGINT, nullable=False, comment="Step run of the latest attempt."),
    comment="Days with findings, which are read again after 1, 2, 4, … days.",
)

client_invoice_missing_number = Table(
    "client_invoice_missing_number",
    METADATA,
    column("id_entity", BIGINT, "Entity.", primary_key=True, autoincrement=False),
    column("reference_number", TEXT, "Number that no invoice has.", primary_key=True),
    column("series", TEXT, "Pattern of the numbers."),
    column("day", Date(), "Day of the invoice after the missing number."),
    column("found_at", TIMESTAMP, "Load that found the hole first."),
    column("step_run_id", BIGINT, "Step run of that load."),
    optional("accepted_by", TEXT, "Operator who accepted the hole."),
    optional("accepted_reason", TEXT, "Why there is no such invoice."),
    comment="Holes in the series of invoice numbers; a row disappears when its number arrives.",
)

client_invoice_lease = Table(
    "client_invoice_lease",
    METADATA,
    column("id_entity", BIGINT, "Entity of the lease."),
    column("days", DATERANGE, "Days of the lease."),
    column("step_run_id", BIGINT, "Step run that holds the lease."),
    column("task", TEXT, "Task of that step run; its next attempt takes the lease over."),
    column("expires_at", TIMESTAMP, "End of the lease; another task may then take over."),
    # Plain GiST supports ranges, not numbers, so a range of one number represents the entity.
    ExcludeConstraint(
        (text("int8range(id_entity, id_entity, '[]')"), "&&"),
        (Column("days"), "&&"),
        name="ex_client_invoice_lease_days",
        using="gist",
    ),
    comment="Leases of an entity's days; no two leases share a day.",
)
