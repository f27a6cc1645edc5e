"""Operations on employees (HR): create, list of an entity, read by guid."""

import uuid
from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query, Response

from bms_sandbox.dialect import EmployeeFilter
from bms_sandbox.errors import ServiceError, array_reply, json_reply
from bms_sandbox.operations.employee_shapes import (
    EmployeeCreated,
    EmployeeCreation,
    EmployeeDetail,
    EmployeeItem,
)
from bms_sandbox.operations.pages import need_names
from bms_sandbox.operations.shapes import Int64, response
from bms_sandbox.row_encoder import Row
from bms_sandbox.service import Service

CREATED = tuple(EmployeeCreated.model_fields)
DETAIL = tuple(EmployeeDetail.model_fields)
ITEM = tuple(EmployeeItem.model_fields)


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


def new_employee(service: Service, body: EmployeeCreation) -> Row:
    """Return the row of a creation: missions are flat, the salary is stored."""
    given = body.model_dump()
    missions = given.pop("missions") or {}
    flags = [
        name for name, value in EmployeeDetail.model_fields.items() if value.annotation is bool
    ]
    number = service.tables["employees"].next_number()
    now = service.clock.now()
    standby = service.dialect.employee_starts_standby
    return (
        dict.fromkeys(DETAIL)
        | given
        | missions
        | {name: bool(given.get(name)) for name in flags}
        | {
            "guid_employee": str(uuid.uuid4()),
            "id_employee": number,
            "reference_number": number,
            "is_standby": standby,
            "created_on": now,
            "modified_on": now,
            "validated_on": None if standby else now,
            "created_by": 1,
            "modified_by": 1,
            "validated_by": None if standby else 1,
        }
    )


def router(service: Service) -> APIRouter:
    """Return the routes of the three operations."""
    routes = APIRouter()
    table = service.tables["employees"]

    @routes.post("/v1/HR/employees", response_model=EmployeeCreated, operation_id="create_employee")
    async def create_employee(body: EmployeeCreation) -> Response:
        """Create an employee.

        Créer un salarié.
        """
        need_names(service, body.first_name, body.last_name)
        if body.id_entity not in service.entities:
            raise ServiceError(422, "unknown_entity", "no such id_entity")
        row = new_employee(service, body)
        service.commit("employees", row, "create_employee")
        created = service.encoder.row(row, CREATED)
        return response(json_reply(created, service.dialect.create_status))

    @routes.get(
        "/v1/HR/employees", response_model=list[EmployeeItem], operation_id="list_employees"
    )
    async def employees(
        id_entity: Int64,
        state: Annotated[EmployeeFilter | None, Query(alias="filter")] = None,
    ) -> Response:
        """List the employees of an entity.

        Lister les salariés d'une entité.
        """
        dialect, now = service.dialect, service.clock.now()
        if id_entity not in service.entities and dialect.unknown_entity == "not_found":
            raise ServiceError(404, "unknown_entity", "no such id_entity")
        shown, today = state or dialect.default_filter, now.date()
        rows = table.listing(
            (id_entity, shown, today),
            lambda row: row["id_entity"] == id_entity and included(row, shown, today),
            dialect.list_order,
            now,
        )
        return response(array_reply([service.encoder.joined(rows, ITEM)], dialect))

    @routes.get(
        "/v1/HR/employees/{guid_employee}",
        response_model=EmployeeDetail,
        operation_id="read_employee",
    )
    async def employee(guid_employee: uuid.UUID) -> Response:
        """Read an employee.

        Lire un salarié.
        """
        row = table.get(str(guid_employee), service.clock.now())
        if row is None:
            raise ServiceError(404, "unknown_employee", "no such employee")
        return response(json_reply(service.encoder.row(row, DETAIL)))

    return routes
