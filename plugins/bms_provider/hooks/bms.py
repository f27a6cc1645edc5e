"""Hook for the Business Management Service: clients and DataFrames from an Airflow connection."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from airflow.sdk import BaseHook, get_current_context
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from bms_provider import pool
from bms_provider.hooks.access import advice, describe_access, hurried, not_found, remedy
from bms_provider.hooks.connection import (
    FIELDS,
    BadConnection,
    client_settings,
    entity_list,
    exposures,
    given_extras,
    remarks,
    unknown_extras,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import pandas as pd
    from airflow.sdk import Connection

    from bms.client import Client
    from bms.concurrency import ConcurrencyLimiter
    from bms.counters import Counters
    from bms.dataframes import Amounts, Dates
    from bms.errors import BmsError
    from bms.responses import Access
    from bms.settings import ClientSettings
    from bms.signatures import ListName
    from bms.sync_client import SyncClient

log = logging.getLogger(__name__)


class BmsHook(BaseHook):
    """Connect to the Business Management Service.

    In a task (in an ``async def`` task ``async with`` and `aclient`)::

        with BmsHook().get_conn() as client:
            for contact in client.list_contacts(filter="ACTIVE"):
                ...

    :param bms_conn_id: connection of type ``bms``.
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
        """The connection, read once. Read it before an event loop starts, or use `aclient`."""
        return self.get_connection(self.bms_conn_id)

    @cached_property
    def extras(self) -> Mapping[str, Any]:
        """The connection's known extras that have a value; raises `BadConnection`."""
        return _masked_extras(self.connection)

    @cached_property
    def settings(self) -> ClientSettings:
        """The client's settings from the connection; raises `BadConnection`.

        A task in the pool of the service has at most as many requests in flight as it has slots.
        """
        settings = client_settings(self.connection, self.extras)
        if (proxy := settings.proxy()) and (password := urlsplit(proxy).password):
            mask_secret(password)
            mask_secret(unquote(password))
        for each in filter(None, [*exposures(settings), remarks(self.connection)]):
            log.warning("Connection %s: %s", self.bms_conn_id, each)
        slots = slots_of_current_task()
        if slots is None or slots >= settings.concurrency:
            return settings
        return replace(settings, concurrency=slots)

    @cached_property
    def entities(self) -> list[int]:
        """The entities to read if a run names none; raises `BadConnection`."""
        return entity_list(self.extras.get("entities"))

    def entities_or(self, named: list[int] | None) -> list[int]:
        """Return the entities that a run names, else the connection's; raise `BadConnection` for none.

        Each is returned once: two tasks of one entity would take its days from each other.
        """
        entities = [*dict.fromkeys(named or self.entities)]
        if not entities:
            raise BadConnection(
                f"{FIELDS['entities']} is empty, and the run names none. Set one of the two."
            )
        return entities

    @cached_property
    def limiter(self) -> ConcurrencyLimiter:
        """The limit of requests in flight that all `client`s of this hook share."""
        from bms.concurrency import ConcurrencyLimiter  # noqa: PLC0415 - with the client, not at import

        return ConcurrencyLimiter(self.settings.concurrency)

    def client(self, counters: Counters | None = None, **changes: Any) -> Client:
        """Return an asynchronous client, a context manager; tokens are masked before their first use.

        `changes` replace settings of the connection. Reads the connection synchronously: call it
        before an event loop starts.
        """
        from bms.client import Client  # noqa: PLC0415 - imports aiohttp

        return Client(
            replace(self.settings, **changes),
            counters=counters,
            limiter=self.limiter,
            on_token=_mask,
            advise=self._advise,
        )

    def _advise(self, error: BmsError) -> str:
        return advice(error, self.connection, self.settings.base_url)

    def get_conn(self) -> SyncClient:
        """Return a synchronous client; use it in a `with` block, or close it.

        Also works in a notebook; raises `RuntimeError` in an ``async def`` task.

        A creation with an ambiguous outcome fails the task for good. Airflow retries a task whose worker
        dies: set ``retries=0`` on a task that creates.
        """
        from bms.sync_client import SyncClient  # noqa: PLC0415 - imports aiohttp
        from bms_provider.hooks.clients import TaskClient  # noqa: PLC0415

        if _in_async_task():
            raise RuntimeError(
                "get_conn() blocks the event loop of an async task. "
                "Use `async with hook.aclient() as client` instead."
            )
        return SyncClient(TaskClient(self.settings, on_token=_mask, advise=self._advise))

    def access(self) -> Access:
        """Return what the connection's token allows: scopes, missing scopes, and its expiry.

        `Access.missing` takes names of operations. Requests a token in one attempt with a short timeout.
        """
        from bms.client import Client  # noqa: PLC0415 - imports aiohttp
        from bms.sync_client import SyncClient  # noqa: PLC0415

        with SyncClient(
            Client(hurried(self.settings), on_token=_mask, advise=self._advise)
        ) as client:
            return client.access()

    def get_df(
        self,
        name: ListName,
        *,
        amounts: Amounts = "decimal",
        dates: Dates = "datetime64",
        **arguments: Any,
    ) -> pd.DataFrame:
        """Return a list of the service as a DataFrame, by default with exact amounts.

        `arguments` are those of ``list_<name>`` of `get_conn`'s client, for example
        ``get_df("client_invoices", id_entity=1, start_date=ds, end_date=ds)``. `bms.dataframes` lists the
        dtypes and what `amounts` and `dates` change.
        """
        from bms.dataframes import dataframe  # noqa: PLC0415 - imports pandas and pyarrow
        from bms.endpoints import BY_OPERATION, ENDPOINTS  # noqa: PLC0415
        from bms.typed_rows import typed_rows  # noqa: PLC0415

        lists = {each.name.removeprefix("list_"): each for each in ENDPOINTS if each.kind == "list"}
        if name not in lists:
            raise ValueError(f"name takes {', '.join(lists)}, not {name!r}")
        found, zone = lists[name], self.settings.time_zone
        record = BY_OPERATION[found.name]
        with self.get_conn() as client:
            read = getattr(client, f"{found.noun}_pages" if found.paged else found.name)
            pages = read(**arguments) if found.paged else [read(**arguments)]
            rows = (row for page in pages for row in typed_rows(page, record, zone))
            return dataframe(record, rows, amounts=amounts, dates=dates)

    @asynccontextmanager
    async def aclient(self, **changes: Any) -> AsyncIterator[Client]:
        """Open an asynchronous client for the `async with` block of an ``async def`` task.

        `changes` replace settings of the connection. A task that creates also needs ``retries=0`` here.
        """
        from bms_provider.hooks.clients import TaskClient  # noqa: PLC0415 - imports aiohttp

        if "connection" not in vars(self):
            connection = await self.aget_connection(self.bms_conn_id)
            extras = await asyncio.to_thread(_masked_extras, connection)
            vars(self).update(connection=connection, extras=extras)
        settings = replace(self.settings, **changes)
        async with TaskClient(
            settings, limiter=self.limiter, on_token=_mask, advise=self._advise
        ) as client:
            yield client

    def test_connection(self) -> tuple[bool, str]:
        """Request a token; return success and a text with the granted and missing scopes.

        One attempt with a short timeout, because the API server calls it. Never raises.
        """
        from bms.errors import BmsError, InvalidTlsFile  # noqa: PLC0415 - as above

        try:
            _ = self.entities
            access = self.access()
        except BmsError as error:
            # Airflow's form tests under a random id.
            error.advice = " ".join(filter(None, [remedy(error), remarks(self.connection)]))
            return False, str(error)
        except BadConnection as error:
            return False, str(error)
        except AirflowNotFoundException:
            return False, not_found(self.bms_conn_id)
        except InvalidTlsFile as error:
            return False, f"{FIELDS[error.setting]} {error.problem}."
        except Exception as error:  # noqa: BLE001 - a foreign error's text may quote a secret
            return False, f"The connection test failed unexpectedly ({type(error).__name__})."
        ignored = unknown_extras(self.connection)
        notes = [
            f"Ignored unknown extras: {ignored}." if ignored else "",
            remarks(self.connection),
        ]
        return True, " ".join(filter(None, [describe_access(access), *notes]))


def _masked_extras(connection: Connection) -> dict[str, Any]:
    """Return the known extras; mask the secrets among them, and warn of unknown names."""
    extras = given_extras(connection)
    _ = connection.extra_dejson  # Airflow masks by the names of the extras
    if unknown := unknown_extras(connection):
        log.warning("Connection %s: ignored unknown extras: %s", connection.conn_id, unknown)
    return extras


async def _mask(token: str) -> None:
    """Mask a token in Airflow's logs, in a thread.

    A call of Airflow's supervisor on the thread of an event loop can deadlock, and its asynchronous
    form works in the first event loop of a task only.
    """
    await asyncio.to_thread(mask_secret, token)


def _in_async_task() -> bool:
    """Return whether the caller runs in the event loop of a task."""
    try:
        asyncio.get_running_loop()
        get_current_context()
    except RuntimeError:  # no loop runs, or no task
        return False
    return True


def slots_of_current_task() -> int | None:
    """Return the pool slots of the current task; None if it is not in the service's pool."""
    try:
        task = get_current_context()["task"]
    except RuntimeError:  # no task: a connection test, a notebook
        return None
    return task.pool_slots if task.pool == pool.NAME else None
