"""Models of employees: creation body and response, detail, list item."""

from bms_sandbox.operations.shapes import Body, Day, InstantText, Shape, Uuid


class SalaryVariable(Body):
    """A variable part of a salary."""

    type: str | None = None
    value: float | None = None
    criteria: str | None = None
    payment_date_code: int | None = None


class Missions(Body):
    """The missions, an object in the creation body only."""

    mission1: str | None = None
    mission2: str | None = None
    mission3: str | None = None
    mission4: str | None = None
    mission5: str | None = None
    mission6: str | None = None


class EmployeeCreation(Body):
    """Employee creation body; id_entity is required."""

    id_entity: int
    salutation_code: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    preferred_first_name: str | None = None
    preferred_last_name: str | None = None
    payroll_number: str | None = None
    start_date: Day | None = None
    end_date_trial_first_period: Day | None = None
    end_date_trial_second_period: Day | None = None
    department_code: str | None = None
    department_service: str | None = None
    job_title: str | None = None
    category_code: str | None = None
    contract_type_code: str | None = None
    activity_rate: int | None = None
    status_code: str | None = None
    status_position: str | None = None
    status_factor: str | None = None
    salary_base: float | None = None
    salary_variable: list[SalaryVariable] | None = None
    salary_other: str | None = None
    skills: str | None = None
    missions: Missions | None = None
    address: str | None = None
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None
    personal_email: str | None = None
    personal_mobile_phone: str | None = None
    personal_landline_phone: str | None = None
    business_email: str | None = None
    business_mobile_phone: str | None = None
    business_landline_phone: str | None = None
    birth_date: str | None = None
    birth_city: str | None = None
    birth_country: str | None = None
    nationality: str | None = None
    social_security_number: str | None = None
    resident_permit_number: str | None = None
    resident_permit_expiration_date: Day | None = None
    id_manager: int | None = None
    affiliated_company: str | None = None
    is_salesperson: bool | None = None
    is_consultant: bool | None = None
    has_timesheets: bool | None = None
    timesheets_frequency_code: int | None = None
    emergency_contacts: str | None = None
    meal_vouchers_count: int | None = None
    has_portal_access: bool | None = None
    exclude_from_directory: bool | None = None
    has_overtime: bool | None = None
    use_vehicle: bool | None = None
    vehicle_type_code: str | None = None
    vehicle_tax_horsepower_code: str | None = None
    vehicle_registration_number: str | None = None
    vehicle_price_per_km: float | None = None


class EmployeeCreated(Shape):
    """Employee creation response."""

    guid_employee: Uuid
    id_employee: int
    is_standby: bool


class EmployeeDetail(Shape):
    """Employee detail: missions are flat; no salary."""

    guid_employee: Uuid
    id_employee: int
    reference_number: int
    salutation_code: str
    last_name: str
    preferred_last_name: str
    first_name: str
    preferred_first_name: str
    department_code: str
    department_service: str
    affiliated_company: str
    id_manager: int
    job_title: str
    payroll_number: str
    category_code: str
    contract_type_code: str
    status_code: str
    status_position: str
    status_factor: str
    birth_date: str
    birth_city: str
    birth_country: str
    nationality: str
    resident_permit_number: str
    resident_permit_expiration_date: str
    business_landline_phone: str
    personal_landline_phone: str
    business_mobile_phone: str
    personal_mobile_phone: str
    business_email: str
    personal_email: str
    address: str
    postal_code: str
    city: str
    country: str
    social_security_number: str
    emergency_contacts: str
    start_date: str
    end_date_trial_first_period: str
    end_date_trial_second_period: str
    departure_date: str
    departure_estimated_date: str
    mission1: str
    mission2: str
    mission3: str
    mission4: str
    mission5: str
    mission6: str
    skills: str
    is_salesperson: bool
    is_consultant: bool
    has_timesheets: bool
    timesheets_frequency_code: int
    has_portal_access: bool
    exclude_from_directory: bool
    meal_vouchers_count: int
    use_vehicle: bool
    vehicle_type_code: str
    vehicle_tax_horsepower_code: str
    vehicle_registration_number: str
    vehicle_price_per_km: float
    has_overtime: bool
    activity_rate: int
    id_entity: int
    is_standby: bool
    created_on: InstantText
    modified_on: InstantText
    validated_on: InstantText
    created_by: int
    modified_by: int
    validated_by: int


class EmployeeItem(Shape):
    """Employee list item."""

    guid_employee: str
    id_employee: int
    reference_number: int
    is_standby: bool
    salutation_code: str
    first_name: str
    last_name: str
    payroll_number: str
    business_mobile_phone: str
    business_email: str
    job_title: str
    department_code: str
    department_service: str
    category_code: str
    is_salesperson: bool
    is_consultant: bool
    start_date: str
    departure_date: str
    departure_estimated_date: str
    created_on: str
    modified_on: str
    validated_on: str
    created_by: int
    modified_by: int
    validated_by: int
