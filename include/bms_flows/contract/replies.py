"""Undecoded responses of reading operations, as the probe inspects them."""

from collections.abc import Mapping
from typing import Any

from bms.client import Client
from bms.json_content import UNREADABLE, json_content
from bms.transport import Response


class Reply:
    """A response of any status, with its content as JSON."""

    def __init__(self, response: Response) -> None:
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
        """Return the rows of a list, paged or not; an empty list for any other content."""
        content = self.content()
        rows = content.get("data") if isinstance(content, dict) else content
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

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
    return Reply(await client.raw(operation, query, values=values, authenticate=authenticate))
