"""Record types of the service, with its field names (interface, "Resources and their fields").

Keys are required, and so are the totals of an invoice. Every other field may be null or absent,
both None here: the interface does not show which fields are optional. Amounts are exact (`Decimal`
from the digits in the response). Dates and timestamps stay text (`bms.dates` parses them), since
the interface does not show their formats. `bms.decoding` converts mistyped values that have only
one interpretation.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Final, get_args

import msgspec

from bms.responses import CreatedId, Detail, Page, RejectedRow, Rows

__all__ = [
    "ClientInvoice",
    "Consultant",
    "ConsultantItem",
    "Contact",
    "ContactItem",
    "CreatedEmployee",
    "CreatedId",
    "Detail",
    "Employee",
    "EmployeeItem",
    "Page",
    "Record",
    "RejectedRow",
    "Rows",
]

Guid = Annotated[str, msgspec.Meta(min_length=1)]
DateText = Annotated[str, msgspec.Meta(description="a date or timestamp")]
"""A date as text; unlike a code, it is never converted from a number."""


class Record(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, gc=False):
    """One record; its repr shows only type and key, since most other fields are personal."""

    KEY: ClassVar[str]
    """Name of the identifying field."""

    @classmethod
    def amounts(cls) -> tuple[str, ...]:
        """Return the names of the decimal fields; a mistyped amount makes the record invalid."""
        fields = msgspec.structs.fields(cls)
        return tuple(f.encode_name for f in fields if Decimal in (f.type, *get_args(f.type)))

    @property
    def key(self) -> int | str:
        """The value of the identifying field."""
        value: int | str = getattr(self, self.KEY)
        return value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.KEY}={self.key!r})"

    def __rich_repr__(self) -> list[tuple[str, int | str]]:
        return [(self.KEY, self.key)]


class ClientInvoice(Record, kw_only=True):
    """Client invoice list item (GET /v1/ERP/invoices/clients) of the requested entity."""

    KEY: ClassVar[str] = "id_invoice"

    id_invoice: int
    reference_number: str | None = None
    invoice_date: DateText | None = None
    due_date: DateText | None = None
    invoice_type: str | None = None
    invoice_type_name: str | None = None
    id_client: int | None = None
    client_name: str | None = None
    po_number: str | None = None
    vat_number: str | None = None
    invoice_subject: str | None = None
    total_excl_vat: Decimal
    total_vat: Decimal
    total_incl_vat: Decimal
    total_due: Decimal
    currency: str | None = None
    payment_mode: str | None = None
    payment_mode_name: str | None = None
    status: str | None = None
    status_name: str | None = None
    id_account_manager: int | None = None
    created_on: DateText | None = None
    created_by: int | None = None
    canceled: bool | None = None
    canceled_on: DateText | None = None
    canceled_by: int | None = None
    id_credit: int | None = None
    sent: bool | None = None
    sent_on: DateText | None = None
    sent_by: int | None = None


class _ByGuid(Record, kw_only=True):
    """A record with a GUID in lower case: capitals are the same GUID, and services may write both."""

    KEY: ClassVar[str] = "guid_employee"

    guid_employee: Guid

    def __post_init__(self) -> None:
        """Write the GUID in lower case."""
        self.guid_employee = self.guid_employee.lower()


class EmployeeItem(_ByGuid, kw_only=True):
    """Employee list item (GET /v1/HR/employees)."""

    id_employee: int | None = None
    reference_number: int | None = None
    is_standby: bool | None = None
    salutation_code: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    payroll_number: str | None = None
    business_mobile_phone: str | None = None
    business_email: str | None = None
    job_title: str | None = None
    department_code: str | None = None
    department_service: str | None = None
    category_code: str | None = None
    is_salesperson: bool | None = None
    is_consultant: bool | None = None
    start_date: DateText | None = None
    departure_date: DateText | None = None
    departure_estimated_date: DateText | None = None
    created_on: DateText | None = None
    modified_on: DateText | None = None
    validated_on: DateText | None = None
    created_by: int | None = None
    modified_by: int | None = None
    validated_by: int | None = None


class Employee(_ByGuid, kw_only=True):
    """Employee detail (GET /v1/HR/employees/{guid_employee}): flat, missions included, no salary."""

    id_employee: int | None = None
    reference_number: int | None = None
    salutation_code: str | None = None
    last_name: str | None = None
    preferred_last_name: str | None = None
    first_name: str | None = None
    preferred_first_name: str | None = None
    department_code: str | None = None
    department_service: str | None = None
    affiliated_company: str | None = None
    id_manager: int | None = None
    job_title: str | None = None
    payroll_number: str | None = None
    category_code: str | None = None
    contract_type_code: str | None = None
    status_code: str | None = None
    status_position: str | None = None
    status_factor: str | None = None
    birth_date: DateText | None = None
    birth_city: str | None = None
    birth_country: str | None = None
    nationality: str | None = None
    resident_permit_number: str | None = None
    resident_permit_expiration_date: DateText | None = None
    business_landline_phone: str | None = None
    personal_landline_phone: str | None = None
    business_mobile_phone: str | None = None
    personal_mobile_phone: str | None = None
    business_email: str | None = None
    personal_email: str | None = None
    address: str | None = None
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None
    social_security_number: str | None = None
    emergency_contacts: str | None = None
    start_date: DateText | None = None
    end_date_trial_first_period: DateText | None = None
    end_date_trial_second_period: DateText | None = None
    departure_date: DateText | None = None
    departure_estimated_date: DateText | None = None
    mission1: str | None = None
    mission2: str | None = None
    mission3: str | None = None
    mission4: str | None = None
    mission5: str | None = None
    mission6: str | None = None
    skills: str | None = None
    is_salesperson: bool | None = None
    is_consultant: bool | None = None
    has_timesheets: bool | None = None
    timesheets_frequency_code: int | None = None
    has_portal_access: bool | None = None
    exclude_from_directory: bool | None = None
    meal_vouchers_count: int | None = None
    use_vehicle: bool | None = None
    vehicle_type_code: str | None = None
    vehicle_tax_horsepower_code: str | None = None
    vehicle_registration_number: str | None = None
    vehicle_price_per_km: Decimal | None = None
    has_overtime: bool | None = None
    activity_rate: int | None = None
    id_entity: int | None = None
    is_standby: bool | None = None
    created_on: DateText | None = None
    modified_on: DateText | None = None
    validated_on: DateText | None = None
    created_by: int | None = None
    modified_by: int | None = None
    validated_by: int | None = None


class ContactItem(Record, kw_only=True):
    """Contact list item (GET /v1/CRM/contacts); the activity flag is named `actif` here."""

    KEY: ClassVar[str] = "id"

    id: int
    first_name: str | None = None
    last_name: str | None = None
    business_title: str | None = None
    email: str | None = None
    phone_mobile_number: str | None = None
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None
    exclude_from_emailing: bool | None = None
    send_greetings_card: bool | None = None
    is_lead: bool | None = None
    origin: str | None = None
    signal: str | None = None
    imported_company_name: str | None = None
    id_client: int | None = None
    id_account_manager: int | None = None
    actif: bool | None = None
    deleted: bool | None = None
    created_on: DateText | None = None
    created_by: int | None = None
    modified_on: DateText | None = None
    modified_by: int | None = None
    deleted_on: DateText | None = None
    deleted_by: int | None = None


class Contact(Record, kw_only=True):
    """Contact detail (GET /v1/CRM/contacts/{id_contact}); the activity flag is named `active`."""

    KEY: ClassVar[str] = "id"

    id: int
    first_name: str | None = None
    last_name: str | None = None
    business_title: str | None = None
    email: str | None = None
    phone_mobile_number: str | None = None
    phone_number: str | None = None
    fax_number: str | None = None
    address: str | None = None
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None
    exclude_from_emailing: bool | None = None
    send_greetings_card: bool | None = None
    greetings_card_details: str | None = None
    is_lead: bool | None = None
    origin: str | None = None
    signal: str | None = None
    domains: list[int] | None = None
    notes: str | None = None
    imported_company_name: str | None = None
    id_client: int | None = None
    id_account_manager: int | None = None
    active: bool | None = None
    deleted: bool | None = None
    created_on: DateText | None = None
    modified_on: DateText | None = None
    deleted_on: DateText | None = None
    created_by: int | None = None
    modified_by: int | None = None
    deleted_by: int | None = None


class ConsultantItem(Record, kw_only=True):
    """Consultant list item (GET /v1/CRM/Consultants)."""

    KEY: ClassVar[str] = "id"

    id: int
    first_name: str | None = None
    last_name: str | None = None
    type: str | None = None
    affinity: int | None = None
    rate: Decimal | None = None
    currency: str | None = None
    availability_date: DateText | None = None
    birth_year: int | None = None
    work_start_year: int | None = None
    # Unconverted, to preserve members that the interface does not describe.
    skills: list[dict[str, Any]] | None = None  # id (integer), level (integer), favorite (boolean)
    languages: list[dict[str, Any]] | None = None  # code (string), level (integer)
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None
    phone_number: str | None = None
    phone_mobile_number: str | None = None
    email: str | None = None
    no_emails: bool | None = None
    no_sms: bool | None = None
    id_client: int | None = None
    active: bool | None = None
    created_on: DateText | None = None
    modified_on: DateText | None = None
    created_by: int | None = None
    modified_by: int | None = None


class Consultant(ConsultantItem, kw_only=True):
    """Consultant detail (GET /v1/CRM/Consultants/{id_consultant}): the list item with eight more fields."""

    professional_profile: str | None = None
    address: str | None = None
    notes: str | None = None
    custom1: str | None = None
    custom2: str | None = None
    custom3: str | None = None
    custom4: str | None = None
    custom5: str | None = None


class CreatedEmployee(msgspec.Struct, kw_only=True, frozen=True):
    """Employee creation response (POST /v1/HR/employees); None for a field that is not readable."""

    guid_employee: Guid
    id_employee: int | None = None
    is_standby: bool | None = None


BY_OPERATION: Final[Mapping[str, type[Record]]] = {
    "list_client_invoices": ClientInvoice,
    "list_employees": EmployeeItem,
    "read_employee": Employee,
    "list_contacts": ContactItem,
    "read_contact": Contact,
    "list_consultants": ConsultantItem,
    "read_consultant": Consultant,
}
"""The record that each reading operation returns."""
