"""Table of audit results for each day or list."""

from sqlalchemy import CheckConstraint, Date, Index, Integer, Table
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP, column, optional

RECONCILIATION_STATES = ("reconciled", "pending", "not_reconciled", "not_checked")

reconciliation = Table(
    "reconciliation",
    METADATA,
    column("resource", TEXT, "Table of the compared rows.", primary_key=True),
    column(
        "id_entity",
        BIGINT,
        "Entity; 0 if the resource has none.",
        primary_key=True,
        autoincrement=False,
    ),
    column("day", Date, "Day of the invoices; for a list, day of the audit.", primary_key=True),
    column(
        "part",
        Integer,
        "Part of a long list, from 1; 1 for a day of invoices.",
        primary_key=True,
        autoincrement=False,
    ),
    column("parts", Integer, "Number of parts at the latest audit of the list."),
    column(
        "state",
        TEXT,
        "reconciled; pending: differs from the warehouse until a load or audit decides; "
        "not_reconciled; not_checked.",
    ),
    column("reasons", ARRAY(TEXT), "Codes of the findings; empty if reconciled."),
    column("found", JSONB, "Number of contradictory rows, by code."),
    column(
        "pending",
        JSONB,
        "Number of rows that differ from the warehouse until a load or audit decides, by code.",
    ),
    column("rows_compared", Integer, "Number of rows compared."),
    column("changed_meanwhile", Integer, "Number of rows that changed during the read."),
    column(
        "rows",
        JSONB,
        "Keys of these rows, by code; with digest and version if the warehouse differs.",
    ),
    column("checked_at", TIMESTAMP, "Time of the latest comparison."),
    optional("tried_at", TIMESTAMP, "Start of the latest attempt."),
    column("step_run_id", BIGINT, "Step run of the audit."),
    CheckConstraint(
        "state in ({})".format(", ".join(f"'{state}'" for state in RECONCILIATION_STATES)),
        name="state",
    ),
    CheckConstraint("(state = 'reconciled') = (cardinality(reasons) = 0)", name="reasons"),
    Index("ix_reconciliation_state_day", "state", "day"),
    comment="Result of the self-audit for each day or list.",
)
