"""Employees: what a directory may show, and apart from it, in a schema of its own, what it may not."""

from typing import Any

from sqlalchemy import Boolean, Column, Date, Index, MetaData, Numeric, Table

from bms_warehouse.tables.mirror import mirror_columns, removal_checks, versions_of
from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP, audit_columns, field

PRIVATE_SCHEMA = "bms_private"

PRIVATE_METADATA = MetaData(schema=PRIVATE_SCHEMA, naming_convention=METADATA.naming_convention)
"""Apart from the others: other rights, and no query of ours meets it by accident."""

_DETAIL = "Read with the detail."


def _key() -> Column[Any]:
    return field("guid_employee", TEXT, "The service's identifier of the employee.", key=True)


def _fields() -> list[Column[Any]]:
    return [
        _key(),
        field("id_employee", BIGINT, "The employee's number."),
        field("reference_number", BIGINT, "The employee's reference number."),
        field("id_entity", BIGINT, "Entity that employs: as the detail says, else as listed."),
        field("is_standby", Boolean(), "Whether the employee is on standby."),
        field("salutation_code", TEXT, "Code of the salutation; values not shown."),
        field("first_name", TEXT, "First name."),
        field("preferred_first_name", TEXT, f"First name in use. {_DETAIL}"),
        field("last_name", TEXT, "Last name."),
        field("preferred_last_name", TEXT, f"Last name in use. {_DETAIL}"),
        field("payroll_number", TEXT, "Number in the payroll."),
        field("business_landline_phone", TEXT, f"Landline at work. {_DETAIL}"),
        field("business_mobile_phone", TEXT, "Mobile phone at work."),
        field("business_email", TEXT, "E-mail address at work."),
        field("job_title", TEXT, "What the employee does."),
        field("department_code", TEXT, "Code of the department; values not shown."),
        field("department_service", TEXT, "Service within the department."),
        field("affiliated_company", TEXT, f"Affiliated company. {_DETAIL}"),
        field("id_manager", BIGINT, f"The manager's id_employee. {_DETAIL}"),
        field("category_code", TEXT, "Code of the category; values not shown."),
        field("contract_type_code", TEXT, f"Code of the contract. {_DETAIL}"),
        field("status_code", TEXT, f"Code of the status. {_DETAIL}"),
        field("status_position", TEXT, f"Position within the status. {_DETAIL}"),
        field("status_factor", TEXT, f"Factor of the status. {_DETAIL}"),
        field("is_salesperson", Boolean(), "Whether the employee sells."),
        field("is_consultant", Boolean(), "Whether the employee is a consultant."),
        field("start_date", Date(), "First day of work."),
        field("end_date_trial_first_period", Date(), f"End of the first trial period. {_DETAIL}"),
        field("end_date_trial_second_period", Date(), f"End of the second trial period. {_DETAIL}"),
        field("departure_date", Date(), "Last day of work. Leaving is no deletion."),
        field("departure_estimated_date", Date(), "Last day of work, estimated."),
        *(field(f"mission{n}", TEXT, f"Mission {n}. {_DETAIL}") for n in range(1, 7)),
        field("skills", TEXT, f"Skills. {_DETAIL}"),
        field("has_timesheets", Boolean(), f"Whether timesheets are kept. {_DETAIL}"),
        field("timesheets_frequency_code", BIGINT, f"Code of how often. {_DETAIL}"),
        field("has_portal_access", Boolean(), f"Whether the portal is open to them. {_DETAIL}"),
        field(
            "exclude_from_directory", Boolean(), f"Whether directories leave them out. {_DETAIL}"
        ),
        field("meal_vouchers_count", BIGINT, f"Meal vouchers. {_DETAIL}"),
        field("has_overtime", Boolean(), f"Whether overtime is paid. {_DETAIL}"),
        field("activity_rate", BIGINT, f"Share of full time, percent. {_DETAIL}"),
        field("use_vehicle", Boolean(), f"Whether they use a vehicle. {_DETAIL}"),
        field("vehicle_type_code", TEXT, f"Code of the vehicle. {_DETAIL}"),
        field("vehicle_tax_horsepower_code", TEXT, f"Code of its tax horsepower. {_DETAIL}"),
        field("vehicle_registration_number", TEXT, f"Its registration. {_DETAIL}"),
        field("vehicle_price_per_km", Numeric(), f"Price per kilometre. {_DETAIL}"),
        field("created_on", TIMESTAMP, "When the employee was entered."),
        field("created_by", BIGINT, "Who entered it."),
        field("modified_on", TIMESTAMP, "When it was last modified."),
        field("modified_by", BIGINT, "Who modified it."),
        field("validated_on", TIMESTAMP, "When it was validated."),
        field("validated_by", BIGINT, "Who validated it."),
        Column(
            "deleted",
            Boolean,
            nullable=False,
            comment="Whether the employee is missing; ours: a leaver has a departure_date.",
        ),
    ]


def _private_fields() -> list[Column[Any]]:
    return [
        _key(),
        field("birth_date", TEXT, "Date of birth, as the service writes it."),
        field("birth_city", TEXT, "City of birth."),
        field("birth_country", TEXT, "Country of birth."),
        field("nationality", TEXT, "Nationality."),
        field("social_security_number", TEXT, "Social security number."),
        field("resident_permit_number", TEXT, "Number of the resident permit."),
        field("resident_permit_expiration_date", TEXT, "End of the permit, as the service says."),
        field("address", TEXT, "Street of the home."),
        field("postal_code", TEXT, "Postal code of the home."),
        field("city", TEXT, "City of the home."),
        field("country", TEXT, "Country of the home."),
        field("personal_email", TEXT, "Private e-mail address."),
        field("personal_mobile_phone", TEXT, "Private mobile phone."),
        field("personal_landline_phone", TEXT, "Private landline."),
        field("emergency_contacts", TEXT, "Whom to call in an emergency."),
    ]


EMPLOYEE_PRIVATE_FIELDS = tuple(column.name for column in _private_fields()[1:])
"""Fields of the detail that are kept with `employee_details=full` only, and apart."""

employee = Table(
    "employee",
    METADATA,
    *_fields(),
    *mirror_columns(),
    Column(
        "_entity",
        BIGINT,
        nullable=False,
        comment="Entity whose list had it last (query parameter).",
    ),
    Column("_standby", Boolean, nullable=False, comment="Whether filter=STANDBY has it."),
    Column("_former", Boolean, nullable=False, comment="Whether filter=FORMER has it."),
    *removal_checks(),
    Index("ix_employee_entity", "_entity"),
    comment="Every employee ever seen, as a directory may show them; none is ever removed.",
)

employee_version = versions_of(
    employee, METADATA, "Every state in which an employee was seen, the first as _version 1."
)

employee_private = Table(
    "employee_private",
    PRIVATE_METADATA,
    *_private_fields(),
    *audit_columns(),
    comment="What of employees is not for a directory; filled with employee_details=full only.",
)

employee_private_version = versions_of(
    employee_private, PRIVATE_METADATA, "Every state in which these were seen."
)
