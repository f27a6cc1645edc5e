"""Table of the service's operations (interface, section "Endpoints")."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote


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
    paged: bool
    idempotent: bool

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


# A repeated token request only issues another token, so the operation counts as idempotent.
ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    # name, method, path, scope, paged, idempotent
    Endpoint("request_token", "POST", "/v1/token", None, False, True),
    Endpoint("create_employee", "POST", "/v1/HR/employees", "write:employee", False, False),
    Endpoint("list_employees", "GET", "/v1/HR/employees", "read:employee", False, True),
    Endpoint(
        "read_employee", "GET", "/v1/HR/employees/{guid_employee}", "read:employee", False, True
    ),
    Endpoint(
        "list_client_invoices",
        "GET",
        "/v1/ERP/invoices/clients",
        "read:invoice_client",
        False,
        True,
    ),
    Endpoint("list_contacts", "GET", "/v1/CRM/contacts", "read:contact", True, True),
    Endpoint("read_contact", "GET", "/v1/CRM/contacts/{id_contact}", "read:contact", False, True),
    Endpoint("create_contact", "POST", "/v1/CRM/contacts", "write:contact", False, False),
    Endpoint("list_consultants", "GET", "/v1/CRM/Consultants", "read:consultant", True, True),
    Endpoint(
        "read_consultant",
        "GET",
        "/v1/CRM/Consultants/{id_consultant}",
        "read:consultant",
        False,
        True,
    ),
    Endpoint("create_consultant", "POST", "/v1/CRM/Consultants", "write:consultant", False, False),
)

BY_NAME: Final[Mapping[str, Endpoint]] = {endpoint.name: endpoint for endpoint in ENDPOINTS}
