"""Client invoices: the interface's "Client invoice list item", its versions and its days."""

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Date,
    Index,
    Integer,
    Numeric,
    PrimaryKeyConstraint,
    Table,
    text,
)
from sqlalchemy.dialects.postgresql import DATERANGE, ExcludeConstraint

from bms_warehouse.tables.schema import (
    BIGINT,
    METADATA,
    TEXT,
    TIMESTAMP,
    audit_columns,
    field,
    observed_at,
)

MONEY = Numeric()


def _fields() -> list[Column[Any]]:
    return [
        field(
            "id_entity", BIGINT, "Entity the invoice was listed for (query parameter).", key=True
        ),
        field("id_invoice", BIGINT, "The service's identifier of the invoice.", key=True),
        field("reference_number", TEXT, "Number printed on the invoice."),
        field("invoice_date", Date(), "Date of the invoice."),
        field("due_date", Date(), "Date by which it is to be paid."),
        field("invoice_type", TEXT, "Code of the kind of invoice; values not shown."),
        field("invoice_type_name", TEXT, "Name of the code, see bms.code_name for each language."),
        field("id_client", BIGINT, "The client billed."),
        field("client_name", TEXT, "The client's name as the service gives it."),
        field("po_number", TEXT, "The client's purchase order."),
        field("vat_number", TEXT, "The client's VAT number."),
        field("invoice_subject", TEXT, "What is billed."),
        field("total_excl_vat", MONEY, "Amount without VAT, in currency."),
        field("total_vat", MONEY, "VAT, in currency."),
        field("total_incl_vat", MONEY, "Amount with VAT, in currency."),
        field("total_due", MONEY, "Amount still to be paid, in currency."),
        field("currency", TEXT, "Currency of the four amounts."),
        field("payment_mode", TEXT, "Code of the way of payment; values not shown."),
        field("payment_mode_name", TEXT, "Name of the code, see bms.code_name for each language."),
        field("status", TEXT, "Code of the state; values not shown."),
        field("status_name", TEXT, "Name of the code, see bms.code_name for each language."),
        field("id_account_manager", BIGINT, "Who looks after the client."),
        field("created_on", TIMESTAMP, "When the invoice was entered."),
        field("created_by", BIGINT, "Who entered it."),
        field("canceled", Boolean(), "Whether it was canceled."),
        field("canceled_on", TIMESTAMP, "When it was canceled."),
        field("canceled_by", BIGINT, "Who canceled it."),
        field("id_credit", BIGINT, "The credit note that undoes it."),
        field("sent", Boolean(), "Whether it was sent to the client."),
        field("sent_on", TIMESTAMP, "When it was sent."),
        field("sent_by", BIGINT, "Who sent it."),
    ]


CLIENT_INVOICE_FIELDS = tuple(column.name for column in _fields())
"""The interface's fields in their order, led by the entity asked for."""


def _added() -> list[Column[Any]]:
    return [
        *audit_columns(),
        Column(
            "_day",
            Date(),
            nullable=True,
            comment="The day the service lists it under: BMS_INVOICE_RANGE_DATE of the invoice.",
        ),
        Column(
            "_missing_since",
            TIMESTAMP,
            nullable=True,
            comment="When a read of the invoice's day first lacked it; the row is never deleted.",
        ),
    ]


client_invoice = Table(
    "client_invoice",
    METADATA,
    *_fields(),
    *_added(),
    Index("ix_client_invoice_id_entity_day", "id_entity", "_day"),
    comment="Every client invoice ever seen, in its latest state.",
)

client_invoice_version = Table(
    "client_invoice_version",
    METADATA,
    *[
        Column(c.name, c.type, nullable=c.nullable, comment=c.comment)
        for c in client_invoice.columns
    ],
    observed_at(),
    PrimaryKeyConstraint("id_entity", "id_invoice", "_version"),
    # Rows are only ever added, so a few pages of index tell where a run's are.
    Index("ix_client_invoice_version_observed_at", "_observed_at", postgresql_using="brin"),
    comment="Every state in which a client invoice was seen, the first as _version 1.",
)

client_invoice_day = Table(
    "client_invoice_day",
    METADATA,
    Column("id_entity", BIGINT, primary_key=True, autoincrement=False, comment="The entity."),
    Column("day", Date(), primary_key=True, comment="A day of invoices."),
    Column("invoices", Integer, nullable=False, comment="Invoices the last read returned."),
    Column(
        "open_invoices",
        Integer,
        nullable=False,
        comment="Of these, not canceled and either unpaid or not sent.",
    ),
    Column("read_at", TIMESTAMP, nullable=False, comment="Last complete read of the day."),
    Column("changed_at", TIMESTAMP, comment="Last read that changed something; empty until then."),
    comment="The watermark of the extraction: which days were read completely, and when.",
)

client_invoice_lease = Table(
    "client_invoice_lease",
    METADATA,
    Column("id_entity", BIGINT, nullable=False, comment="The entity being worked on."),
    Column("days", DATERANGE, nullable=False, comment="The days being worked on."),
    Column(
        "step_run_id", BIGINT, nullable=False, comment="The step in bms.step_run that holds them."
    ),
    Column("task", TEXT, nullable=False, comment="The task of that step; its next try takes over."),
    Column("expires_at", TIMESTAMP, nullable=False, comment="When anybody may take them over."),
    # A range of one number stands for the number: plain GiST knows ranges, not numbers.
    ExcludeConstraint(
        (text("int8range(id_entity, id_entity, '[]')"), "&&"),
        (Column("days"), "&&"),
        name="ex_client_invoice_lease_days",
        using="gist",
    ),
    comment="Days of an entity that a run is working on; no two hold the same day.",
)
