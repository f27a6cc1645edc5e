"""From Airflow's connection to the service's client, and little else."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook, get_current_context
from airflow.sdk.log import amask_secret

from bms_provider import pool
from bms_provider.hooks.connection import (
    FIELDS,
    BadConnection,
    client_settings,
    entity_list,
    exposures,
    given_extras,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Connection

    from bms.answers import Access
    from bms.client import Client
    from bms.counters import Counters
    from bms.errors import BmsError
    from bms.in_flight import InFlight
    from bms.settings import Settings

log = logging.getLogger(__name__)

TEST_SECONDS = 10.0
"""The longest that one request of a connection's test may take: it runs inside the API server."""


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
    def extras(self) -> Mapping[str, Any]:
        """The connection's extras that hold something; raises `BadConnection`."""
        return given_extras(self.connection)

    @cached_property
    def settings(self) -> Settings:
        """What the connection says, as the client's settings; raises `BadConnection`.

        A task in the pool of the service has no more requests in flight than slots.
        """
        settings = client_settings(self.connection, self.extras)
        for exposure in exposures(settings):
            log.warning("Connection %s: %s", self.bms_conn_id, exposure)
        slots = own_slots()
        if slots is None or slots >= settings.concurrency:
            return settings
        return replace(settings, concurrency=slots)

    @cached_property
    def entities(self) -> list[int]:
        """The entities to work on where a run names none; raises `BadConnection`."""
        return entity_list(self.extras.get("entities"))

    def entities_or(self, named: list[int] | None) -> list[int]:
        """Return the entities that a run names, else the connection's; raises `BadConnection`.

        A run that has none of either would read nothing and end well.
        """
        entities = named or self.entities
        if not entities:
            raise BadConnection(
                f"{FIELDS['entities']} is empty, and the run names none: give either."
            )
        return entities

    @cached_property
    def in_flight(self) -> InFlight:
        """What all clients of this hook have in flight together."""
        from bms.in_flight import InFlight  # noqa: PLC0415 - with the client, not at import

        return InFlight(self.settings.concurrency)

    def client(self, counters: Counters | None = None, **changes: Any) -> Client:
        """Return a client (an async context manager); its tokens are masked before their first use.

        `changes` are settings that this client has otherwise than the connection says.
        """
        from bms.client import Client  # noqa: PLC0415 - brings aiohttp, not wanted at import

        return Client(
            replace(self.settings, **changes),
            counters=counters,
            in_flight=self.in_flight,
            on_token=amask_secret,
        )

    def test_connection(self) -> tuple[bool, str]:
        """Fetch a token and say which scopes it grants and which are missing; never shows it.

        One try and no long wait, since Airflow runs this inside the API server. Never raises.
        """
        from bms.errors import BadTlsFile, BmsError  # noqa: PLC0415

        try:
            settings, _ = self.settings, self.entities
            hurried = replace(settings, attempts=1, timeout=min(settings.timeout, TEST_SECONDS))
            access = asyncio.run(_access(hurried))
        except BmsError as error:
            return False, f"{error}. {remedy(error)}"
        except BadConnection as error:
            return False, str(error)
        except BadTlsFile as error:
            return False, f"{FIELDS[error.setting]} {error.said}."
        except Exception as error:  # noqa: BLE001 - a test answers, and a foreign text may quote a secret
            return False, f"The test itself failed ({type(error).__name__})."
        return True, said_of(access)


def own_slots() -> int | None:
    """Return the slots of the service's pool that the current task has; None where it has none."""
    try:
        task = get_current_context()["task"]
    except RuntimeError:  # no task: a test of the connection, a script
        return None
    return task.pool_slots if task.pool == pool.NAME else None


async def _access(settings: Settings) -> Access:
    from bms.client import Client  # noqa: PLC0415

    async with Client(settings) as client:
        return await client.access()


def missing_scopes(access: Access) -> list[str] | None:
    """Return the scopes that some operation needs and the token lacks; None where it doesn't say."""
    from bms.endpoints import ENDPOINTS  # noqa: PLC0415

    if access.scopes is None:
        return None
    return sorted({endpoint.scope for endpoint in ENDPOINTS if endpoint.scope} - access.scopes)


def said_of(access: Access) -> str:
    """Return what a received token allows, as a sentence for people."""
    life = access.expires_in_s
    lives = "" if life is None else f", for {life:.0f} seconds"
    missing = missing_scopes(access)
    if access.scopes is None or missing is None:
        return f"Token received{lives}; the service does not say which scopes it grants."
    granted = ", ".join(sorted(access.scopes))
    return f"Token received{lives}. Granted: {granted}. Missing: {', '.join(missing) or 'none'}."


def remedy(error: BmsError) -> str:
    """Return what to look at when no token could be had."""
    from bms import errors  # noqa: PLC0415

    host = FIELDS["base_url"]
    if error.status in {404, 405}:
        return f"Something answers there, but not the service: look at {host} and its path."
    remedies: tuple[tuple[type[BmsError], str], ...] = (
        (
            errors.TokenRefused,
            f"Look at {FIELDS['client_id']}, {FIELDS['application_id']} and {FIELDS['secret']}.",
        ),
        (
            errors.ConnectionFailed,
            f"Look at {host}, its port, {FIELDS['proxies']} and, for https, {FIELDS['verify']}.",
        ),
        (errors.Timeout, f"Look at {host}, its port and {FIELDS['proxies']}."),
        (errors.Redirected, f"Give the address it points to as {host}."),
        (errors.MalformedAnswer, f"Is that the service? Look at {host} and its path."),
        (errors.Throttled, "Too many requests just now: try again in a while."),
        (errors.ServiceUnavailable, "The service itself fails: try again in a while."),
    )
    return next((text for kind, text in remedies if isinstance(error, kind)), "")
