"""The self-audit's word on each day: reconciled, or not, because."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Date, Index, Integer, Table
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP

RECONCILIATION_STATES = ("reconciled", "not_reconciled", "not_checked")

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
    Column("state", TEXT, nullable=False, comment="reconciled, not_reconciled or not_checked."),
    Column("because", ARRAY(TEXT), nullable=False, comment="Codes of what was found; else empty."),
    Column("found", JSONB, nullable=False, comment="Differing rows, by code."),
    Column("rows_compared", Integer, nullable=False, comment="Rows that were held against others."),
    Column(
        "changed_meanwhile",
        Integer,
        nullable=False,
        comment="Rows that differed and are no bug: they changed while they were read, or since.",
    ),
    Column(
        "waiting",
        ARRAY(BigInteger),
        nullable=False,
        comment="Invoices that differ from the warehouse until its next read of the day.",
    ),
    Column("checked_at", TIMESTAMP, nullable=False, comment="When the day was last audited."),
    Column("run_id", BIGINT, nullable=False, comment="The step in bms.run that audited it."),
    CheckConstraint(
        "state in ({})".format(", ".join(f"'{state}'" for state in RECONCILIATION_STATES)),
        name="state",
    ),
    CheckConstraint("(state = 'reconciled') = (cardinality(because) = 0)", name="because"),
    Index("ix_reconciliation_state_day", "state", "day"),
    comment="What the self-audit found: for each day, reconciled, or not, because.",
)
