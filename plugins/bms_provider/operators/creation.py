"""What the creating operators share: a body that leaks nowhere, and that no record comes twice."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from airflow.sdk.exceptions import AirflowFailException, AirflowTaskTimeout

from bms_provider.hooks.connection import BadConnection
from bms_provider.operators import export
from bms_provider.operators.base import BmsOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context
    from upath import UPath

    from bms.answers import CreatedId
    from bms.client import Client
    from bms.records import CreatedEmployee


class BmsCreateOperator(BmsOperator):
    """Create a record from the body in a file, and never twice.

    The body is personal data. Airflow stores rendered template fields, and the arguments of a
    mapped operator, as plain text in its database and shows them. So the operator takes the path
    of a file, and holds the body itself only while it is sent.

    ``retries`` is 0 unless given to the operator itself (or to its ``partial``). Those of
    ``default_args`` don't count: when a worker dies, nobody knows whether the record was created.
    Where retries are given, only a failure in which the service surely did nothing is tried
    again; any other ends the task for good (`AirflowFailException`), and the record is to be
    looked for in the service before the task is cleared.

    :param body_path: JSON file of the creation body, below ``BMS_DATA_ROOT`` (templated).
    :param bms_conn_id: connection of type ``bms`` (templated).
    :return: to XCom: the ids of the created record.
    """

    template_fields: Sequence[str] = (*BmsOperator.template_fields, "body_path")

    def __init__(self, *, body_path: str, **kwargs: Any) -> None:
        super().__init__(**{"retries": 0, **kwargs})
        self.body_path = body_path

    @classmethod
    def partial(cls, **kwargs: Any) -> Any:
        """Return the operator to be expanded, without the retries of ``default_args``."""
        return super().partial(**{"retries": 0, **kwargs})

    @cached_property
    def source(self) -> UPath:
        """The file of the body."""
        return export.below_root(self.body_path)

    def prepare(self) -> None:
        """Read the connection and attach the store of the body."""
        super().prepare()
        _ = self.source

    def execute(self, context: Context) -> Any:
        """Create the record; a failure that may have created it ends the task for good."""
        try:
            return super().execute(context)
        except (Exception, AirflowTaskTimeout) as error:
            if getattr(error, "retriable", False):
                raise  # of a create the client says so only when the service surely did nothing
            failure = AirflowFailException(ending(error))
        raise failure  # not inside `except`: the text of a foreign error may quote the body

    async def ask(self, client: Client) -> dict[str, Any]:
        """Read the body and send it."""
        body = await asyncio.to_thread(export.read_body, self.source)
        created: dict[str, Any] = msgspec.to_builtins(await self.create(client, body))
        return created

    async def create(self, client: Client, body: Mapping[str, Any]) -> CreatedEmployee | CreatedId:
        """Create the record and return its ids."""
        raise NotImplementedError


def ending(error: BaseException) -> str:
    """Return why a create failed for good, in words that are safe to log."""
    from bms.errors import BadTlsFile, BmsError  # noqa: PLC0415 - with the client, not at import

    kind = type(error).__name__
    if isinstance(error, BmsError | BadConnection | BadTlsFile | export.BadBody | export.BadPath):
        return f"{kind}: {error}"
    return f"{kind} during the creation: look for the record in the service before you run it again"
