"""Asynchronous client with one method per operation of the service.

`bms.endpoints` declares the operations; `signatures.pyi` has the methods for type checkers.
"""

import re
from collections.abc import Awaitable, Mapping
from datetime import date
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bms.arguments import Query
from bms.created import read_created_employee, read_created_id
from bms.decoding import RecordReader
from bms.endpoints import BY_NAME, BY_OPERATION, ENDPOINTS, Endpoint, InvoiceLanguage
from bms.errors import NotFound
from bms.operations import list_query, path_values, typed, with_operations
from bms.responses import FindRows, Page
from bms.sender import Decode, Sender
from bms.transport import Response

if TYPE_CHECKING:
    from bms.signatures import Operations
else:
    Operations = object

T = TypeVar("T")

PATH: Final = re.compile(r"/(?!/)[^?#{}\\\s]*")


@with_operations
class Client(Sender, Operations):
    """Client of the service; an async context manager for one event loop.

    The token stays in this object. `on_token` is awaited with each new token before its first use,
    so that the caller can mask it in logs. `advise` returns what each error's text says at its end:
    where the request went and what to check. Clients that share a `limiter` share its limit; by
    default, each client has one of the settings' `concurrency`. Tests replace `clock` (Unix
    time), `sleep` and `random`.

    Opening raises `InvalidTlsFile` if the settings' `verify` or `cert` names no usable file.
    Every method may raise `MissingScope` (nothing sent), `TokenRefused`, `Unauthorized`, `Refused`,
    and after retries `Throttled`, `ServiceUnavailable`, `ConnectionFailed`, `Timeout` or
    `MalformedResponse`. A `create_...` raises `AmbiguousWrite` and sends nothing more if the record
    may have been created.
    """

    @cached_property
    def _readers(self) -> Mapping[str, RecordReader[Any]]:
        return {name: RecordReader(BY_NAME[name], record) for name, record in BY_OPERATION.items()}

    def __repr__(self) -> str:
        return f"Client({self.settings.base_url}, client_id={self.settings.client_id!r})"

    def interrupted(self, endpoint: Endpoint, error: BaseException) -> BaseException:  # noqa: ARG002 - a subclass reads it
        """Return the error to raise where `error` interrupts the wait for a creation."""
        return error

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
        return await self._raw(endpoint, values=values, query=query, authenticate=authenticate)

    async def get(self, path: str, query: Query | None = None, *, check: bool = True) -> Response:
        """Return the undecoded response to a GET of any path below the base URL.

        For what the operations leave out. Token, retries and errors are those of the operations; if
        `path` is one of theirs, so is the scope check. Without `check`, a refusal (4xx) is returned.
        A web page in place of JSON raises `MalformedResponse`.
        """
        if not PATH.fullmatch(path):
            raise ValueError("path begins with one / and has no query, and ends before any #")
        known = (each for each in ENDPOINTS if each.method == "GET" and each.matches(path))
        scope = next((each.scope for each in known), None)
        endpoint = Endpoint("get", "GET", path, scope)
        return await self._raw(endpoint, query=query, check=check)

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
        arguments = {
            "id_entity": id_entity,
            "start_date": start_date,
            "end_date": end_date,
            "language": language,
        }
        return await self._list(BY_NAME["list_client_invoices"], arguments, read)

    async def list_page(
        self, operation: str, number: int, size: int, find: FindRows | None, **given: Any
    ) -> Page[Any]:
        """Return a page of a list, in which the rows that `find` returns are not decoded.

        For lists that are read again and again. `given` are the other arguments of the operation.
        """
        endpoint = BY_NAME[operation]
        arguments = typed(endpoint, {each.name: given.get(each.name) for each in endpoint.params})
        arguments |= {"page_number": number, "page_size": size}
        read = partial(self._readers[operation].page, number=number, size=size, find=find)
        return await self._list(endpoint, arguments, read)

    async def _request(self, endpoint: Endpoint, arguments: dict[str, Any]) -> Any:
        """Call an operation with the arguments of its method."""
        if endpoint.kind == "create":
            decode = (
                partial(read_created_employee, endpoint)
                if endpoint.created
                else partial(read_created_id, endpoint, f"id_{endpoint.noun}")
            )
            return await self._call(endpoint, decode, **arguments)
        reader = self._readers[endpoint.name]
        if endpoint.kind == "read":
            values = path_values(endpoint, arguments)
            return await self._call(endpoint, reader.detail, values=values)
        if not endpoint.paged:
            return await self._list(endpoint, arguments, reader.rows)
        if arguments["page_size"] is None:
            arguments["page_size"] = self.settings.page_size
        number, size = arguments["page_number"], arguments["page_size"]
        return await self._list(endpoint, arguments, partial(reader.page, number=number, size=size))

    async def _list(self, endpoint: Endpoint, arguments: Mapping[str, Any], read: Decode[T]) -> T:
        asked = list_query(endpoint, arguments, end_inclusive=self.settings.end_date_inclusive)
        try:
            return await self._call(endpoint, read, query=asked)
        except NotFound:
            # No wrong address: the token request would have failed. A later page is past the end.
            if not self.settings.empty_list_404 or arguments.get("page_number", 1) > 1:
                raise
        decoded = read(endpoint.no_rows or b"")
        return await decoded if isinstance(decoded, Awaitable) else decoded
