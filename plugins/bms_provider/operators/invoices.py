"""Operator for client invoices (ERP): list."""

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from bms.endpoints import BY_NAME, Endpoint
from bms_provider.operators.base import BmsListOperator


class BmsListClientInvoicesOperator(BmsListOperator):
    """Read the invoices of an entity over a range of days (GET /v1/ERP/invoices/clients).

    Sends one request. The DAG ``invoice_extraction`` divides long ranges and tracks changes.

    `BmsReadingOperator` describes the result and the shared parameters.

    :param id_entity: number of the entity (templated).
    :param first_day: the interface's ``start_date``, an argument of every Airflow operator (templated).
    :param last_day: its ``end_date``, always included (templated).
    :param language: language of the code labels, ``EN`` or ``FR`` (templated).
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["list_client_invoices"]
    renamed: ClassVar[Mapping[str, str]] = {"start_date": "first_day", "end_date": "last_day"}
    id_entity: int | str
    first_day: date | str
    last_day: date | str
    language: str | None = None
