"""Client invoice tables: invoices, versions, days read, leases of days, and labels of codes."""

from typing import Any

from sqlalchemy import Column, Index, Table, text
from sqlalchemy.dialects.postgresql import ExcludeConstraint

from bms.records import ClientInvoice, described
from bms_warehouse import resources
from bms_warehouse.tables.history import with_history
from bms_warehouse.tables.schema import BIGINT, METADATA, TYPES, audit_columns, columns, field


def _fields() -> list[Column[Any]]:
    entity = "Entity whose list returned the invoice (query parameter)."
    fields = map(resources.column, described(ClientInvoice).values())
    return [
        field("id_entity", BIGINT, entity, key=True),
        *(
            field(name, TYPES[kind], meaning, key=name == ClientInvoice.KEY)
            for name, kind, meaning in fields
        ),
    ]


CLIENT_INVOICE_FIELDS = tuple(column.name for column in _fields())
"""Fields in the order of the interface, after the entity."""


client_invoice = Table(
    "client_invoice",
    METADATA,
    *_fields(),
    *audit_columns(copied=True),
    *columns("""
        _day date? -- Day under which the service lists the invoice: its BMS_INVOICE_RANGE_DATE, or
            the first day of the request that returned it without this date.
        _missing_since time? -- First read of the day that did not return the invoice; rows are never
            deleted.
    """),
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
    *columns("""
        id_entity bigint key -- Entity.
        day date key -- A day of invoices.
        invoices integer -- Invoices in the latest read.
        open_invoices integer -- Invoices of these that are not canceled and either unpaid or not
            sent.
        read_at time -- Latest complete read of the day.
        changed_at time? -- Latest read that changed a row; null until then.
    """),
    comment="Watermark of the extraction: the days read completely.",
)

client_invoice_digest = Table(
    "client_invoice_digest",
    METADATA,
    *columns("""
        id_entity bigint key -- Entity.
        day date key -- A day of invoices.
        digest bytes -- Digest of row_digests, facts, the settings and the code.
        facts json -- Row count, sums, empty values and code names of the rows.
        row_digests bytes -- Id of each row, and digest of the row as received.
    """),
    comment="Cache of the extraction: rows that are listed again are not decoded again. May be emptied.",
)

client_invoice_finding = Table(
    "client_invoice_finding",
    METADATA,
    *columns("""
        id_entity bigint key -- Entity.
        day date key -- A day of invoices.
        codes text[] -- Findings of the latest attempt; empty if a later read found nothing.
        held boolean -- Whether the latest attempt is held for review.
        attempted_at time -- Latest attempt to read the day.
        found_at time -- Latest new finding.
        step_run_id bigint -- Step run of the latest attempt.
    """),
    comment="Days with findings, which are read again after 1, 2, 4, … days.",
)

client_invoice_missing_number = Table(
    "client_invoice_missing_number",
    METADATA,
    *columns("""
        id_entity bigint key -- Entity.
        reference_number text key -- Number that no invoice has.
        series text -- Pattern of the numbers.
        day date -- Day of the invoice after the missing number.
        found_at time -- Load that found the hole first.
        step_run_id bigint -- Step run of that load.
        accepted_by text? -- Operator who accepted the hole.
        accepted_reason text? -- Why there is no such invoice.
    """),
    comment="Holes in the series of invoice numbers; a row disappears when its number arrives.",
)

client_invoice_lease = Table(
    "client_invoice_lease",
    METADATA,
    *columns("""
        id_entity bigint -- Entity of the lease.
        days daterange -- Days of the lease.
        step_run_id bigint -- Step run that holds the lease.
        task text -- Task of that step run; its next attempt takes the lease over.
        expires_at time -- End of the lease; another task may then take over.
    """),
    # Plain GiST supports ranges, not numbers, so a range of one number represents the entity.
    ExcludeConstraint(
        (text("int8range(id_entity, id_entity, '[]')"), "&&"),
        (Column("days"), "&&"),
        name="ex_client_invoice_lease_days",
        using="gist",
    ),
    comment="Leases of an entity's days; no two leases share a day.",
)

code_name = Table(
    "code_name",
    METADATA,
    *columns("""
        resource text key -- Table with the code.
        field text key -- Column with the code.
        code text key -- Code.
        language text key -- Requested language, EN or FR.
        name text -- Label of the code.
        seen_at time -- Latest read of this label.
    """),
    comment="Code labels by language.",
)
