"""The client: one method for each operation of the service."""

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, timedelta
from functools import partial
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeVar
from uuid import UUID

import msgspec

from bms import retry
from bms.answers import Access, CreatedId, Detail, Page, Rows
from bms.auth import Token, Tokens, read_token
from bms.counters import Counters
from bms.decoding import RecordReader, read_created_employee, read_created_id
from bms.endpoints import BY_NAME, Endpoint
from bms.errors import AmbiguousWrite, BmsError, MalformedAnswer, MissingScope, error_for
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
from bms.scopes import require_scope
from bms.settings import SECONDS_PER_UNIT, Settings
from bms.transport import Answer, Transport

T = TypeVar("T")

EmployeeFilter = Literal["ACTIVE", "STANDBY", "FORMER", "ALL"]
ContactFilter = Literal["ALL", "ACTIVE", "ASSIGNED", "DELETED"]
InvoiceLanguage = Literal["EN", "FR"]

JSON: Final = msgspec.json.Encoder(decimal_format="number")


class Client:
    """Calls the service; an async context manager for one event loop.

    The token lives in this object only. `on_token` is awaited with each new token before its
    first use, for whoever must hide it from logs. `clock` (Unix time), `sleep` and `random` are
    there to be replaced in tests.

    Every method may raise `MissingScope` (nothing sent), `TokenRefused`, `Unauthorized`,
    `Refused`, and after its repeats `Throttled`, `ServiceUnavailable`, `ConnectionFailed`,
    `Timeout` or `MalformedAnswer`; a `create_...` raises `AmbiguousWrite` where it may have
    happened, and never sends again then.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        counters: Counters | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
        on_token: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        self.settings = settings
        self.counters = Counters() if counters is None else counters
        self._clock = clock
        self._sleep = sleep
        self._random = random
        self._on_token = on_token
        self._policy = retry.Policy(
            attempts=settings.attempts,
            backoff_cap=settings.backoff_cap,
            create_refused_by_429=settings.create_refused_by_429,
        )
        self._tokens = Tokens(self._fetch_token, clock=clock)
        self._transport = Transport(settings, self.counters)
        self._invoices = RecordReader(BY_NAME["list_client_invoices"], ClientInvoice)
        self._employee_items = RecordReader(BY_NAME["list_employees"], EmployeeItem)
        self._employees = RecordReader(BY_NAME["read_employee"], Employee)
        self._contact_items = RecordReader(BY_NAME["list_contacts"], ContactItem)
        self._contacts = RecordReader(BY_NAME["read_contact"], Contact)
        self._consultant_items = RecordReader(BY_NAME["list_consultants"], ConsultantItem)
        self._consultants = RecordReader(BY_NAME["read_consultant"], Consultant)

    async def __aenter__(self) -> Self:
        await self._transport.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.close()

    def __repr__(self) -> str:
        return f"Client({self.settings.base_url}, client_id={self.settings.client_id!r})"

    async def access(self) -> Access:
        """Return the granted scopes and the seconds the token has left (POST /v1/token).

        Asks for a token if none is held; never returns the token.
        """
        token = await self._tokens.take()
        return Access(scopes=token.scopes, expires_in_s=token.remaining(self._clock()))

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
        return await self._request(
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
        return await self._request(
            BY_NAME["read_employee"],
            self._employees.detail,
            values={"guid_employee": guid_employee},
        )

    async def create_employee(self, body: Mapping[str, Any]) -> CreatedEmployee:
        """Create an employee (POST /v1/HR/employees) from an employee creation body."""
        endpoint = BY_NAME["create_employee"]
        return await self._request(endpoint, partial(read_created_employee, endpoint), body=body)

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
        last = end_date if self.settings.end_date_inclusive else end_date + timedelta(days=1)
        return await self._request(
            BY_NAME["list_client_invoices"],
            self._invoices.rows,
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
        return await self._request(
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
        return await self._request(
            BY_NAME["read_contact"], self._contacts.detail, values={"id_contact": int(id_contact)}
        )

    async def create_contact(self, body: Mapping[str, Any]) -> CreatedId:
        """Create a contact (POST /v1/CRM/contacts) from a contact creation body."""
        endpoint = BY_NAME["create_contact"]
        return await self._request(
            endpoint, partial(read_created_id, endpoint, "id_contact"), body=body
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
        return await self._request(
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
        return await self._request(
            BY_NAME["read_consultant"],
            self._consultants.detail,
            values={"id_consultant": int(id_consultant)},
        )

    async def create_consultant(self, body: Mapping[str, Any]) -> CreatedId:
        """Create a consultant (POST /v1/CRM/Consultants) from a consultant creation body."""
        endpoint = BY_NAME["create_consultant"]
        return await self._request(
            endpoint, partial(read_created_id, endpoint, "id_consultant"), body=body
        )

    async def _request(
        self,
        endpoint: Endpoint,
        read: Callable[[bytes], T],
        *,
        values: Mapping[str, str | int] | None = None,
        query: Mapping[str, str | int | bool | None] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> T:
        """Send one request of an endpoint with a token; renew the token once if it is refused."""
        path = endpoint.fill(values or {})
        words = {name: wire_text(v) for name, v in (query or {}).items() if v is not None}
        content = None if body is None else JSON.encode(body)
        refused: Token | None = None

        async def once() -> T:
            nonlocal refused
            token = await self._tokens.take(instead_of=refused)
            require_scope(endpoint, token.scopes)
            answer = await self._transport.send(
                endpoint, path, query=words, body=content, bearer=token.value
            )
            if answer.status == HTTPStatus.UNAUTHORIZED and refused is None:
                refused = token
                self.counters.retries += 1
                return await once()
            return self._read(endpoint, answer, read)

        return await self._until_answered(endpoint, once)

    async def _fetch_token(self) -> Token:
        endpoint = BY_NAME["request_token"]
        settings = self.settings
        content = JSON.encode(
            {
                "client_id": settings.client_id,
                "application_id": settings.application_id,
                "secret": settings.secret,
            }
        )

        async def once() -> Token:
            asked_at = self._clock()
            answer = await self._transport.send(
                endpoint, endpoint.path, body=content, bearer=settings.token_bearer_secret
            )

            def read(body: bytes) -> Token:
                token = read_token(
                    body,
                    asked_at=asked_at,
                    served_at=answer.served_at,
                    seconds_per_unit=SECONDS_PER_UNIT[settings.expires_in_unit],
                )
                if token is None:
                    raise MalformedAnswer(endpoint, "answered without a usable access_token")
                return token

            return self._read(endpoint, answer, read)

        token = await self._until_answered(endpoint, once)
        self.counters.token_fetches += 1
        if self._on_token is not None:
            await self._on_token(token.value)
        return token

    async def _until_answered(self, endpoint: Endpoint, once: Callable[[], Awaitable[T]]) -> T:
        """Call `once` until it returns, or raise what `bms.retry` makes of its last failure."""
        started = time.monotonic()
        for attempt in itertools.count(1):
            try:
                return await once()
            except BmsError as error:
                if error.endpoint != endpoint.name or isinstance(error, MissingScope):
                    raise  # no token to be had after repeats of its own, or one that won't do
                failure = error
            match retry.decide(
                failure,
                safe=endpoint.safe,
                attempt=attempt,
                policy=self._policy,
                chance=self._random(),
            ):
                case retry.Repeat(delay):
                    self.counters.retries += 1
                    await self._sleep(delay)
                    continue
                case retry.Doubt(reason):
                    failure = AmbiguousWrite(endpoint, reason, status=failure.status)
                case retry.GiveUp():
                    pass
            failure.tries, failure.elapsed = attempt, time.monotonic() - started
            break
        raise failure

    def _read(self, endpoint: Endpoint, answer: Answer, read: Callable[[bytes], T]) -> T:
        """Return what `read` makes of the body of a 2xx, or raise what the status means."""
        now = self._clock() if answer.served_at is None else answer.served_at
        wait = retry.retry_after(answer.retry_after, now=now)
        failure = error_for(endpoint, answer.status, wait)
        if failure is not None:
            raise failure
        try:
            return read(answer.body)
        except BmsError as error:
            error.status = answer.status
            raise


def wire_text(value: str | int | bool) -> str:
    """Return a query value as it is written in an address."""
    return str(value).lower() if isinstance(value, bool) else str(value)
