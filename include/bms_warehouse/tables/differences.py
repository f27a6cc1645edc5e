"""In what dropped contacts and the CRM disagree, and what they last agreed on. Personal data."""

from sqlalchemy import Column, ForeignKey, PrimaryKeyConstraint, Table
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.drops import dropped_file
from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP

contact_agreement = Table(
    "contact_agreement",
    METADATA,
    Column("id_contact", BIGINT, nullable=False, comment="The service's identifier."),
    Column("field", TEXT, nullable=False, comment="The field, as drops name it."),
    Column("value", JSONB, nullable=False, comment="What both sides had. Personal data."),
    Column("agreed_at", TIMESTAMP, nullable=False, comment="When they last had the same."),
    Column(
        "drop_id",
        BIGINT,
        ForeignKey(dropped_file.c.id),
        comment="Drop that had it; empty where that was not kept yet.",
    ),
    PrimaryKeyConstraint("id_contact", "field"),
    comment="What drops and CRM last agreed on, field by field: the base of a difference.",
)

contact_difference = Table(
    "contact_difference",
    METADATA,
    Column("id_contact", BIGINT, nullable=False, comment="The service's identifier."),
    Column("field", TEXT, nullable=False, comment="The field, as drops name it."),
    Column("base", JSONB, comment="What both last had; empty where they never agreed."),
    Column("ours", JSONB, nullable=False, comment="What was dropped last. Personal data."),
    Column("theirs", JSONB, comment="What the CRM has. Personal data."),
    Column(
        "drop_id",
        BIGINT,
        ForeignKey(dropped_file.c.id),
        nullable=False,
        comment="Drop that told it.",
    ),
    Column("since", TIMESTAMP, nullable=False, comment="From when on it is as it is."),
    Column(
        "resolved_at", TIMESTAMP, comment="When both had the same again; empty while it stands."
    ),
    PrimaryKeyConstraint("id_contact", "field"),
    comment="In what dropped contacts and the CRM disagree; each told once until it changes.",
)
