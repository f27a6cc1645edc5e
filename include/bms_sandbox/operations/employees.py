"""Operations on employees (HR): create, list of an entity, read by guid."""

import uuid
from datetime import date
from typing import Any

from bms_sandbox.dialect import EmployeeFilter
from bms_sandbox.errors import ServiceError
from bms_sandbox.operations.lists import Keep, ResourceList, has_entity
from bms_sandbox.operations.routes import Resource, stamps
from bms_sandbox.operations.shapes import REQUIRED, Body, Int64, Shape, Uuid, models
from bms_sandbox.row_encoder import Row
from bms_sandbox.service import Service


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


# A creation needs the entity. Missions are flat in the detail; no response contains the salary.
MODELS = models(
    "Employee",
    """
    uuid d guid_employee
    string l guid_employee
    integer dl id_employee reference_number
    boolean dl is_standby
    integer! c id_entity
    integer d id_entity
    string cdl salutation_code first_name last_name
    string cd preferred_first_name preferred_last_name
    string cdl payroll_number
    string cd business_landline_phone
    string cdl business_mobile_phone business_email job_title department_code department_service
    string cd affiliated_company
    integer cd id_manager
    string cdl category_code
    string cd contract_type_code status_code status_position status_factor
    boolean cdl is_salesperson is_consultant
    day c start_date end_date_trial_first_period end_date_trial_second_period
    string dl start_date departure_date departure_estimated_date
    string d end_date_trial_first_period end_date_trial_second_period
    missions c missions
    string d mission1 mission2 mission3 mission4 mission5 mission6
    string cd skills
    number c salary_base
    salary c salary_variable
    string c salary_other
    string cd birth_date birth_city birth_country nationality
    string cd social_security_number resident_permit_number
    day c resident_permit_expiration_date
    string d resident_permit_expiration_date
    string cd address postal_code city country
    string cd personal_email personal_mobile_phone personal_landline_phone emergency_contacts
    boolean cd has_timesheets
    integer cd timesheets_frequency_code meal_vouchers_count activity_rate
    boolean cd has_portal_access exclude_from_directory has_overtime use_vehicle
    string cd vehicle_type_code vehicle_tax_horsepower_code vehicle_registration_number
    number cd vehicle_price_per_km
    instant d created_on modified_on validated_on
    string l created_on modified_on validated_on
    integer dl created_by modified_by validated_by
    """,
    missions=Missions,
    salary=list[SalaryVariable],
)


class EmployeeCreated(Shape):
    """Employee creation response."""

    guid_employee: Uuid
    id_employee: int
    is_standby: bool


def included(row: Row, state: EmployeeFilter, today: date) -> bool:
    """Return whether the list filter includes `row` on `today`.

    The interface does not define the filters. Our assumption: FORMER means that the departure date
    has passed, STANDBY means the flag, ACTIVE means neither.
    """
    former = row["departure_date"] is not None and row["departure_date"] < today
    match state:
        case "ALL":
            return True
        case "ACTIVE":
            return not row["is_standby"] and not former
        case "STANDBY":
            return bool(row["is_standby"])
        case "FORMER":
            return former


def selected(service: Service, given: dict[str, Any]) -> Keep:
    """Return the condition of the rows that the parameters of the list select."""
    id_entity, state = given["id_entity"], given["filter"] or service.dialect.default_filter
    today = service.clock.now().date()
    has_entity(service, id_entity)
    states: tuple[EmployeeFilter, ...] = (state,)
    if state == "ALL" and service.dialect.all_employees != "all":
        former = service.dialect.all_employees == "not_former"
        states = ("ACTIVE", "STANDBY") if former else ("ACTIVE",)
    return lambda row: (
        row["id_entity"] == id_entity and any(included(row, each, today) for each in states)
    )


def new_employee(service: Service, given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a new row that the body does not give: missions are flat."""
    if given["id_entity"] not in service.entities:
        raise ServiceError(422, "unknown_entity", "no such id_entity")
    missions = given.pop("missions") or {}
    fields = MODELS.detail.model_fields.items()
    flags = [name for name, value in fields if value.annotation is bool]
    number = service.tables["employees"].next_number()
    standby = service.dialect.employee_starts_standby
    made = stamps(service)
    return (
        missions
        | {name: bool(given.get(name)) for name in flags}
        | made
        | {
            "guid_employee": str(uuid.uuid4()),
            "id_employee": number,
            "reference_number": number,
            "is_standby": standby,
            "validated_on": None if standby else made["created_on"],
            "validated_by": None if standby else 1,
        }
    )


EMPLOYEE = Resource(
    noun="employee",
    models=MODELS,
    key="guid_employee",
    key_type=uuid.UUID,
    listing=ResourceList(
        "List the employees of an entity.\n\nLister les salariés d'une entité.",
        {"id_entity": (Int64, REQUIRED), "filter": (EmployeeFilter | None, None)},
        selected,
        paged=False,
    ),
    read_text="Read an employee.\n\nLire un salarié.",
    create_text="Create an employee.\n\nCréer un salarié.",
    new=new_employee,
    created=EmployeeCreated,
)
