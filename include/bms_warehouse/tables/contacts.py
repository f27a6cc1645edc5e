"""Contacts: the interface's "Contact list item" and "Contact detail" as one row, and its versions."""

from typing import Any

from sqlalchemy import Boolean, Column, Table
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.mirror import mirror_columns, removal_checks, versions_of
from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP, field

_DETAIL = "Read with the detail."


def _fields() -> list[Column[Any]]:
    return [
        field("id", BIGINT, "The service's identifier of the contact.", key=True),
        field("first_name", TEXT, "First name."),
        field("last_name", TEXT, "Last name."),
        field("business_title", TEXT, "What the person does at the client's."),
        field("email", TEXT, "E-mail address."),
        field("phone_mobile_number", TEXT, "Mobile phone."),
        field("phone_number", TEXT, f"Phone. {_DETAIL}"),
        field("fax_number", TEXT, f"Fax. {_DETAIL}"),
        field("address", TEXT, f"Street. {_DETAIL}"),
        field("postal_code", TEXT, "Postal code."),
        field("city", TEXT, "City."),
        field("country", TEXT, "Country."),
        field("exclude_from_emailing", Boolean(), "Whether mass mailings leave the person out."),
        field("send_greetings_card", Boolean(), "Whether the person gets a greetings card."),
        field("greetings_card_details", TEXT, f"What goes on the card. {_DETAIL}"),
        field("is_lead", Boolean(), "Whether the contact is a lead."),
        field("origin", TEXT, "Where the contact comes from; values not shown."),
        field("signal", TEXT, "Code of a signal; values not shown."),
        field("domains", JSONB(), f"Numbers of domains (contact_domains on creation). {_DETAIL}"),
        field("notes", TEXT, f"Notes. {_DETAIL}"),
        field("imported_company_name", TEXT, "Company as imported, where there is no client."),
        field("id_client", BIGINT, "The client the person belongs to."),
        field("id_account_manager", BIGINT, "Who looks after the contact."),
        field("active", Boolean(), "Whether the contact is active (actif in the list)."),
        Column(
            "deleted",
            Boolean,
            nullable=False,
            comment="Whether the service flags it as deleted or it is missing: _removal_reason.",
        ),
        field("created_on", TIMESTAMP, "When the contact was entered."),
        field("created_by", BIGINT, "Who entered it."),
        field("modified_on", TIMESTAMP, "When it was last modified."),
        field("modified_by", BIGINT, "Who modified it."),
        field("deleted_on", TIMESTAMP, "When it was deleted, by the service's word."),
        field("deleted_by", BIGINT, "Who deleted it."),
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
        comment="Whether the list with filter=ASSIGNED has it, whose meaning is not shown; empty "
        "where no run has read that list since the row came.",
    ),
    *removal_checks(),
    comment="Every contact ever seen, in its latest state; none is ever removed from here.",
)

contact_version = versions_of(
    contact, METADATA, "Every state in which a contact was seen, the first as _version 1."
)
