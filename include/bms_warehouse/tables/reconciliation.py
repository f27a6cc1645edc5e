"""State of each audited day or list, with the reasons for any difference."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Date, Index, Integer, Table
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
        comment="The day of the invoices; of other resources, the day of the audit.",
    ),
    Column(
        "state",
        TEXT,
        nullable=False,
        comment="reconciled; pending: differs from the warehouse until a load or audit decides; "
        "not_reconciled; not_checked.",
    ),
    Column("because", ARRAY(TEXT), nullable=False, comment="Codes of what was found; else empty."),
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
        "waiting",
        ARRAY(BigInteger),
        nullable=False,
        comment="Marks of rows that differ from the warehouse, compared again by the next audit.",
    ),
    Column("checked_at", TIMESTAMP, nullable=False, comment="When the day was last audited."),
    Column("run_id", BIGINT, nullable=False, comment="The step in bms.run that audited it."),
    CheckConstraint(
        "state in ({})".format(", ".join(f"'{state}'" for state in RECONCILIATION_STATES)),
        name="state",
    ),
    CheckConstraint("(state = 'reconciled') = (cardinality(because) = 0)", name="because"),
    Index("ix_reconciliation_state_day", "state", "day"),
    comment="Result of the self-audit for each day or list: its state, and the reasons.",
)
