"""Consultants: the interface's "Consultant list item" and "detail" as one row, and its versions."""

from typing import Any

from sqlalchemy import Boolean, Column, Numeric, Table
from sqlalchemy.dialects.postgresql import JSONB

from bms_warehouse.tables.mirror import mirror_columns, removal_checks, versions_of
from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP, field

_DETAIL = "Read with the detail."


def _fields() -> list[Column[Any]]:
    return [
        field("id", BIGINT, "The service's identifier of the consultant.", key=True),
        field("first_name", TEXT, "First name."),
        field("last_name", TEXT, "Last name."),
        field("type", TEXT, "Code of the kind of consultant; values not shown."),
        field("affinity", BIGINT, "Affinity; range and meaning not shown."),
        field("rate", Numeric(), "Rate in currency; its unit of time is not shown."),
        field("currency", TEXT, "Currency of the rate."),
        # The interface calls it a string and shows no format: kept as it comes.
        field("availability_date", TEXT, "From when the consultant is free, as the service says."),
        field("birth_year", BIGINT, "Year of birth."),
        field("work_start_year", BIGINT, "Year in which working life began."),
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
        field("no_emails", Boolean(), "Whether the person wants no e-mails."),
        field("no_sms", Boolean(), "Whether the person wants no text messages."),
        field("id_client", BIGINT, "The client the consultant belongs to."),
        field("notes", TEXT, f"Notes. {_DETAIL}"),
        *(field(f"custom{n}", TEXT, f"Free field {n}. {_DETAIL}") for n in range(1, 6)),
        field("active", Boolean(), "Whether the consultant is active."),
        field("created_on", TIMESTAMP, "When the consultant was entered."),
        field("created_by", BIGINT, "Who entered it."),
        field("modified_on", TIMESTAMP, "When it was last modified."),
        field("modified_by", BIGINT, "Who modified it."),
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
    comment="Every consultant ever seen, in its latest state; none is ever removed from here.",
)

consultant_version = versions_of(
    consultant, METADATA, "Every state in which a consultant was seen, the first as _version 1."
)
