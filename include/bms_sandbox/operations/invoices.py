"""Operation GET /v1/ERP/invoices/clients: an array of client invoices of a date range."""

from datetime import date, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Response

from bms_sandbox.demo_invoices import EPOCH
from bms_sandbox.dialect import Language
from bms_sandbox.errors import Reply, ServiceError, array_reply
from bms_sandbox.operations.lists import has_entity
from bms_sandbox.operations.shapes import Int64, models, response
from bms_sandbox.response_cache import MEGABYTE, InvoiceDayCache
from bms_sandbox.service import Service

MODELS = models(
    "ClientInvoice",
    """
    integer l id_invoice
    string l reference_number invoice_date due_date invoice_type invoice_type_name
    integer l id_client
    string l client_name po_number vat_number invoice_subject
    number l total_excl_vat total_vat total_incl_vat total_due
    string l currency payment_mode payment_mode_name status status_name
    integer l id_account_manager
    string l created_on
    integer l created_by
    boolean l canceled
    string l canceled_on
    integer l canceled_by id_credit
    boolean l sent
    string l sent_on
    integer l sent_by
    """,
)
FIELDS = MODELS.item_fields


def list_client_invoices(
    service: Service,
    days: InvoiceDayCache,
    id_entity: int,
    first: date,
    last: date,
    language: Language,
) -> Reply:
    """Return the response with the invoices of `id_entity` from `first` to `last`.

    The dialect decides what the range means. A range that ends before its start is empty; a range
    that is too long is 422.
    """
    dialect, now = service.dialect, service.listed_at()
    if dialect.end_date == "exclusive" and last > date.min:
        last -= timedelta(days=1)
    if dialect.longest_range and (last - first).days + 1 > dialect.longest_range:
        raise ServiceError(422, "range_too_long", f"at most {dialect.longest_range} days")
    if not has_entity(service, id_entity):
        return array_reply((), dialect)
    if dialect.range_date == "invoice_date":
        # Invoices dated after the clock exist only if a control route inserted them.
        last = min(last, service.invoices.last_day(now.date()))
        ordinals = range(max(first, EPOCH).toordinal(), last.toordinal() + 1)
        if dialect.list_order == "id_desc":
            ordinals = ordinals[::-1]
        chunks = [
            days.chunk(id_entity, date.fromordinal(ordinal), language, service.encoder, now)
            for ordinal in ordinals
        ]
    else:
        found = service.invoices.within(id_entity, first, last, dialect.range_date, now)
        shown = [row.as_of(now, language) for row in found]
        shown.sort(key=lambda row: row["id_invoice"], reverse=dialect.list_order == "id_desc")
        chunks = [service.encoder.joined(shown, FIELDS)]
    return array_reply(chunks, dialect)


def router(service: Service) -> APIRouter:
    """Return the route of the operation."""
    routes = APIRouter()
    limit = 2_000 * MEGABYTE if service.settings.fast else 64 * MEGABYTE
    days = InvoiceDayCache(service.invoices, FIELDS, limit)

    @routes.get(
        "/v1/ERP/invoices/clients",
        response_model=list[MODELS.item],  # type: ignore[name-defined]  # a type created at run time
        operation_id="list_client_invoices",
    )
    async def client_invoices(
        id_entity: Int64,
        start_date: date,
        end_date: date,
        language: Annotated[Language | None, Query()] = None,
    ) -> Response:
        """List client invoices.

        Lister les factures clients.
        """
        spoken = language or service.dialect.default_language
        return response(
            list_client_invoices(service, days, id_entity, start_date, end_date, spoken)
        )

    return routes
