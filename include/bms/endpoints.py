"""Table of the service's operations (interface, section "Endpoints")."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote

from bms.records import (
    ClientInvoice,
    Consultant,
    ConsultantItem,
    Contact,
    ContactItem,
    Employee,
    EmployeeItem,
    Record,
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One operation: method, path, required scope and properties.

    `scope` is None if the interface declares none. A `paged` list comes in the `total_pages`
    envelope. Repeating an `idempotent` operation changes nothing in the service.
    """

    name: str
    method: Literal["GET", "POST"]
    path: str
    scope: str | None
    paged: bool = False
    idempotent: bool = True
    record: type[Record] | None = None
    """The record that a reading operation returns."""

    @property
    def no_rows(self) -> bytes | None:
        """The body of a list without rows, which a 204 (no content) stands for; None if no list."""
        if not self.name.startswith("list_"):
            return None
        return b'{"total_pages":0,"data":[]}' if self.paged else b"[]"

    def fill(self, values: Mapping[str, str | int]) -> str:
        """Return the path with its parameters filled in and quoted."""
        return self.path.format_map({name: quote(str(v), safe="") for name, v in values.items()})

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def _reading(name: str, path: str, scope: str, record: type[Record], **more: bool) -> Endpoint:
    return Endpoint(name, "GET", path, f"read:{scope}", record=record, **more)


def _creating(name: str, path: str, scope: str) -> Endpoint:
    return Endpoint(name, "POST", path, f"write:{scope}", idempotent=False)


# A repeated token request only issues another token, so the operation counts as idempotent.
ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    Endpoint("request_token", "POST", "/v1/token", None),
    _creating("create_employee", "/v1/HR/employees", "employee"),
    _reading("list_employees", "/v1/HR/employees", "employee", EmployeeItem),
    _reading("read_employee", "/v1/HR/employees/{guid_employee}", "employee", Employee),
    _reading("list_client_invoices", "/v1/ERP/invoices/clients", "invoice_client", ClientInvoice),
    _reading("list_contacts", "/v1/CRM/contacts", "contact", ContactItem, paged=True),
    _reading("read_contact", "/v1/CRM/contacts/{id_contact}", "contact", Contact),
    _creating("create_contact", "/v1/CRM/contacts", "contact"),
    _reading("list_consultants", "/v1/CRM/Consultants", "consultant", ConsultantItem, paged=True),
    _reading("read_consultant", "/v1/CRM/Consultants/{id_consultant}", "consultant", Consultant),
    _creating("create_consultant", "/v1/CRM/Consultants", "consultant"),
)

BY_NAME: Final[Mapping[str, Endpoint]] = {endpoint.name: endpoint for endpoint in ENDPOINTS}
BY_OPERATION: Final[Mapping[str, type[Record]]] = {
    each.name: each.record for each in ENDPOINTS if each.record is not None
}
"""The record that each reading operation returns."""
