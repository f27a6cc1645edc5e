"""Employees (HR)."""

from typing import Annotated, ClassVar

import msgspec

from bms.records.declaration import (
    Amount,
    Day,
    Field,
    Flag,
    Guid,
    Number,
    Record,
    Text,
    Time,
    canonical_guid,
    public,
    restricted,
)


class EmployeeItem(Record, kw_only=True):
    """Employee list item (GET /v1/HR/employees)."""

    KEY: ClassVar[str] = "guid_employee"

    guid_employee: Annotated[Guid, public("Identifier of the employee in the service.")]
    id_employee: Annotated[Number, public("Number of the employee.")] = None
    reference_number: Annotated[Number, public("Reference number of the employee.")] = None
    is_standby: Annotated[Flag, public("Whether the employee is on standby.")] = None
    salutation_code: Annotated[
        Text, Field("Code of the salutation; values unspecified by the service.", code=True)
    ] = None
    first_name: Annotated[Text, Field("First name.")] = None
    last_name: Annotated[Text, Field("Last name.")] = None
    payroll_number: Annotated[Text, Field("Number in the payroll.")] = None
    business_mobile_phone: Annotated[Text, Field("Mobile phone at work.")] = None
    business_email: Annotated[Text, Field("E-mail address at work.")] = None
    job_title: Annotated[Text, Field("Job title.")] = None
    department_code: Annotated[
        Text,
        public("Code of the department; values unspecified by the service.", category=True),
    ] = None
    department_service: Annotated[Text, public("Service within the department.", category=True)] = (
        None
    )
    category_code: Annotated[
        Text, public("Code of the category; values unspecified by the service.", code=True)
    ] = None
    is_salesperson: Annotated[Flag, public("Whether the employee sells.")] = None
    is_consultant: Annotated[Flag, public("Whether the employee is a consultant.")] = None
    start_date: Annotated[Day, Field("First day of work.")] = None
    departure_date: Annotated[Day, Field("Last day of work; a leaver is not deleted.")] = None
    departure_estimated_date: Annotated[Day, Field("Last day of work, estimated.")] = None
    created_on: Annotated[Time, public("Time of creation in the service.")] = None
    modified_on: Annotated[Time, public("Time of the latest modification.")] = None
    validated_on: Annotated[Time, public("Time of validation.")] = None
    created_by: Annotated[Number, public("User who created the record.")] = None
    modified_by: Annotated[Number, public("User of the latest modification.")] = None
    validated_by: Annotated[Number, public("User who validated the record.")] = None

    def __post_init__(self) -> None:
        """Write the GUID in one form, because services may write the same GUID in several."""
        self.guid_employee = canonical_guid(self.guid_employee)


class Employee(EmployeeItem, kw_only=True):
    """Employee detail (GET /v1/HR/employees/{guid_employee}): flat, missions included, no salary."""

    preferred_last_name: Annotated[Text, Field("Last name in use.")] = None
    preferred_first_name: Annotated[Text, Field("First name in use.")] = None
    affiliated_company: Annotated[Text, public("Affiliated company.")] = None
    id_manager: Annotated[Number, public("The manager's id_employee.")] = None
    contract_type_code: Annotated[Text, public("Code of the contract.", code=True)] = None
    status_code: Annotated[Text, public("Code of the status.", code=True)] = None
    status_position: Annotated[Text, public("Position within the status.", category=True)] = None
    status_factor: Annotated[Text, public("Factor of the status.", category=True)] = None
    business_landline_phone: Annotated[Text, Field("Landline at work.")] = None
    end_date_trial_first_period: Annotated[Day, Field("End of the first trial period.")] = None
    end_date_trial_second_period: Annotated[Day, Field("End of the second trial period.")] = None
    mission1: Annotated[Text, Field("Mission 1.")] = None
    mission2: Annotated[Text, Field("Mission 2.")] = None
    mission3: Annotated[Text, Field("Mission 3.")] = None
    mission4: Annotated[Text, Field("Mission 4.")] = None
    mission5: Annotated[Text, Field("Mission 5.")] = None
    mission6: Annotated[Text, Field("Mission 6.")] = None
    skills: Annotated[Text, Field("Skills.")] = None
    has_timesheets: Annotated[Flag, public("Whether the employee fills in timesheets.")] = None
    timesheets_frequency_code: Annotated[Number, public("Code of the timesheet frequency.")] = None
    has_portal_access: Annotated[Flag, public("Whether the employee has access to the portal.")] = (
        None
    )
    exclude_from_directory: Annotated[Flag, public("Whether directories exclude the employee.")] = (
        None
    )
    meal_vouchers_count: Annotated[Number, public("Meal vouchers.")] = None
    use_vehicle: Annotated[Flag, public("Whether the employee uses a vehicle.")] = None
    vehicle_type_code: Annotated[Text, public("Code of the vehicle.", code=True)] = None
    vehicle_tax_horsepower_code: Annotated[
        Text, public("Code of the vehicle's tax horsepower.", code=True)
    ] = None
    vehicle_registration_number: Annotated[Text, Field("Registration of the vehicle.")] = None
    vehicle_price_per_km: Annotated[Amount, public("Price per kilometre.")] = None
    has_overtime: Annotated[Flag, public("Whether overtime is paid.")] = None
    activity_rate: Annotated[Number, Field("Share of full time, percent.")] = None
    id_entity: Annotated[Number, public("Employing entity, from the detail or else the list.")] = (
        None
    )
    birth_date: Annotated[Day, restricted("Date of birth, verbatim.", verbatim=True)] = None
    birth_city: Annotated[Text, restricted("City of birth.")] = None
    birth_country: Annotated[Text, restricted("Country of birth.")] = None
    nationality: Annotated[Text, restricted("Nationality.", category=True)] = None
    social_security_number: Annotated[Text, restricted("Social security number.")] = None
    resident_permit_number: Annotated[Text, restricted("Number of the resident permit.")] = None
    resident_permit_expiration_date: Annotated[
        Day, restricted("End of the permit, verbatim.", verbatim=True)
    ] = None
    address: Annotated[Text, restricted("Street of the home.")] = None
    postal_code: Annotated[Text, restricted("Postal code of the home.")] = None
    city: Annotated[Text, restricted("City of the home.")] = None
    country: Annotated[Text, restricted("Country of the home.", category=True)] = None
    personal_email: Annotated[Text, restricted("Private e-mail address.")] = None
    personal_mobile_phone: Annotated[Text, restricted("Private mobile phone.")] = None
    personal_landline_phone: Annotated[Text, restricted("Private landline.")] = None
    emergency_contacts: Annotated[Text, restricted("Emergency contacts.")] = None


class CreatedEmployee(msgspec.Struct, kw_only=True, frozen=True):
    """Employee creation response (POST /v1/HR/employees); None for a field that is not readable."""

    guid_employee: Guid
    id_employee: int | None = None
    is_standby: bool | None = None
