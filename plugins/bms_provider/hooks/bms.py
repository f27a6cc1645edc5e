"""From Airflow's connection to the service's client, and little else."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.sdk import BaseHook
from airflow.sdk.log import amask_secret

if TYPE_CHECKING:
    import msgspec
    from airflow.sdk import Connection

    from bms.client import Client
    from bms.counters import Counters
    from bms.settings import Settings

OWN_EXTRAS = ("entities",)
"""Extras that say what to work on; every other one is a setting of the client, by its name."""


class BadConnection(ValueError):
    """A connection of type bms can't be used; the text names the field and what it takes."""


class BmsHook(BaseHook):
    """Give the client of the Business Management Service that a connection describes.

    :param bms_conn_id: connection of type ``bms``: host is the base URL with scheme and any path
        prefix, login the client id, password the secret; the extras stand in the form.
    """

    conn_name_attr = "bms_conn_id"
    default_conn_name = "bms_default"
    conn_type = "bms"
    hook_name = "Business Management Service"

    def __init__(self, bms_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.bms_conn_id = bms_conn_id

    @cached_property
    def connection(self) -> Connection:
        """The connection, read once; read it before an event loop starts."""
        return self.get_connection(self.bms_conn_id)

    @cached_property
    def settings(self) -> Settings:
        """What the connection says, as the client's settings; raises `BadConnection`."""
        return client_settings(self.connection)

    @cached_property
    def entities(self) -> list[int]:
        """The entities to work on where a run names none; raises `BadConnection`."""
        return entity_list(self.connection.extra_dejson.get("entities"))

    def client(self, counters: Counters | None = None) -> Client:
        """Return a client (an async context manager); its tokens are masked before their first use."""
        from bms.client import Client  # noqa: PLC0415 - brings aiohttp, not wanted at import

        return Client(self.settings, counters=counters, on_token=amask_secret)

    def test_connection(self) -> tuple[bool, str]:
        """Fetch a token and say which scopes it grants and which are missing; never shows it."""
        from bms.endpoints import ENDPOINTS  # noqa: PLC0415
        from bms.errors import BmsError  # noqa: PLC0415

        try:
            access = asyncio.run(self._access())
        except (BmsError, BadConnection) as error:
            return False, str(error)
        if access.scopes is None:
            return True, "Token received; the service does not say which scopes it grants."
        granted = sorted(access.scopes)
        needed = {endpoint.scope for endpoint in ENDPOINTS if endpoint.scope}
        missing = sorted(needed - access.scopes)
        return True, (
            f"Token received. Granted: {', '.join(granted) or 'no scope'}. "
            f"Missing: {', '.join(missing) or 'none'}."
        )

    async def _access(self) -> Any:
        from bms.client import Client  # noqa: PLC0415

        async with Client(self.settings) as client:
            return await client.access()


def client_settings(connection: Connection) -> Settings:
    """Read the client's settings off a connection; raise `BadConnection` naming what is wrong."""
    import msgspec  # noqa: PLC0415 - not wanted at import

    from bms.settings import Settings  # noqa: PLC0415

    given: dict[str, object] = {
        name: value
        for name, value in connection.extra_dejson.items()
        if name not in OWN_EXTRAS and value not in (None, "")
    }
    given.update(
        base_url=_base_url(connection),
        client_id=connection.login or "",
        secret=connection.password or "",
    )
    if given.get("verify") in ("true", "false"):
        given["verify"] = given["verify"] == "true"
    for name, field in (
        ("base_url", "host"),
        ("client_id", "login"),
        ("application_id", "extra application_id"),
    ):
        if not given.get(name):
            raise BadConnection(f"Connection {connection.conn_id}: {field} is empty.")
    try:
        return msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        # The error's own text may quote what stands in the field, and that may be a secret.
        raise BadConnection(f"Connection {connection.conn_id}: {_complaint(error)}") from None
    except ValueError as error:
        raise BadConnection(f"Connection {connection.conn_id}: {error}.") from None


def entity_list(given: object) -> list[int]:
    """Read entities as a list or as comma-separated text; raise `BadConnection` otherwise."""
    parts = given.split(",") if isinstance(given, str) else given or []
    try:
        return [int(part) for part in parts if str(part).strip()]  # type: ignore[attr-defined]  # a wrong type is told below
    except (TypeError, ValueError):
        raise BadConnection("Extra entities takes numbers, as in 1, 2, 5.") from None


def _base_url(connection: Connection) -> str:
    host = connection.host or ""
    if not host:
        return ""
    url = host if "://" in host else f"https://{host}"
    parts = urlsplit(url)
    if connection.port and parts.port is None:
        parts = parts._replace(netloc=f"{parts.netloc}:{connection.port}")
    return parts.geturl()


def _complaint(error: msgspec.ValidationError) -> str:
    _, _, place = str(error).partition(" - at `$.")
    if place:
        return f"extra {place.rstrip('`')} holds what it can't take; the form's help says what it takes."
    return f"{error}."
