"""What every operator does: read the connection, ask the service, count, hand back little."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseAsyncOperator

from bms_provider import policy, workplace
from bms_provider.hooks.bms import BmsHook
from bms_provider.operators import export

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from airflow.sdk import Context, RetryPolicy
    from upath import UPath

    from bms.answers import Detail, Rows
    from bms.client import Client
    from bms.endpoints import Endpoint

SERVICE_RETRIES = policy.ServiceRetryPolicy()

FOLDER = (
    "operators/{{ dag.dag_id }}/{{ run_id | replace(':', '') | replace('+', '_') }}/"
    "{{ task.task_id }}{{ '-%d' % ti.map_index if ti.map_index >= 0 }}"
)
"""Below the data root: the file of one task of one run; a new try replaces it whole."""


class BmsOperator(BaseAsyncOperator):
    """Ask the service for one operation.

    :param bms_conn_id: connection of type ``bms`` (templated).
    :param retry_policy: by default what may pass is tried again, as often as ``retries`` says.
    """

    endpoint: ClassVar[Endpoint]
    """The operation it serves."""
    template_fields: Sequence[str] = ("bms_conn_id",)

    def __init__(
        self,
        *,
        bms_conn_id: str = BmsHook.default_conn_name,
        retry_policy: RetryPolicy | None = SERVICE_RETRIES,
        **kwargs: Any,
    ) -> None:
        super().__init__(retry_policy=retry_policy, **kwargs)
        self.bms_conn_id = bms_conn_id

    @cached_property
    def hook(self) -> BmsHook:
        """The hook of the operator's connection."""
        return BmsHook(self.bms_conn_id)

    def execute(self, context: Context) -> Any:
        """Look up what Airflow knows, then start the loop, in which nothing is asked of Airflow."""
        self.prepare()
        return super().execute(context)  # type: ignore[no-untyped-call]  # Airflow's own is untyped

    def prepare(self) -> None:
        """Read connection and settings: asked for inside the loop they could block it for good."""
        _ = self.hook.settings

    async def aexecute(self, context: Context) -> Any:  # noqa: ARG002 - Airflow's signature
        """Open a client, ask, and emit what was counted, however it ends."""
        from bms.counters import Counters  # noqa: PLC0415 - comes with the client, in the task

        counters = Counters()
        try:
            async with self.hook.client(counters) as client:
                return await self.ask(client)
        finally:
            workplace.emit(counters, self.endpoint.name)

    async def ask(self, client: Client) -> Any:
        """Ask the service and return what goes to XCom."""
        raise NotImplementedError


class BmsFileOperator(BmsOperator):
    """Base of the operators whose answer goes to a file, for it is large or personal.

    :param path: file below ``BMS_DATA_ROOT`` (templated); compressed where it ends in ``.gz``.
        On a local disk only its owner may read it.
    :return: to XCom: ``path``, ``rows``, ``sha256`` and ``bytes`` of the file.
    """

    template_fields: Sequence[str] = (*BmsOperator.template_fields, "path")

    def __init__(self, *, path: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.path = path

    @cached_property
    def target(self) -> UPath:
        """The file to write."""
        return export.below_root(self.path)

    def prepare(self) -> None:
        """Read the connection and attach the store of the file."""
        super().prepare()
        _ = self.target


class BmsListOperator(BmsFileOperator):
    """Base of the operators that write a list: one JSON object to a line, in the service's order."""

    def __init__(self, *, path: str = FOLDER + ".jsonl.gz", **kwargs: Any) -> None:
        super().__init__(path=path, **kwargs)

    def answers(self, client: Client) -> AsyncGenerator[Rows[Any], None]:
        """Yield the answers of the list, page by page where it has pages."""
        raise NotImplementedError

    async def ask(self, client: Client) -> dict[str, Any]:
        """Write every row; raise `InvalidRecords` if one has no usable key or money."""
        with export.rows_file(self.target) as file:
            async with aclosing(self.answers(client)) as answers:
                async for rows in answers:
                    _require_all(rows)
                    await asyncio.to_thread(file.add, rows.records, rows.extra)
        return file.manifest()


class BmsReadOperator(BmsFileOperator):
    """Base of the operators that write one record, as one JSON object."""

    def __init__(self, *, path: str = FOLDER + ".json", **kwargs: Any) -> None:
        super().__init__(path=path, **kwargs)

    async def read(self, client: Client) -> Detail[Any]:
        """Return the record asked for."""
        raise NotImplementedError

    async def ask(self, client: Client) -> dict[str, Any]:
        """Write the record."""
        detail = await self.read(client)
        with export.rows_file(self.target) as file:
            await asyncio.to_thread(file.add, [detail.record], {0: detail.extra})
        return file.manifest()


def _require_all(rows: Rows[Any]) -> None:
    """Raise `InvalidRecords` if a row was rejected, with the page it stands on."""
    from bms.answers import Page  # noqa: PLC0415 - with the client, not at import
    from bms.errors import InvalidRecords  # noqa: PLC0415

    try:
        rows.require_all()
    except InvalidRecords as error:
        if isinstance(rows, Page):
            error.add_note(f"These rows are on page {rows.number}.")
        raise
