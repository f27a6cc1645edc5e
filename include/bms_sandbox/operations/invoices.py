"""GET /v1/ERP/invoices/clients: a bare array of client invoices over a range of dates."""

from datetime import date, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from bms_sandbox.dialect import Language
from bms_sandbox.errors import Reply, ServiceError
from bms_sandbox.operations.shapes import Int64, Shape, response
from bms_sandbox.service import Service


class ClientInvoiceItem(Shape):
    """Client invoice list item."""

    id_invoice: int
    reference_number: str
    invoice_date: str
    due_date: str
    invoice_type: str
    invoice_type_name: str
    id_client: int
    client_name: str
    po_number: str
    vat_number: str
    invoice_subject: str
    total_excl_vat: float
    total_vat: float
    total_incl_vat: float
    total_due: float
    currency: str
    payment_mode: str
    payment_mode_name: str
    status: str
    status_name: str
    id_account_manager: int
    created_on: str
    created_by: int
    canceled: bool
    canceled_on: str
    canceled_by: int
    id_credit: int
    sent: bool
    sent_on: str
    sent_by: int


FIELDS = tuple(ClientInvoiceItem.model_fields)


def list_client_invoices(
    service: Service, id_entity: int, first: date, last: date, language: Language | None
) -> Reply:
    """Answer the invoices of `id_entity` from `first` to `last` as the dialect reads them.

    A range that ends before it starts is empty; too long a range is refused with 422.
    """
    dialect = service.dialect
    if dialect.end_date == "exclusive":
        last -= timedelta(days=1)
    if dialect.longest_range and (last - first).days + 1 > dialect.longest_range:
        raise ServiceError(422, "range_too_long", f"at most {dialect.longest_range} days")
    if id_entity not in service.entities:
        if dialect.unknown_entity == "not_found":
            raise ServiceError(404, "unknown_entity", "no such id_entity")
        return Reply(200, JSON, (b"[]",))
    pieces = service.invoice_pieces(id_entity, first, last, language or dialect.default_language)
    return Reply(200, JSON, _array(pieces))


JSON = ((b"content-type", b"application/json"),)


def _array(pieces: list[bytes]) -> tuple[bytes, ...]:
    """Write comma-joined runs of rows as one JSON array, without copying them."""
    written = [b"["]
    for piece in filter(None, pieces):
        if len(written) > 1:
            written.append(b",")
        written.append(piece)
    return (*written, b"]")


def router(service: Service) -> APIRouter:
    """Return the route of the operation on `service`."""
    routes = APIRouter()

    @routes.get(
        "/v1/ERP/invoices/clients",
        response_model=list[ClientInvoiceItem],
        operation_id="list_client_invoices",
    )
    async def client_invoices(
        id_entity: Int64,
        start_date: date,
        end_date: date,
        language: Annotated[Any, Query(json_schema_extra={"enum": ["EN", "FR"]})] = None,
    ) -> Response:
        """List client invoices.

        Lister les factures clients.
        """
        return response(list_client_invoices(service, id_entity, start_date, end_date, language))

    return routes
