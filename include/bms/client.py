"""The client: one method for each operation of the service."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from uuid import UUID

from bms.concurrency import ConcurrencyLimiter
from bms.counters import Counters
from bms.decoding import RecordReader, read_created_employee, read_created_id
from bms.endpoints import BY_NAME
from bms.records import (
    ClientInvoice,
    Consultant,
    ConsultantItem,
    Contact,
    ContactItem,
    CreatedEmployee,
    Employee,
    EmployeeItem,
)
from bms.responses import Access, CreatedId, Detail, Page, Rows
from bms.sender import Sender
from bms.settings import ClientSettings
from bms.transport import BeforeSend

EmployeeFilter = Literal["ACTIVE", "STANDBY", "FORMER", "ALL"]
ContactFilter = Literal["ALL", "ACTIVE", "ASSIGNED", "DELETED"]
InvoiceLanguage = Literal["EN", "FR"]

T = TypeVar("T")


class Client:
    """Calls the service; an async context manager for one event loop.

    The token lives in this object only. `on_token` is awaited with each new token before its
    first use, for whoever must hide it from logs. Clients given the same `limiter` share what it
    allows; each has its own, of the settings' `concurrency`, by default. `clock` (Unix time), `sleep` and `random` are
    there to be replaced in tests.

    Opening raises `InvalidTlsFile` where the settings' `verify` or `cert` names no usable file.
    Every method may raise `MissingScope` (nothing sent), `TokenRefused`, `Unauthorized`,
    `Refused`, and after its repeats `Throttled`, `ServiceUnavailable`, `ConnectionFailed`,
    `Timeout` or `MalformedResponse`; a `create_...` raises `AmbiguousWrite` where it may have
    happened, and never sends again then.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        counters: Counters | None = None,
        limiter: ConcurrencyLimiter | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
        on_token: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        self.settings = settings
        self.counters = Counters() if counters is None else counters
        self._sender = Sender(
            settings,
            self.counters,
            limiter=limiter,
            clock=clock,
            sleep=sleep,
            random=random,
            on_token=on_token,
        )
        self._invoices = RecordReader(BY_NAME["list_client_invoices"], ClientInvoice)
        self._employee_items = RecordReader(BY_NAME["list_employees"], EmployeeItem)
        self._employees = RecordReader(BY_NAME["read_employee"], Employee)
        self._contact_items = RecordReader(BY_NAME["list_contacts"], ContactItem)
        self._contacts = RecordReader(BY_NAME["read_contact"], Contact)
        self._consultant_items = RecordReader(BY_NAME["list_consultants"], ConsultantItem)
        self._consultants = RecordReader(BY_NAME["read_consultant"], Consultant)

    async def __aenter__(self) -> Self:
        await self._sender.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._sender.close()

    def __repr__(self) -> str:
        return f"Client({self.settings.base_url}, client_id={self.settings.client_id!r})"

    async def access(self) -> Access:
        """Return the granted scopes and the seconds the token has left (POST /v1/token).

        Asks for a token if none is held; never returns the token.
        """
        return await self._sender.access()

    async def list_employees(
        self,
        *,
        id_entity: int,
        filter: EmployeeFilter | None = None,  # noqa: A002 -- the interface's own name
    ) -> Rows[EmployeeItem]:
        """Return the employees of an entity (GET /v1/HR/employees): one bare array.

        The default of `filter` is not shown by the interface: say ALL where all are meant, since
        employees on standby may be left out otherwise.
        """
        return await self._sender.request(
            BY_NAME["list_employees"],
            self._employee_items.rows,
            query={"id_entity": id_entity, "filter": filter},
        )

    async def read_employee(self, guid_employee: str) -> Detail[Employee]:
        """Return one employee (GET /v1/HR/employees/{guid_employee}).

        Raises `ValueError` if `guid_employee` is no UUID, `NotFound` if there is no such employee,
        `InvalidRecords` if its key or money is unusable.
        """
        UUID(guid_employee)  # anything else could name another path
        return await self._sender.request(
            BY_NAME["read_employee"],
            self._employees.detail,
            values={"guid_employee": guid_employee},
        )

    async def create_employee(
        self, body: Mapping[str, Any], *, before_send: BeforeSend | None = None
    ) -> CreatedEmployee:
        """Create an employee (POST /v1/HR/employees) from an employee creation body."""
        endpoint = BY_NAME["create_employee"]
        return await self._sender.request(
            endpoint, partial(read_created_employee, endpoint), body=body, before_send=before_send
        )

    async def list_client_invoices(
        self,
        *,
        id_entity: int,
        start_date: date,
        end_date: date,
        language: InvoiceLanguage | None = None,
    ) -> Rows[ClientInvoice]:
        """Return the invoices of an entity from `start_date` to `end_date`, both included.

        GET /v1/ERP/invoices/clients: one bare array, however long. Which date the range filters
        is not shown by the interface. `RangeRefused` where the service may want a shorter range.
        """
        return await self.client_invoices(
            self._invoices.rows,
            id_entity=id_entity,
            start_date=start_date,
            end_date=end_date,
            language=language,
        )

    async def client_invoices(
        self,
        read: Callable[[bytes], T],
        *,
        id_entity: int,
        start_date: date,
        end_date: date,
        language: InvoiceLanguage | None = None,
    ) -> T:
        """Return what `read` makes of the answer that `list_client_invoices` asks for.

        For who takes years of invoices in and has a faster way than one object for each; `read`
        raises `MalformedResponse` for a body that is no array, which is then asked for again.
        """
        for name, day in (("start_date", start_date), ("end_date", end_date)):
            if isinstance(day, datetime):  # a subclass of date, whose day depends on a time zone
                raise TypeError(f"{name} takes a date, not a date-time")
        last = end_date if self.settings.end_date_inclusive else end_date + timedelta(days=1)
        return await self._sender.request(
            BY_NAME["list_client_invoices"],
            read,
            query={
                "id_entity": id_entity,
                "start_date": start_date.isoformat(),
                "end_date": last.isoformat(),
                "language": language,
            },
        )

    async def list_contacts(
        self,
        *,
        filter: ContactFilter,  # noqa: A002 -- the interface's own name
        page_number: int = 1,
        page_size: int | None = None,
        id_client: int | None = None,
        is_lead: bool | None = None,
    ) -> Page[ContactItem]:
        """Return one page of contacts (GET /v1/CRM/contacts); `bms.paging.all_pages` asks for all.

        `page_number` counts from 1, `page_size` is the settings' unless given; the largest allowed
        is not shown by the interface, and a service may send fewer rows than asked for.
        """
        size = self.settings.page_size if page_size is None else page_size
        return await self._sender.request(
            BY_NAME["list_contacts"],
            partial(self._contact_items.page, number=page_number, size=size),
            query={
                "page_number": page_number,
                "page_size": size,
                "id_client": id_client,
                "filter": filter,
                "is_lead": is_lead,
            },
        )

    async def read_contact(self, id_contact: int) -> Detail[Contact]:
        """Return one contact (GET /v1/CRM/contacts/{id_contact}); `NotFound`, `InvalidRecords`."""
        return await self._sender.request(
            BY_NAME["read_contact"], self._contacts.detail, values={"id_contact": int(id_contact)}
        )

    async def create_contact(
        self, body: Mapping[str, Any], *, before_send: BeforeSend | None = None
    ) -> CreatedId:
        """Create a contact (POST /v1/CRM/contacts) from a contact creation body."""
        endpoint = BY_NAME["create_contact"]
        return await self._sender.request(
            endpoint,
            partial(read_created_id, endpoint, "id_contact"),
            body=body,
            before_send=before_send,
        )

    async def list_consultants(
        self,
        *,
        page_number: int = 1,
        page_size: int | None = None,
        id_client: int | None = None,
        type: str | None = None,  # noqa: A002 -- the interface's own name
    ) -> Page[ConsultantItem]:
        """Return one page of consultants (GET /v1/CRM/Consultants); see `list_contacts`."""
        size = self.settings.page_size if page_size is None else page_size
        return await self._sender.request(
            BY_NAME["list_consultants"],
            partial(self._consultant_items.page, number=page_number, size=size),
            query={
                "page_number": page_number,
                "page_size": size,
                "id_client": id_client,
                "type": type,
            },
        )

    async def read_consultant(self, id_consultant: int) -> Detail[Consultant]:
        """Return one consultant (GET /v1/CRM/Consultants/{id_consultant})."""
        return await self._sender.request(
            BY_NAME["read_consultant"],
            self._consultants.detail,
            values={"id_consultant": int(id_consultant)},
        )

    async def create_consultant(
        self, body: Mapping[str, Any], *, before_send: BeforeSend | None = None
    ) -> CreatedId:
        """Create a consultant (POST /v1/CRM/Consultants) from a consultant creation body."""
        endpoint = BY_NAME["create_consultant"]
        return await self._sender.request(
            endpoint,
            partial(read_created_id, endpoint, "id_consultant"),
            body=body,
            before_send=before_send,
        )
