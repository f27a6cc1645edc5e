"""Employees (HR): list, read, create."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from bms.endpoints import BY_NAME, Endpoint
from bms_provider.operators.arguments import argument
from bms_provider.operators.base import BmsListOperator, BmsReadOperator
from bms_provider.operators.creation import BmsCreateOperator

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from bms.answers import Detail, Rows
    from bms.client import Client
    from bms.records import CreatedEmployee, Employee, EmployeeItem


class BmsListEmployeesOperator(BmsListOperator):
    """Write the employees of an entity to a file (GET /v1/HR/employees).

    :param id_entity: number of the entity (templated).
    :param filter: ``ACTIVE``, ``STANDBY``, ``FORMER`` or ``ALL`` (templated). The default of the
        service is not shown by the interface: say ``ALL`` where all are meant.
    :param path: file below ``BMS_DATA_ROOT`` (templated), JSON lines; compressed where it ends in
        ``.gz``.
    :param bms_conn_id: connection of type ``bms`` (templated).
    :return: to XCom: ``path``, ``rows``, ``sha256`` and ``bytes`` of the file.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["list_employees"]
    template_fields: Sequence[str] = (*BmsListOperator.template_fields, "id_entity", "filter")

    def __init__(
        self,
        *,
        id_entity: int | str,
        filter: str | None = None,  # noqa: A002 - the interface's own name
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.id_entity = id_entity
        self.filter = filter

    async def answers(self, client: Client) -> AsyncGenerator[Rows[EmployeeItem], None]:
        """Yield the one answer."""
        from bms.client import EmployeeFilter  # noqa: PLC0415 - with the task, not at import

        yield await client.list_employees(
            id_entity=argument("id_entity", self.id_entity, int),
            filter=argument("filter", self.filter, EmployeeFilter | None),
        )


class BmsReadEmployeeOperator(BmsReadOperator):
    """Write one employee to a file (GET /v1/HR/employees/{guid_employee}).

    :param guid_employee: UUID of the employee (templated).
    :param path: file below ``BMS_DATA_ROOT`` (templated), one JSON object; compressed where it
        ends in ``.gz``.
    :param bms_conn_id: connection of type ``bms`` (templated).
    :return: to XCom: ``path``, ``rows`` (1), ``sha256`` and ``bytes`` of the file.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["read_employee"]
    template_fields: Sequence[str] = (*BmsReadOperator.template_fields, "guid_employee")

    def __init__(self, *, guid_employee: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.guid_employee = guid_employee

    async def read(self, client: Client) -> Detail[Employee]:
        """Return the employee."""
        return await client.read_employee(str(argument("guid_employee", self.guid_employee, UUID)))


class BmsCreateEmployeeOperator(BmsCreateOperator):
    """Create an employee (POST /v1/HR/employees), never twice: see `BmsCreateOperator`.

    :param body_path: JSON file of the employee creation body, below ``BMS_DATA_ROOT``
        (templated). Only the path is stored by Airflow, the body isn't.
    :param bms_conn_id: connection of type ``bms`` (templated).
    :return: to XCom: ``guid_employee``, ``id_employee`` and ``is_standby``.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["create_employee"]

    async def create(self, client: Client, body: Mapping[str, Any]) -> CreatedEmployee:
        """Create the employee."""
        return await client.create_employee(body)
