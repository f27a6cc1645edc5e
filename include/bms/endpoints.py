"""Table of the service's operations (interface, section "Endpoints").

Clients, operators and `get_df` take the methods, arguments and results of an operation from its row.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal, get_args, get_origin
from urllib.parse import quote
from uuid import UUID

from bms.records import (
    ClientInvoice,
    Consultant,
    ConsultantItem,
    Contact,
    ContactItem,
    CreatedEmployee,
    Employee,
    EmployeeItem,
    Record,
)

EmployeeFilter = Literal["ACTIVE", "STANDBY", "FORMER", "ALL"]
ContactFilter = Literal["ALL", "ACTIVE", "ASSIGNED", "DELETED"]
InvoiceLanguage = Literal["EN", "FR"]


_JSON: Final = {bool: "boolean", int: "integer"}


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of the query or the path; `title` and `meaning` are those of a DAG's param."""

    name: str
    type: Any
    title: str = ""
    meaning: str = ""

    @property
    def required(self) -> bool:
        """Whether a request needs a value."""
        return type(None) not in get_args(self.type)

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed values, empty if every value is allowed."""
        types = (self.type, *get_args(self.type))
        return next((get_args(each) for each in types if get_origin(each) is Literal), ())

    @property
    def kind(self) -> str:
        """Type of the value in JSON: `boolean`, `integer` or `string`."""
        accepted = (self.type, *get_args(self.type))
        return next((name for kind, name in _JSON.items() if kind in accepted), "string")


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
    params: tuple[Param, ...] = ()
    """Parameters besides the page."""
    created: type[CreatedEmployee] | None = None
    """What a create returns; None if it returns an id alone."""
    note: str = ""
    """What a caller should know about the operation."""

    @property
    def kind(self) -> str:
        """`list`, `read`, `create` or `request`."""
        return self.name.partition("_")[0]

    @property
    def noun(self) -> str:
        """One record of the operation, for example `contact`."""
        return self.name.partition("_")[2].removesuffix("s")

    @property
    def has_range(self) -> bool:
        """Whether the operation lists a range of days."""
        return {"start_date", "end_date"} <= {each.name for each in self.params}

    @property
    def no_rows(self) -> bytes | None:
        """The body of a list without rows, which a 204 (no content) means; None if no list."""
        if self.kind != "list":
            return None
        return b'{"total_pages":0,"data":[]}' if self.paged else b"[]"

    def fill(self, values: Mapping[str, str | int]) -> str:
        """Return the path with its parameters filled in and quoted."""
        return self.path.format_map({name: quote(str(v), safe="") for name, v in values.items()})

    def matches(self, path: str) -> bool:
        """Return whether a path, without its query, is one of the operation."""
        return re.fullmatch(_KEY.sub("[^/]+", self.path), path) is not None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def _reading(
    name: str, path: str, scope: str, record: type[Record], *params: Param, **more: Any
) -> Endpoint:
    keys = (Param(key, UUID if key.startswith("guid_") else int) for key in _KEY.findall(path))
    return Endpoint(
        name, "GET", path, f"read:{scope}", record=record, params=(*keys, *params), **more
    )


def _creating(name: str, path: str, scope: str, **more: Any) -> Endpoint:
    return Endpoint(name, "POST", path, f"write:{scope}", idempotent=False, **more)


_KEY: Final = re.compile(r"\{(\w+)\}")
_CLIENT: Final = Param("id_client", int | None, "Client", "Number of a client.")

# A repeated token request only issues another token, so the operation counts as idempotent.
ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    Endpoint("request_token", "POST", "/v1/token", None),
    _creating("create_employee", "/v1/HR/employees", "employee", created=CreatedEmployee),
    _reading(
        "list_employees",
        "/v1/HR/employees",
        "employee",
        EmployeeItem,
        Param("id_entity", int),
        Param("filter", EmployeeFilter | None),
        note="The interface does not show the default of `filter`; it may exclude employees on "
        "standby. Pass ALL to get every employee.",
    ),
    _reading("read_employee", "/v1/HR/employees/{guid_employee}", "employee", Employee),
    _reading(
        "list_client_invoices",
        "/v1/ERP/invoices/clients",
        "invoice_client",
        ClientInvoice,
        Param("id_entity", int),
        Param("start_date", date),
        Param("end_date", date),
        Param("language", InvoiceLanguage | None),
        note="Both days are included. The interface does not show which date the range filters. "
        "Raises `RangeRefused` if the service may accept a shorter range.",
    ),
    _reading(
        "list_contacts",
        "/v1/CRM/contacts",
        "contact",
        ContactItem,
        Param("filter", ContactFilter),
        _CLIENT,
        Param("is_lead", bool | None, "Leads", "true: only leads. false: only others."),
        paged=True,
    ),
    _reading("read_contact", "/v1/CRM/contacts/{id_contact}", "contact", Contact),
    _creating("create_contact", "/v1/CRM/contacts", "contact"),
    _reading(
        "list_consultants",
        "/v1/CRM/Consultants",
        "consultant",
        ConsultantItem,
        Param("type", str | None, "Type", "Type code of the service."),
        _CLIENT,
        paged=True,
    ),
    _reading("read_consultant", "/v1/CRM/Consultants/{id_consultant}", "consultant", Consultant),
    _creating("create_consultant", "/v1/CRM/Consultants", "consultant"),
)

BY_NAME: Final[Mapping[str, Endpoint]] = {endpoint.name: endpoint for endpoint in ENDPOINTS}
BY_OPERATION: Final[Mapping[str, type[Record]]] = {
    each.name: each.record for each in ENDPOINTS if each.record is not None
}
"""The record that each reading operation returns."""


def named(operations: Iterable[str]) -> list[Endpoint]:
    """Return the operations of these names; raise `ValueError` for a name that the service does not have."""
    operations = [*operations]
    if unknown := [name for name in operations if name not in BY_NAME]:
        raise ValueError(
            f"the service has no operation {', '.join(unknown)}; it has {', '.join(BY_NAME)}"
        )
    return [BY_NAME[name] for name in operations]
