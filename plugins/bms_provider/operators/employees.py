"""Operators for employees (HR): list, read, create."""

from typing import ClassVar

from bms.endpoints import BY_NAME, Endpoint
from bms_provider.operators.base import BmsListOperator, BmsReadOperator
from bms_provider.operators.creation import BmsCreateOperator


class BmsListEmployeesOperator(BmsListOperator):
    """Read the employees of an entity (GET /v1/HR/employees).

    `BmsReadingOperator` describes the result and the shared parameters.

    :param id_entity: number of the entity (templated).
    :param filter: ``ACTIVE``, ``STANDBY``, ``FORMER`` or ``ALL`` (templated). The default of the
        service is unknown.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["list_employees"]
    id_entity: int | str
    filter: str | None = None


class BmsReadEmployeeOperator(BmsReadOperator):
    """Read one employee (GET /v1/HR/employees/{guid_employee}).

    `BmsReadingOperator` describes the result and the shared parameters.

    :param guid_employee: UUID of the employee (templated).
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["read_employee"]
    guid_employee: str


class BmsCreateEmployeeOperator(BmsCreateOperator):
    """Create an employee (POST /v1/HR/employees) at most once.

    `BmsCreateOperator` describes the parameters and what a failure means.

    :return: to XCom: ``guid_employee``, and ``id_employee`` and ``is_standby`` (both None if the
        response lacks them).
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["create_employee"]
