"""Contact tables: list item and detail of the service in one row, and its versions."""

from typing import Any

from sqlalchemy import Boolean, Column, Table
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.mirror import mirror_columns, removal_checks, versions_of
from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP, field

_DETAIL = "Read with the detail."


def _fields() -> list[Column[Any]]:
    return [
        field("id", BIGINT, "Identifier of the contact in the service.", key=True),
        field("first_name", TEXT, "First name."),
        field("last_name", TEXT, "Last name."),
        field("business_title", TEXT, "Job title at the client."),
        field("email", TEXT, "E-mail address."),
        field("phone_mobile_number", TEXT, "Mobile phone."),
        field("phone_number", TEXT, f"Phone. {_DETAIL}"),
        field("fax_number", TEXT, f"Fax. {_DETAIL}"),
        field("address", TEXT, f"Street. {_DETAIL}"),
        field("postal_code", TEXT, "Postal code."),
        field("city", TEXT, "City."),
        field("country", TEXT, "Country."),
        field("exclude_from_emailing", Boolean(), "Whether mass mailings exclude the contact."),
        field("send_greetings_card", Boolean(), "Whether the contact receives a greetings card."),
        field("greetings_card_details", TEXT, f"Text of the card. {_DETAIL}"),
        field("is_lead", Boolean(), "Whether the contact is a lead."),
        field("origin", TEXT, "Origin of the contact; values unspecified by the service."),
        field("signal", TEXT, "Signal code; values unspecified by the service."),
        field("domains", JSONB(), f"Numbers of domains (contact_domains on creation). {_DETAIL}"),
        field("notes", TEXT, f"Notes. {_DETAIL}"),
        field(
            "imported_company_name",
            TEXT,
            "Company name from an import, for a contact without client.",
        ),
        field("id_client", BIGINT, "Client of the contact."),
        field("id_account_manager", BIGINT, "Account manager of the contact."),
        field("active", Boolean(), "Whether the contact is active (actif in the list)."),
        Column(
            "deleted",
            Boolean,
            nullable=False,
            comment="Whether the contact is removed; _removal_reason gives the reason.",
        ),
        field("created_on", TIMESTAMP, "Time of creation in the service."),
        field("created_by", BIGINT, "User who created the record."),
        field("modified_on", TIMESTAMP, "Time of the latest modification."),
        field("modified_by", BIGINT, "User of the latest modification."),
        field("deleted_on", TIMESTAMP, "Time of deletion in the service."),
        field("deleted_by", BIGINT, "User who deleted the record."),
    ]


contact = Table(
    "contact",
    METADATA,
    *_fields(),
    *mirror_columns(),
    Column(
        "_assigned",
        Boolean,
        nullable=True,
        comment="Whether the list with filter=ASSIGNED contains the contact; null until a run reads "
        "that list.",
    ),
    *removal_checks(),
    comment="Latest state of every contact that a read returned; rows are never deleted.",
)

contact_version = versions_of(contact, METADATA, "History of contact rows, from _version 1.")
