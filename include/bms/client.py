"""Asynchronous client with one method per operation of the service."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, datetime, timedelta
from functools import partial
from http import HTTPStatus
from types import TracebackType
from typing import Any, ClassVar, Literal, Self, TypeVar

from bms.concurrency import ConcurrencyLimiter
from bms.counters import Counters
from bms.created import read_created_employee, read_created_id
from bms.decoding import RecordReader
from bms.endpoints import BY_NAME, BY_OPERATION
from bms.errors import AmbiguousWrite, NotFound
from bms.field_values import UUID
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
from bms.sender import Decode, Query, Sender
from bms.settings import ClientSettings
from bms.transport import BeforeSend, Response

EmployeeFilter = Literal["ACTIVE", "STANDBY", "FORMER", "ALL"]
ContactFilter = Literal["ALL", "ACTIVE", "ASSIGNED", "DELETED"]
InvoiceLanguage = Literal["EN", "FR"]

T = TypeVar("T")


class Client:
    """Client of the service; an async context manager for one event loop.

    The token stays in this object. `on_token` is awaited with each new token before its first use,
    so that the caller can mask it in logs. Clients that share a `limiter` share its limit; by
    default, each client has one of the settings' `concurrency`. Tests replace `clock` (Unix
    time), `sleep` and `random`.

    Opening raises `InvalidTlsFile` if the settings' `verify` or `cert` names no usable file.
    Every method may raise `MissingScope` (nothing sent), `TokenRefused`, `Unauthorized`, `Refused`,
    and after retries `Throttled`, `ServiceUnavailable`, `ConnectionFailed`, `Timeout` or
    `MalformedResponse`. A `create_...` raises `AmbiguousWrite` and sends nothing more if the record
    may have been created.
    """

    ambiguous: ClassVar[type[AmbiguousWrite]] = AmbiguousWrite
    """The error to raise after a request that is not `idempotent` and may have been executed."""

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
            ambiguous=self.ambiguous,
        )
        self._readers: dict[str, RecordReader[Any]] = {
            name: RecordReader(BY_NAME[name], record) for name, record in BY_OPERATION.items()
        }

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
        """Return the granted scopes and the token's remaining seconds (POST /v1/token).

        Requests a token if there is none. Never returns the token.
        """
        return await self._sender.access()

    async def raw(
        self,
        operation: str,
        query: Query | None = None,
        *,
        values: Mapping[str, str | int] | None = None,
        authenticate: bool = True,
    ) -> Response:
        """Return the undecoded response of a reading operation: status, headers and body.

        Returns every status but 401 (with `authenticate`), 408, 421, 423, 425, 429 and 5xx, which
        raise after retries as in the other methods. Raises `ValueError` for an operation that writes.
        """
        endpoint = BY_NAME[operation]
        if endpoint.method != "GET":
            raise ValueError(f"{endpoint} is not a reading operation")
        return await self._sender.raw(
            endpoint, values=values, query=query, authenticate=authenticate
        )

    async def raw_token(self) -> Response:
        """Request a new token for the following requests, and return the undecoded response."""
        return await self._sender.raw_token()

    async def _page(
        self, operation: str, number: int, size: int | None, query: Query | None = None
    ) -> Page[Any]:
        """Return a page of a list; its size is by default the settings'."""
        size = self.settings.page_size if size is None else size
        read = partial(self._readers[operation].page, number=number, size=size)
        asked = {"page_number": number, "page_size": size, **(query or {})}
        return await self._sender.request(BY_NAME[operation], read, query=asked)

    async def _detail(self, operation: str, **values: str | int) -> Detail[Any]:
        """Return one record; `values` are those of the path."""
        read = self._readers[operation].detail
        return await self._sender.request(BY_NAME[operation], read, values=values)

    async def list_employees(
        self,
        *,
        id_entity: int,
        filter: EmployeeFilter | None = None,  # noqa: A002 - the interface's name
    ) -> Rows[EmployeeItem]:
        """Return the employees of an entity (GET /v1/HR/employees), a list without pages.

        The interface does not show the default of `filter`; it may exclude employees on standby.
        Pass ALL to get every employee.
        """
        return await self._sender.request(
            BY_NAME["list_employees"],
            self._readers["list_employees"].rows,
            query={"id_entity": id_entity, "filter": filter},
        )

    async def read_employee(self, guid_employee: str) -> Detail[Employee]:
        """Return one employee (GET /v1/HR/employees/{guid_employee}).

        Raises `NotFound` for an unknown employee, without a request if `guid_employee` is no UUID,
        and `InvalidRecords` if its key or an amount is unusable.
        """
        if not UUID.fullmatch(guid_employee):  # any other text could address another path
            text = "guid_employee is no UUID; nothing was sent"
            raise NotFound(BY_NAME["read_employee"], text, status=HTTPStatus.NOT_FOUND)
        return await self._detail("read_employee", guid_employee=guid_employee)

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

        GET /v1/ERP/invoices/clients: a list without pages, of any length. The interface does not
        show which date the range filters. Raises `RangeRefused` if the service may accept a
        shorter range.
        """
        return await self.client_invoices(
            self._readers["list_client_invoices"].rows,
            id_entity=id_entity,
            start_date=start_date,
            end_date=end_date,
            language=language,
        )

    async def client_invoices(
        self,
        read: Decode[T],
        *,
        id_entity: int,
        start_date: date,
        end_date: date,
        language: InvoiceLanguage | None = None,
    ) -> T:
        """Return the invoices that `list_client_invoices` requests, as decoded by `read`.

        For bulk loads with a faster decoder than one object per invoice. `read` may return an
        awaitable, to decode in another thread. It raises `MalformedResponse` for a body that is no
        array; the client then repeats the request.
        """
        for name, day in (("start_date", start_date), ("end_date", end_date)):
            if isinstance(day, datetime):  # a subclass of date; its day depends on the time zone
                raise TypeError(f"{name} takes a date, not a date-time")
        if end_date < start_date:  # the service would return an empty list
            raise ValueError("the last day is before the first day: swap them")
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
        filter: ContactFilter,  # noqa: A002 - the interface's name
        page_number: int = 1,
        page_size: int | None = None,
        id_client: int | None = None,
        is_lead: bool | None = None,
    ) -> Page[ContactItem]:
        """Return one page of contacts (GET /v1/CRM/contacts); `bms.paging.all_pages` reads all.

        `page_number` counts from 1; `page_size` defaults to the settings'. The interface shows no
        maximum for it, and the service may return fewer rows than requested.
        """
        query = {"id_client": id_client, "filter": filter, "is_lead": is_lead}
        return await self._page("list_contacts", page_number, page_size, query)

    async def read_contact(self, id_contact: int) -> Detail[Contact]:
        """Return one contact (GET /v1/CRM/contacts/{id_contact}); see `read_employee`."""
        return await self._detail("read_contact", id_contact=int(id_contact))

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
        type: str | None = None,  # noqa: A002 - the interface's name
    ) -> Page[ConsultantItem]:
        """Return one page of consultants (GET /v1/CRM/Consultants); see `list_contacts`."""
        query = {"id_client": id_client, "type": type}
        return await self._page("list_consultants", page_number, page_size, query)

    async def read_consultant(self, id_consultant: int) -> Detail[Consultant]:
        """Return one consultant (GET /v1/CRM/Consultants/{id_consultant})."""
        return await self._detail("read_consultant", id_consultant=int(id_consultant))

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
