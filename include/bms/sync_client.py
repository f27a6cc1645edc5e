"""Synchronous client: the asynchronous one, driven by an event loop in a separate thread."""

import asyncio
import threading
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from datetime import date
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar

from bms.client import Client, ContactFilter, EmployeeFilter, InvoiceLanguage
from bms.endpoints import BY_NAME, BY_OPERATION
from bms.paging import all_pages
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
from bms.responses import Access, CreatedId, Page, Rows

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

CLOSE_SECONDS: Final = 10.0
"""Longest wait for connections to close."""


class SyncClient:
    """Calls the service and waits for the response; a context manager.

    Works where no event loop runs, and where one does, as in a notebook. Connections open with the
    first call. The end of the `with` block, `close()` or garbage collection closes them.

    Lists raise `InvalidRecords` for a row without a usable key or amount, so that no row is lost
    unnoticed. `list_contacts` and `list_consultants` yield records while further pages are read;
    `contact_pages` and `consultant_pages` yield the pages, with the fields that the interface does
    not name (`extra`). All other errors are those of `Client`.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=_run, args=(self._loop,), name="bms-client", daemon=True
        )
        self._opened: asyncio.Task[Client] | None = None
        self._closing = weakref.finalize(self, _close, client, self._loop, self._thread)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Sync{self._client!r}"

    def close(self) -> None:
        """Cancel requests in flight, close every connection and end the thread."""
        self._closing()

    def access(self) -> Access:
        """Return the granted scopes and the remaining life of the token (POST /v1/token)."""
        return self._call(self._client.access)

    def list_employees(
        self,
        *,
        id_entity: int,
        filter: EmployeeFilter | None = None,  # noqa: A002 - the interface's own name
    ) -> Rows[EmployeeItem]:
        """Return the employees of an entity (GET /v1/HR/employees)."""
        return self._all_rows(self._client.list_employees, id_entity=id_entity, filter=filter)

    def read_employee(self, guid_employee: str) -> Employee:
        """Return one employee (GET /v1/HR/employees/{guid_employee})."""
        return self._call(self._client.read_employee, guid_employee).record

    def create_employee(self, body: Mapping[str, Any]) -> CreatedEmployee:
        """Create an employee (POST /v1/HR/employees)."""
        return self._call(self._client.create_employee, body)

    def list_client_invoices(
        self,
        *,
        id_entity: int,
        start_date: date | str,
        end_date: date | str,
        language: InvoiceLanguage | None = None,
    ) -> Rows[ClientInvoice]:
        """Return the invoices of an entity from `start_date` to `end_date`, both included.

        GET /v1/ERP/invoices/clients. Days may be text such as Airflow's `ds`.
        """
        return self._all_rows(
            self._client.list_client_invoices,
            id_entity=id_entity,
            start_date=_day(start_date),
            end_date=_day(end_date),
            language=language,
        )

    def list_contacts(
        self,
        *,
        filter: ContactFilter,  # noqa: A002 - the interface's own name
        id_client: int | None = None,
        is_lead: bool | None = None,
        page_size: int | None = None,
    ) -> Iterator[ContactItem]:
        """Yield the contacts of all pages (GET /v1/CRM/contacts)."""
        for page in self.contact_pages(
            filter=filter, id_client=id_client, is_lead=is_lead, page_size=page_size
        ):
            yield from page

    def contact_pages(
        self,
        *,
        filter: ContactFilter,  # noqa: A002 - the interface's own name
        id_client: int | None = None,
        is_lead: bool | None = None,
        page_size: int | None = None,
    ) -> Iterator[Page[ContactItem]]:
        """Yield the pages of the contacts in order (GET /v1/CRM/contacts)."""
        read = partial(
            self._client.list_contacts,
            filter=filter,
            id_client=id_client,
            is_lead=is_lead,
            page_size=page_size,
        )
        return self._pages(all_pages(lambda number: read(page_number=number)))

    def read_contact(self, id_contact: int) -> Contact:
        """Return one contact (GET /v1/CRM/contacts/{id_contact})."""
        return self._call(self._client.read_contact, id_contact).record

    def create_contact(self, body: Mapping[str, Any]) -> CreatedId:
        """Create a contact (POST /v1/CRM/contacts)."""
        return self._call(self._client.create_contact, body)

    def list_consultants(
        self,
        *,
        id_client: int | None = None,
        type: str | None = None,  # noqa: A002 - the interface's own name
        page_size: int | None = None,
    ) -> Iterator[ConsultantItem]:
        """Yield the consultants of all pages (GET /v1/CRM/Consultants)."""
        for page in self.consultant_pages(id_client=id_client, type=type, page_size=page_size):
            yield from page

    def consultant_pages(
        self,
        *,
        id_client: int | None = None,
        type: str | None = None,  # noqa: A002 - the interface's own name
        page_size: int | None = None,
    ) -> Iterator[Page[ConsultantItem]]:
        """Yield the pages of the consultants in order (GET /v1/CRM/Consultants)."""
        read = partial(
            self._client.list_consultants, id_client=id_client, type=type, page_size=page_size
        )
        return self._pages(all_pages(lambda number: read(page_number=number)))

    def read_consultant(self, id_consultant: int) -> Consultant:
        """Return one consultant (GET /v1/CRM/Consultants/{id_consultant})."""
        return self._call(self._client.read_consultant, id_consultant).record

    def create_consultant(self, body: Mapping[str, Any]) -> CreatedId:
        """Create a consultant (POST /v1/CRM/Consultants)."""
        return self._call(self._client.create_consultant, body)

    if not TYPE_CHECKING:  # a typing error in a name stays an error for mypy

        def __getattr__(self, name: str) -> Callable[..., Any]:
            """Return a reading operation without a method of its own: its records, or its record."""
            if name not in BY_OPERATION:
                raise AttributeError(f"the client has no operation {name}")
            read = getattr(self._client, name)
            if name.startswith("read_"):
                return lambda *key: self._call(read, *key).record
            if not BY_NAME[name].paged:
                return lambda **query: self._all_rows(read, **query)
            return lambda **query: (
                record
                for page in self._pages(all_pages(lambda n: read(page_number=n, **query)))
                for record in page
            )

    def _pages(self, pages: AsyncGenerator[Page[R], None]) -> Iterator[Page[R]]:
        """Yield pages; an iteration that stops early cancels the pages requested ahead."""
        try:
            while (page := self._call(anext, pages, None)) is not None:
                page.require_all()
                yield page
        finally:
            # Not awaited: the garbage collector may run this in the loop's own thread.
            if self._closing.alive:
                asyncio.run_coroutine_threadsafe(pages.aclose(), self._loop)

    def _all_rows(
        self, read: Callable[P, Awaitable[Rows[R]]], *args: P.args, **kwargs: P.kwargs
    ) -> Rows[R]:
        """Return a list without pages; raise `InvalidRecords` for a row that was rejected."""
        rows = self._call(read, *args, **kwargs)
        rows.require_all()
        return rows

    def _call(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call in the loop's thread and wait; an interrupted wait cancels the call."""
        if not self._closing.alive:
            raise RuntimeError("the client is closed")
        future = asyncio.run_coroutine_threadsafe(self._run(call, *args, **kwargs), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _run(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._opened is None:
            self._opened = asyncio.ensure_future(self._client.__aenter__())
        await asyncio.shield(self._opened)
        return await call(*args, **kwargs)


def _day(day: date | str) -> date:
    return date.fromisoformat(day) if isinstance(day, str) else day


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped."""
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.close()


def _close(client: Client, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """Close a client in its loop, then stop the loop."""

    async def close() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await client.__aexit__(None, None, None)
        await loop.shutdown_asyncgens()
        await loop.shutdown_default_executor()
        loop.stop()

    asyncio.run_coroutine_threadsafe(close(), loop)
    if thread is not threading.current_thread():  # the garbage collector runs in any thread
        thread.join(CLOSE_SECONDS)
