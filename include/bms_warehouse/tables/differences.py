"""Tables of differences between dropped contacts and the CRM. Personal data."""

from sqlalchemy import ForeignKey, PrimaryKeyConstraint, Table
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.drops import dropped_file
from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP, column, optional

contact_agreement = Table(
    "contact_agreement",
    METADATA,
    column("id_contact", BIGINT, "Identifier of the contact in the service."),
    column("field", TEXT, "Field, named as in the dropped file."),
    column("value", JSONB, "Value on both sides. Personal data."),
    column("agreed_at", TIMESTAMP, "Latest time at which both sides were equal."),
    optional(
        "drop_id", BIGINT, "Drop with that value; null if unknown.", ForeignKey(dropped_file.c.id)
    ),
    PrimaryKeyConstraint("id_contact", "field"),
    comment="Latest value per field that drop and CRM had in common: the base of a difference.",
)

contact_difference = Table(
    "contact_difference",
    METADATA,
    column("id_contact", BIGINT, "Identifier of the contact in the service."),
    column("field", TEXT, "Field, named as in the dropped file."),
    optional("base", JSONB, "Latest common value; null if there is none."),
    column("ours", JSONB, "Latest dropped value. Personal data."),
    optional("theirs", JSONB, "Value in the CRM. Personal data."),
    column("drop_id", BIGINT, "Drop that showed the difference.", ForeignKey(dropped_file.c.id)),
    column("since", TIMESTAMP, "Start of the difference in its current form."),
    optional("resolved_at", TIMESTAMP, "End of the difference; null while it exists."),
    PrimaryKeyConstraint("id_contact", "field"),
    comment="Differences between dropped contacts and the CRM; each is reported once until it changes.",
)
