"""Operations of the interface: names, methods, paths and scopes."""

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the section Endpoints; the token operation has no scope."""

    name: str
    method: str
    path: str
    scope: str | None
    pattern: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", self.path))
        object.__setattr__(self, "pattern", pattern)

    @property
    def creates(self) -> bool:
        """Whether the operation creates a row."""
        return self.name.startswith("create_")


OPERATIONS = (
    Operation("token", "POST", "/v1/token", None),
    Operation("create_employee", "POST", "/v1/HR/employees", "write:employee"),
    Operation("list_employees", "GET", "/v1/HR/employees", "read:employee"),
    Operation("read_employee", "GET", "/v1/HR/employees/{guid_employee}", "read:employee"),
    Operation("list_client_invoices", "GET", "/v1/ERP/invoices/clients", "read:invoice_client"),
    Operation("list_contacts", "GET", "/v1/CRM/contacts", "read:contact"),
    Operation("read_contact", "GET", "/v1/CRM/contacts/{id_contact}", "read:contact"),
    Operation("create_contact", "POST", "/v1/CRM/contacts", "write:contact"),
    Operation("list_consultants", "GET", "/v1/CRM/Consultants", "read:consultant"),
    Operation("read_consultant", "GET", "/v1/CRM/Consultants/{id_consultant}", "read:consultant"),
    Operation("create_consultant", "POST", "/v1/CRM/Consultants", "write:consultant"),
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}


def operation_of(method: str, path: str) -> Operation | None:
    """Return the operation of a request, None if unknown; paths are case-sensitive."""
    for operation in OPERATIONS:
        if operation.method == method and operation.pattern.fullmatch(path):
            return operation
    return None


def methods_of(path: str) -> tuple[str, ...]:
    """Return the methods of the operations at `path`."""
    return tuple(o.method for o in OPERATIONS if o.pattern.fullmatch(path))
