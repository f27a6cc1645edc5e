"""Description of mirrored employees: interface, "Employee list item" and "Employee detail"."""

from bms.client import Client, EmployeeFilter
from bms.records import Employee, EmployeeItem
from bms.responses import Page
from bms_flows.mirror.resource import MirroredResource, MirrorSource, PrivateFields
from bms_flows.runtime.list_reader import FetchPage
from bms_warehouse.tables import (
    EMPLOYEE_PRIVATE_FIELDS,
    employee,
    employee_private,
    employee_private_version,
    employee_version,
)

EMPLOYEES = MirroredResource(
    table=employee,
    versions=employee_version,
    item=EmployeeItem,
    detail=Employee,
    flags=("_standby", "_former"),
    constants=("_entity", "id_entity"),
    private=PrivateFields(
        table=employee_private,
        versions=employee_private_version,
        fields=frozenset(EMPLOYEE_PRIVATE_FIELDS),
    ),
)


def employees(client: Client, *, id_entity: int) -> MirrorSource:
    """Return the source of an entity's employees; their list is an array without pages."""

    def listed(state: EmployeeFilter) -> FetchPage:
        async def rows(number: int, size: int) -> Page[EmployeeItem]:
            response = await client.list_employees(id_entity=id_entity, filter=state)
            return response.as_page(number, size)

        return rows

    return MirrorSource(
        rows=listed("ALL"),
        members={"_standby": listed("STANDBY"), "_former": listed("FORMER")},
        detail=client.read_employee,
        constants={"_entity": id_entity, "id_entity": id_entity},
    )
