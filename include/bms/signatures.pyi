"""Methods of the clients, written by scripts/reference from `bms.endpoints`."""

# ruff: noqa: A002, D209, PYI021 - the interface's names; editors show the docstrings
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Literal, TypeAlias

from bms.endpoints import ContactFilter, EmployeeFilter, InvoiceLanguage
from bms.records.consultants import Consultant, ConsultantItem
from bms.records.contacts import Contact, ContactItem
from bms.records.employees import CreatedEmployee, Employee, EmployeeItem
from bms.records.invoices import ClientInvoice
from bms.responses import CreatedId, Detail, Page, Rows
from bms.transport import BeforeSend

ListName: TypeAlias = Literal["employees", "client_invoices", "contacts", "consultants"]

class Operations:
    async def create_employee(
        self, body: Mapping[str, Any], *, before_send: BeforeSend | None = None
    ) -> CreatedEmployee:
        """Create one employee (POST /v1/HR/employees)."""
    async def list_employees(
        self, *, id_entity: int, filter: EmployeeFilter | None = None
    ) -> Rows[EmployeeItem]:
        """Return the employees of an entity (GET /v1/HR/employees).

        The interface does not show the default of `filter`; it may exclude employees on standby. Pass ALL to get every employee."""
    async def read_employee(self, guid_employee: str) -> Detail[Employee]:
        """Return one employee (GET /v1/HR/employees/{guid_employee})."""
    async def list_client_invoices(
        self,
        *,
        id_entity: int,
        start_date: date,
        end_date: date,
        language: InvoiceLanguage | None = None,
    ) -> Rows[ClientInvoice]:
        """Return the client invoices of an entity (GET /v1/ERP/invoices/clients).

        Both days are included. The interface does not show which date the range filters. Raises `RangeRefused` if the service may accept a shorter range."""
    async def list_contacts(
        self,
        *,
        filter: ContactFilter,
        id_client: int | None = None,
        is_lead: bool | None = None,
        page_size: int | None = None,
        page_number: int = 1,
    ) -> Page[ContactItem]:
        """Return one page of the contacts, numbered from 1 (GET /v1/CRM/contacts).

        `page_size` is by default the connection's. The interface shows no maximum for it, and the service may return fewer rows than requested."""
    async def read_contact(self, id_contact: int) -> Detail[Contact]:
        """Return one contact (GET /v1/CRM/contacts/{id_contact})."""
    async def create_contact(
        self, body: Mapping[str, Any], *, before_send: BeforeSend | None = None
    ) -> CreatedId:
        """Create one contact (POST /v1/CRM/contacts)."""
    async def list_consultants(
        self,
        *,
        type: str | None = None,
        id_client: int | None = None,
        page_size: int | None = None,
        page_number: int = 1,
    ) -> Page[ConsultantItem]:
        """Return one page of the consultants, numbered from 1 (GET /v1/CRM/Consultants).

        `page_size` is by default the connection's. The interface shows no maximum for it, and the service may return fewer rows than requested."""
    async def read_consultant(self, id_consultant: int) -> Detail[Consultant]:
        """Return one consultant (GET /v1/CRM/Consultants/{id_consultant})."""
    async def create_consultant(
        self, body: Mapping[str, Any], *, before_send: BeforeSend | None = None
    ) -> CreatedId:
        """Create one consultant (POST /v1/CRM/Consultants)."""

class SyncOperations:
    def create_employee(self, body: Mapping[str, Any]) -> CreatedEmployee:
        """Create one employee (POST /v1/HR/employees)."""
    def list_employees(
        self, *, id_entity: int, filter: EmployeeFilter | None = None
    ) -> Rows[EmployeeItem]:
        """Return the employees of an entity (GET /v1/HR/employees).

        The interface does not show the default of `filter`; it may exclude employees on standby. Pass ALL to get every employee."""
    def read_employee(self, guid_employee: str) -> Employee:
        """Return one employee (GET /v1/HR/employees/{guid_employee})."""
    def list_client_invoices(
        self,
        *,
        id_entity: int,
        start_date: date | str,
        end_date: date | str,
        language: InvoiceLanguage | None = None,
    ) -> Rows[ClientInvoice]:
        """Return the client invoices of an entity (GET /v1/ERP/invoices/clients).

        Both days are included. The interface does not show which date the range filters. Raises `RangeRefused` if the service may accept a shorter range.

        Days may be text such as Airflow's `ds`, which is the day in UTC."""
    def list_contacts(
        self,
        *,
        filter: ContactFilter,
        id_client: int | None = None,
        is_lead: bool | None = None,
        page_size: int | None = None,
    ) -> Iterator[ContactItem]:
        """Yield the contacts of all pages (GET /v1/CRM/contacts).

        `page_size` is by default the connection's. The interface shows no maximum for it, and the service may return fewer rows than requested."""
    def contact_pages(
        self,
        *,
        filter: ContactFilter,
        id_client: int | None = None,
        is_lead: bool | None = None,
        page_size: int | None = None,
    ) -> Iterator[Page[ContactItem]]:
        """Yield the pages of the contacts in order (GET /v1/CRM/contacts)."""
    def read_contact(self, id_contact: int) -> Contact:
        """Return one contact (GET /v1/CRM/contacts/{id_contact})."""
    def create_contact(self, body: Mapping[str, Any]) -> CreatedId:
        """Create one contact (POST /v1/CRM/contacts)."""
    def list_consultants(
        self, *, type: str | None = None, id_client: int | None = None, page_size: int | None = None
    ) -> Iterator[ConsultantItem]:
        """Yield the consultants of all pages (GET /v1/CRM/Consultants).

        `page_size` is by default the connection's. The interface shows no maximum for it, and the service may return fewer rows than requested."""
    def consultant_pages(
        self, *, type: str | None = None, id_client: int | None = None, page_size: int | None = None
    ) -> Iterator[Page[ConsultantItem]]:
        """Yield the pages of the consultants in order (GET /v1/CRM/Consultants)."""
    def read_consultant(self, id_consultant: int) -> Consultant:
        """Return one consultant (GET /v1/CRM/Consultants/{id_consultant})."""
    def create_consultant(self, body: Mapping[str, Any]) -> CreatedId:
        """Create one consultant (POST /v1/CRM/Consultants)."""
