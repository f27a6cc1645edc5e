"""Table of the service's operations (interface, section "Endpoints").

Clients, operators and `get_df` take the methods, arguments and results of an operation from its row.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
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
    fields: Sequence[str] = ()
    """Fields of the body of a create, at its first level."""
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


def _creating(name: str, path: str, scope: str, fields: str, **more: Any) -> Endpoint:
    return Endpoint(
        name, "POST", path, f"write:{scope}", idempotent=False, fields=fields.split(), **more
    )


_KEY: Final = re.compile(r"\{(\w+)\}")
_CLIENT: Final = Param("id_client", int | None, "Client", "Number of a client.")
# Interface, sections "Employee creation body", "Contact creation body" and "Consultant creation body".
_EMPLOYEE_BODY: Final = """
    id_entity salutation_code first_name last_name preferred_first_name preferred_last_name
    payroll_number start_date end_date_trial_first_period end_date_trial_second_period
    department_code department_service job_title category_code contract_type_code activity_rate
    status_code status_position status_factor salary_base salary_variable salary_other skills missions
    address postal_code city country personal_email personal_mobile_phone personal_landline_phone
    business_email business_mobile_phone business_landline_phone birth_date birth_city birth_country
    nationality social_security_number resident_permit_number resident_permit_expiration_date
    id_manager affiliated_company is_salesperson is_consultant has_timesheets
    timesheets_frequency_code emergency_contacts meal_vouchers_count has_portal_access
    exclude_from_directory has_overtime use_vehicle vehicle_type_code vehicle_tax_horsepower_code
    vehicle_registration_number vehicle_price_per_km
"""
_CONTACT_BODY: Final = """
    first_name last_name business_title email phone_mobile_number phone_number phone_other_number
    fax_number address postal_code city country exclude_from_emailing send_greetings_card
    greetings_card_details is_lead origin signal contact_domains notes imported_company_name id_client
"""
_CONSULTANT_BODY: Final = """
    first_name last_name type affinity rate availability_date birth_year work_start_year
    professional_profile skills languages address postal_code city country phone_number
    phone_mobile_number email no_emails no_sms id_client notes custom1 custom2 custom3 custom4 custom5
"""

# A repeated token request only issues another token, so the operation counts as idempotent.
ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    Endpoint("request_token", "POST", "/v1/token", None),
    _creating(
        "create_employee",
        "/v1/HR/employees",
        "employee",
        _EMPLOYEE_BODY,
        created=CreatedEmployee,
    ),
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
    _creating("create_contact", "/v1/CRM/contacts", "contact", _CONTACT_BODY),
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
    _creating("create_consultant", "/v1/CRM/Consultants", "consultant", _CONSULTANT_BODY),
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
