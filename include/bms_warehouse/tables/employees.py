"""Employee tables: directory data, and restricted personal data in a separate schema."""

from typing import Any

from sqlalchemy import Boolean, Column, Date, Index, MetaData, Numeric, Table

from bms_warehouse.tables.mirror import mirror_columns, removal_checks, versions_of
from bms_warehouse.tables.schema import BIGINT, METADATA, TEXT, TIMESTAMP, audit_columns, field

PRIVATE_SCHEMA = "bms_private"

PRIVATE_METADATA = MetaData(schema=PRIVATE_SCHEMA, naming_convention=METADATA.naming_convention)
"""Separate metadata: the restricted schema has other grants and no shared queries."""

_DETAIL = "Read with the detail."


def _key() -> Column[Any]:
    return field("guid_employee", TEXT, "Identifier of the employee in the service.", key=True)


def _fields() -> list[Column[Any]]:
    return [
        _key(),
        field("id_employee", BIGINT, "Number of the employee."),
        field("reference_number", BIGINT, "Reference number of the employee."),
        field("id_entity", BIGINT, "Employing entity, from the detail or else the list."),
        field("is_standby", Boolean(), "Whether the employee is on standby."),
        field(
            "salutation_code", TEXT, "Code of the salutation; values unspecified by the service."
        ),
        field("first_name", TEXT, "First name."),
        field("preferred_first_name", TEXT, f"First name in use. {_DETAIL}"),
        field("last_name", TEXT, "Last name."),
        field("preferred_last_name", TEXT, f"Last name in use. {_DETAIL}"),
        field("payroll_number", TEXT, "Number in the payroll."),
        field("business_landline_phone", TEXT, f"Landline at work. {_DETAIL}"),
        field("business_mobile_phone", TEXT, "Mobile phone at work."),
        field("business_email", TEXT, "E-mail address at work."),
        field("job_title", TEXT, "Job title."),
        field(
            "department_code", TEXT, "Code of the department; values unspecified by the service."
        ),
        field("department_service", TEXT, "Service within the department."),
        field("affiliated_company", TEXT, f"Affiliated company. {_DETAIL}"),
        field("id_manager", BIGINT, f"The manager's id_employee. {_DETAIL}"),
        field("category_code", TEXT, "Code of the category; values unspecified by the service."),
        field("contract_type_code", TEXT, f"Code of the contract. {_DETAIL}"),
        field("status_code", TEXT, f"Code of the status. {_DETAIL}"),
        field("status_position", TEXT, f"Position within the status. {_DETAIL}"),
        field("status_factor", TEXT, f"Factor of the status. {_DETAIL}"),
        field("is_salesperson", Boolean(), "Whether the employee sells."),
        field("is_consultant", Boolean(), "Whether the employee is a consultant."),
        field("start_date", Date(), "First day of work."),
        field("end_date_trial_first_period", Date(), f"End of the first trial period. {_DETAIL}"),
        field("end_date_trial_second_period", Date(), f"End of the second trial period. {_DETAIL}"),
        field("departure_date", Date(), "Last day of work; a leaver is not deleted."),
        field("departure_estimated_date", Date(), "Last day of work, estimated."),
        *(field(f"mission{n}", TEXT, f"Mission {n}. {_DETAIL}") for n in range(1, 7)),
        field("skills", TEXT, f"Skills. {_DETAIL}"),
        field("has_timesheets", Boolean(), f"Whether the employee fills in timesheets. {_DETAIL}"),
        field("timesheets_frequency_code", BIGINT, f"Code of the timesheet frequency. {_DETAIL}"),
        field(
            "has_portal_access",
            Boolean(),
            f"Whether the employee has access to the portal. {_DETAIL}",
        ),
        field(
            "exclude_from_directory",
            Boolean(),
            f"Whether directories exclude the employee. {_DETAIL}",
        ),
        field("meal_vouchers_count", BIGINT, f"Meal vouchers. {_DETAIL}"),
        field("has_overtime", Boolean(), f"Whether overtime is paid. {_DETAIL}"),
        field("activity_rate", BIGINT, f"Share of full time, percent. {_DETAIL}"),
        field("use_vehicle", Boolean(), f"Whether the employee uses a vehicle. {_DETAIL}"),
        field("vehicle_type_code", TEXT, f"Code of the vehicle. {_DETAIL}"),
        field(
            "vehicle_tax_horsepower_code", TEXT, f"Code of the vehicle's tax horsepower. {_DETAIL}"
        ),
        field("vehicle_registration_number", TEXT, f"Registration of the vehicle. {_DETAIL}"),
        field("vehicle_price_per_km", Numeric(), f"Price per kilometre. {_DETAIL}"),
        field("created_on", TIMESTAMP, "Time of creation in the service."),
        field("created_by", BIGINT, "User who created the record."),
        field("modified_on", TIMESTAMP, "Time of the latest modification."),
        field("modified_by", BIGINT, "User of the latest modification."),
        field("validated_on", TIMESTAMP, "Time of validation."),
        field("validated_by", BIGINT, "User who validated the record."),
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
        field("birth_date", TEXT, "Date of birth, verbatim."),
        field("birth_city", TEXT, "City of birth."),
        field("birth_country", TEXT, "Country of birth."),
        field("nationality", TEXT, "Nationality."),
        field("social_security_number", TEXT, "Social security number."),
        field("resident_permit_number", TEXT, "Number of the resident permit."),
        field("resident_permit_expiration_date", TEXT, "End of the permit, verbatim."),
        field("address", TEXT, "Street of the home."),
        field("postal_code", TEXT, "Postal code of the home."),
        field("city", TEXT, "City of the home."),
        field("country", TEXT, "Country of the home."),
        field("personal_email", TEXT, "Private e-mail address."),
        field("personal_mobile_phone", TEXT, "Private mobile phone."),
        field("personal_landline_phone", TEXT, "Private landline."),
        field("emergency_contacts", TEXT, "Emergency contacts."),
    ]


EMPLOYEE_PRIVATE_FIELDS = tuple(column.name for column in _private_fields()[1:])
"""Restricted fields of the detail, stored with `employee_details=full` only."""

employee = Table(
    "employee",
    METADATA,
    *_fields(),
    *mirror_columns(),
    Column(
        "_entity",
        BIGINT,
        nullable=False,
        comment="Entity whose list returned the employee last (query parameter).",
    ),
    Column(
        "_standby",
        Boolean,
        nullable=False,
        comment="Whether the list with filter=STANDBY contains the employee.",
    ),
    Column(
        "_former",
        Boolean,
        nullable=False,
        comment="Whether the list with filter=FORMER contains the employee.",
    ),
    *removal_checks(),
    Index("ix_employee_entity", "_entity"),
    comment="Latest state of every employee that a read returned, without restricted data; rows are never deleted.",
)

employee_version = versions_of(employee, METADATA, "History of employee rows, from _version 1.")

employee_private = Table(
    "employee_private",
    PRIVATE_METADATA,
    *_private_fields(),
    *audit_columns(),
    comment="Restricted data of employees; filled with employee_details=full only.",
)

employee_private_version = versions_of(
    employee_private, PRIVATE_METADATA, "History of the restricted data, from _version 1."
)
