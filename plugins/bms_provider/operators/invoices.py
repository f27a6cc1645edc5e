"""Client invoices (ERP): list."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar

from bms.endpoints import BY_NAME, Endpoint
from bms_provider.operators.arguments import argument
from bms_provider.operators.base import BmsListOperator

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bms.answers import Rows
    from bms.client import Client
    from bms.records import ClientInvoice


class BmsListClientInvoicesOperator(BmsListOperator):
    """Write the invoices of an entity's days to a file (GET /v1/ERP/invoices/clients).

    One request however many days; the DAG ``invoice_extraction`` is the one that cuts them up,
    loads them into the warehouse and follows their changes.

    :param id_entity: number of the entity (templated).
    :param first_day: the interface's ``start_date`` (templated); the name is taken by Airflow's
        own ``start_date`` of a task.
    :param last_day: the interface's ``end_date``, included whatever the service does (templated).
    :param language: of the names of codes, ``EN`` or ``FR`` (templated).
    :param path: file below ``BMS_DATA_ROOT`` (templated), JSON lines; compressed where it ends in
        ``.gz``.
    :param bms_conn_id: connection of type ``bms`` (templated).
    :return: to XCom: ``path``, ``rows``, ``sha256`` and ``bytes`` of the file.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["list_client_invoices"]
    template_fields: Sequence[str] = (
        *BmsListOperator.template_fields,
        "id_entity",
        "first_day",
        "last_day",
        "language",
    )

    def __init__(
        self,
        *,
        id_entity: int | str,
        first_day: date | str,
        last_day: date | str,
        language: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.id_entity = id_entity
        self.first_day = first_day
        self.last_day = last_day
        self.language = language

    async def answers(self, client: Client) -> AsyncGenerator[Rows[ClientInvoice], None]:
        """Yield the one answer."""
        from bms.client import InvoiceLanguage  # noqa: PLC0415 - with the task, not at import

        yield await client.list_client_invoices(
            id_entity=argument("id_entity", self.id_entity, int),
            start_date=argument("first_day", self.first_day, date),
            end_date=argument("last_day", self.last_day, date),
            language=argument("language", self.language, InvoiceLanguage | None),
        )
