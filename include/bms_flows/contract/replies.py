"""Undecoded responses of reading operations, as the probe inspects them."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from bms.client import Client
from bms.endpoints import BY_NAME, Endpoint
from bms.errors import MalformedResponse, error_for
from bms.json_content import UNREADABLE, json_content
from bms.transport import Response


class Reply:
    """A response of any status, with its content as JSON."""

    def __init__(self, response: Response, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.status, self.body = response.status, response.body
        self.served_at, self.ok = response.served_at, response.ok
        self.refused = 400 <= response.status < 500  # noqa: PLR2004 - HTTP's status classes

    def content(self) -> Any:
        """Return the body as JSON, None if it is not JSON."""
        try:
            return json_content(self.body)
        except UNREADABLE:
            return None

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of a list, paged or not.

        Raises the error of a refusal, and `MalformedResponse` for any other content, such as a note about
        maintenance.
        """
        if error := error_for(self._endpoint, self.status, None):
            raise error
        if self.status == HTTPStatus.NO_CONTENT:
            return []
        content = self.content()
        rows = content.get("data") if isinstance(content, dict) else content
        if rows is None and (content is None or "total_pages" in content):
            return []
        if not isinstance(rows, list):
            raise MalformedResponse(self._endpoint, "responded without rows", status=self.status)
        return [row for row in rows if isinstance(row, dict)]

    @property
    def total_pages(self) -> int | None:
        """The number of pages, None if the response is no paged list."""
        content = self.content()
        total = content.get("total_pages") if isinstance(content, dict) else None
        return total if isinstance(total, int) and not isinstance(total, bool) else None


async def ask(
    client: Client,
    operation: str,
    query: Mapping[str, str | int | bool] | None = None,
    *,
    values: Mapping[str, str | int] | None = None,
    authenticate: bool = True,
) -> Reply:
    """Return the reply of a reading operation; raise the client's errors that a retry may solve."""
    response = await client.raw(operation, query, values=values, authenticate=authenticate)
    return Reply(response, BY_NAME[operation])
