"""The HTTP provider's hook on a connection of type `bms`: GET requests to paths that no operator wraps."""

from __future__ import annotations

import io
from functools import cached_property
from http.client import responses
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from airflow.providers.http.hooks.http import HttpHook
from requests import Response
from requests.utils import get_encoding_from_headers

from bms.arguments import wire_query
from bms.endpoints import ENDPOINTS
from bms.json_content import BYTE_ORDER_MARK
from bms_provider.hooks.bms import BmsHook

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bms.sync_client import SyncClient

ONLY_GET = "the service may execute a repeated request twice, and only the creates are protected"


def check_get(method: str, path: str | None) -> None:
    """Raise `ValueError` for a method other than GET; name the operator of a protected create."""
    if method.upper() == "GET":
        return
    known = (
        each for each in ENDPOINTS if not each.idempotent and each.path == urlsplit(path or "").path
    )
    create = next(known, None)
    name = "".join(map(str.capitalize, create.name.split("_"))) if create else ""
    instead = f" Use Bms{name}Operator." if create else ""
    raise ValueError(f"{method.upper()} {path}: only GET is sent ({ONLY_GET}).{instead}")


class BmsHttpHook(HttpHook):
    """Send GET requests to any path of the service, with the token, TLS and proxy of a `bms` connection.

    Requests go through the client: retries, renewal of the token, scope check and masking are those
    of `BmsHook`. No extra of the connection becomes a header, and no error quotes a body.

    :param http_conn_id: connection of type ``bms``.
    """

    default_conn_name = BmsHook.default_conn_name
    conn_type = BmsHook.conn_type
    hook_name = BmsHook.hook_name

    def __init__(self, http_conn_id: str = default_conn_name, method: str = "GET") -> None:
        check_get(method, None)
        super().__init__(method="GET", http_conn_id=http_conn_id)

    @cached_property
    def client(self) -> SyncClient:
        """The client; garbage collection closes it."""
        return BmsHook(self.http_conn_id).get_conn()

    def get_conn(self, headers: Any = None, extra_options: Any = None) -> Any:
        """Refuse a session: it would carry the token out of the client."""
        raise NotImplementedError("BmsHttpHook has no session. Call run().")

    def run(  # type: ignore[override]  # no options of requests
        self,
        endpoint: str | None = None,
        data: dict[str, Any] | str | None = None,
        headers: Mapping[str, Any] | None = None,
        extra_options: Mapping[str, Any] | None = None,
    ) -> Response:
        """Return the response to a GET of a path; raise the client's typed errors.

        :param endpoint: path below the base URL, for example ``/v1/CRM/contacts``.
        :param data: parameters of the query.
        :param extra_options: ``{"check_response": False}`` returns a refusal (4xx), too.
        """
        options = {"check_response": True, **(extra_options or {})}
        if headers or options.keys() != {"check_response"}:
            raise ValueError(
                "BmsHttpHook takes no headers, and check_response as its only option: the connection "
                "decides the rest"
            )
        path, _, text = (endpoint or "").partition("?")
        named = data if isinstance(data, dict) else parse_qs(data or "", keep_blank_values=True)
        query = wire_query({**parse_qs(text, keep_blank_values=True), **named})
        found = self.client.get(path, query, check=options["check_response"])
        response = Response()
        response.status_code, response.reason = found.status, responses.get(found.status, "")
        response.url = f"{path}?{urlencode(query, doseq=True)}"
        response.headers.update(found.headers)
        response.encoding = get_encoding_from_headers(response.headers)
        response.raw = io.BytesIO(found.body.removeprefix(BYTE_ORDER_MARK))
        return response


def next_page(response: Response) -> dict[str, Any] | None:
    """Return the parameters of the page after a response, None after the last: a `pagination_function`."""
    query = parse_qs(urlsplit(response.url).query, keep_blank_values=True)
    number = int(query.get("page_number", ["1"])[-1])
    more = number < response.json()["total_pages"]
    return {"data": {**query, "page_number": number + 1}} if more else None
