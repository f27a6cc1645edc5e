"""Table of audit results for each day or list."""

from sqlalchemy import CheckConstraint, Column, Date, Index, Integer, Table
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP

RECONCILIATION_STATES = ("reconciled", "pending", "not_reconciled", "not_checked")

reconciliation = Table(
    "reconciliation",
    METADATA,
    Column("resource", TEXT, primary_key=True, comment="Table of the compared rows."),
    Column(
        "id_entity",
        BIGINT,
        primary_key=True,
        autoincrement=False,
        comment="Entity; 0 if the resource has none.",
    ),
    Column(
        "day",
        Date,
        primary_key=True,
        comment="Day of the invoices; for a list, day of the audit.",
    ),
    Column(
        "part",
        Integer,
        primary_key=True,
        autoincrement=False,
        comment="Part of a long list, from 1; 1 for a day of invoices.",
    ),
    Column(
        "parts", Integer, nullable=False, comment="Number of parts at the latest audit of the list."
    ),
    Column(
        "state",
        TEXT,
        nullable=False,
        comment="reconciled; pending: differs from the warehouse until a load or audit decides; "
        "not_reconciled; not_checked.",
    ),
    Column(
        "reasons",
        ARRAY(TEXT),
        nullable=False,
        comment="Codes of the findings; empty if reconciled.",
    ),
    Column("found", JSONB, nullable=False, comment="Number of contradictory rows, by code."),
    Column(
        "pending",
        JSONB,
        nullable=False,
        comment="Number of rows that differ from the warehouse until a load or audit decides, by code.",
    ),
    Column("rows_compared", Integer, nullable=False, comment="Number of rows compared."),
    Column(
        "changed_meanwhile",
        Integer,
        nullable=False,
        comment="Number of rows that changed during the read.",
    ),
    Column(
        "rows",
        JSONB,
        nullable=False,
        comment="Keys of these rows, by code; with digest and version if the warehouse differs.",
    ),
    Column("checked_at", TIMESTAMP, nullable=False, comment="Time of the latest comparison."),
    Column("tried_at", TIMESTAMP, comment="Start of the latest attempt."),
    Column("step_run_id", BIGINT, nullable=False, comment="Step run of the audit."),
    CheckConstraint(
        "state in ({})".format(", ".join(f"'{state}'" for state in RECONCILIATION_STATES)),
        name="state",
    ),
    CheckConstraint("(state = 'reconciled') = (cardinality(reasons) = 0)", name="reasons"),
    Index("ix_reconciliation_state_day", "state", "day"),
    comment="Result of the self-audit for each day or list.",
)
