"""Consultant tables: list item and detail of the service in one row, and its versions."""

from typing import Any

from sqlalchemy import Boolean, Column, Numeric, Table
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.mirror import mirror_columns, removal_checks, versions_of
from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP, field

_DETAIL = "Read with the detail."


def _fields() -> list[Column[Any]]:
    return [
        field("id", BIGINT, "Identifier of the consultant in the service.", key=True),
        field("first_name", TEXT, "First name."),
        field("last_name", TEXT, "Last name."),
        field("type", TEXT, "Type code; values unspecified by the service."),
        field("affinity", BIGINT, "Affinity; range and meaning unspecified by the service."),
        field("rate", Numeric(), "Rate in currency; time unit unspecified by the service."),
        field("currency", TEXT, "Currency of the rate."),
        # The interface specifies a string without a format, so the text is stored verbatim.
        field("availability_date", TEXT, "First day of availability, verbatim."),
        field("birth_year", BIGINT, "Year of birth."),
        field("work_start_year", BIGINT, "First year of work."),
        field("professional_profile", TEXT, f"Profile. {_DETAIL}"),
        field("skills", JSONB(), "Skills: array of id, level, favorite."),
        field("languages", JSONB(), "Languages: array of code, level."),
        field("address", TEXT, f"Street. {_DETAIL}"),
        field("postal_code", TEXT, "Postal code."),
        field("city", TEXT, "City."),
        field("country", TEXT, "Country."),
        field("phone_number", TEXT, "Phone."),
        field("phone_mobile_number", TEXT, "Mobile phone."),
        field("email", TEXT, "E-mail address."),
        field("no_emails", Boolean(), "Whether the consultant opted out of e-mails."),
        field("no_sms", Boolean(), "Whether the consultant opted out of text messages."),
        field("id_client", BIGINT, "Client of the consultant."),
        field("notes", TEXT, f"Notes. {_DETAIL}"),
        *(field(f"custom{n}", TEXT, f"Free field {n}. {_DETAIL}") for n in range(1, 6)),
        field("active", Boolean(), "Whether the consultant is active."),
        field("created_on", TIMESTAMP, "Time of creation in the service."),
        field("created_by", BIGINT, "User who created the record."),
        field("modified_on", TIMESTAMP, "Time of the latest modification."),
        field("modified_by", BIGINT, "User of the latest modification."),
        Column(
            "deleted",
            Boolean,
            nullable=False,
            comment="Whether the consultant is missing; ours, the interface has no such flag.",
        ),
    ]


consultant = Table(
    "consultant",
    METADATA,
    *_fields(),
    *mirror_columns(),
    *removal_checks(),
    comment="Latest state of every consultant that a read returned; rows are never deleted.",
)

consultant_version = versions_of(
    consultant, METADATA, "History of consultant rows, from _version 1."
)
