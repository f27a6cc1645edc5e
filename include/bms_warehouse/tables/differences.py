"""Tables of differences between dropped contacts and the CRM. Personal data."""

from sqlalchemy import Column, ForeignKey, PrimaryKeyConstraint, Table
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.drops import dropped_file
from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP

contact_agreement = Table(
    "contact_agreement",
    METADATA,
    Column(
        "id_contact", BIGINT, nullable=False, comment="Identifier of the contact in the service."
    ),
    Column("field", TEXT, nullable=False, comment="Field, named as in the dropped file."),
    Column("value", JSONB, nullable=False, comment="Value on both sides. Personal data."),
    Column(
        "agreed_at",
        TIMESTAMP,
        nullable=False,
        comment="Latest time at which both sides were equal.",
    ),
    Column(
        "drop_id",
        BIGINT,
        ForeignKey(dropped_file.c.id),
        comment="Drop with that value; null if unknown.",
    ),
    PrimaryKeyConstraint("id_contact", "field"),
    comment="Latest value per field that drop and CRM had in common: the base of a difference.",
)

contact_difference = Table(
    "contact_difference",
    METADATA,
    Column(
        "id_contact", BIGINT, nullable=False, comment="Identifier of the contact in the service."
    ),
    Column("field", TEXT, nullable=False, comment="Field, named as in the dropped file."),
    Column("base", JSONB, comment="Latest common value; null if there is none."),
    Column("ours", JSONB, nullable=False, comment="Latest dropped value. Personal data."),
    Column("theirs", JSONB, comment="Value in the CRM. Personal data."),
    Column(
        "drop_id",
        BIGINT,
        ForeignKey(dropped_file.c.id),
        nullable=False,
        comment="Drop that showed the difference.",
    ),
    Column(
        "since", TIMESTAMP, nullable=False, comment="Start of the difference in its current form."
    ),
    Column("resolved_at", TIMESTAMP, comment="End of the difference; null while it exists."),
    PrimaryKeyConstraint("id_contact", "field"),
    comment="Differences between dropped contacts and the CRM; each is reported once until it changes.",
)
