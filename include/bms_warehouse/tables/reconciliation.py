"""State of each audited day or list, with the reasons for any difference."""

from sqlalchemy import CheckConstraint, Column, Date, Index, Integer, Table
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP

RECONCILIATION_STATES = ("reconciled", "pending", "not_reconciled", "not_checked")

reconciliation = Table(
    "reconciliation",
    METADATA,
    Column("resource", TEXT, primary_key=True, comment="Table whose rows were compared."),
    Column(
        "id_entity",
        BIGINT,
        primary_key=True,
        autoincrement=False,
        comment="The entity; 0 where the resource has none.",
    ),
    Column(
        "day",
        Date,
        primary_key=True,
        comment="The day of the invoices; of a list, the day of the audit.",
    ),
    Column(
        "part",
        Integer,
        primary_key=True,
        autoincrement=False,
        comment="Part of a long list, from 1; 1 for a day of invoices.",
    ),
    Column(
        "parts", Integer, nullable=False, comment="Parts that the list had at its latest audit."
    ),
    Column(
        "state",
        TEXT,
        nullable=False,
        comment="reconciled; pending: differs from the warehouse until a load or audit decides; "
        "not_reconciled; not_checked.",
    ),
    Column("reasons", ARRAY(TEXT), nullable=False, comment="Codes of what was found; else empty."),
    Column("found", JSONB, nullable=False, comment="Rows of contradictions, by code."),
    Column(
        "pending",
        JSONB,
        nullable=False,
        comment="Rows that differ from the warehouse before a load or audit decides, by code.",
    ),
    Column("rows_compared", Integer, nullable=False, comment="Rows that were held against others."),
    Column(
        "changed_meanwhile",
        Integer,
        nullable=False,
        comment="Rows that changed while they were read.",
    ),
    Column(
        "rows",
        JSONB,
        nullable=False,
        comment="Keys of these rows, by code, with digest and version where the warehouse differs.",
    ),
    Column("checked_at", TIMESTAMP, nullable=False, comment="When it was last compared."),
    Column("tried_at", TIMESTAMP, comment="When an audit last began to compare it."),
    Column(
        "step_run_id", BIGINT, nullable=False, comment="The step in bms.step_run that audited it."
    ),
    CheckConstraint(
        "state in ({})".format(", ".join(f"'{state}'" for state in RECONCILIATION_STATES)),
        name="state",
    ),
    CheckConstraint("(state = 'reconciled') = (cardinality(reasons) = 0)", name="reasons"),
    Index("ix_reconciliation_state_day", "state", "day"),
    comment="Result of the self-audit for each day or list: its state, and the reasons.",
)
