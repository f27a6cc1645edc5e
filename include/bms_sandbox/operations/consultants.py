"""Operations on consultants (CRM): create, list in pages, read. The path has a capital C."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from bms_sandbox.errors import ServiceError, json_reply
from bms_sandbox.operations.pages import created, envelope, need_names, ordered, page_of, shift
from bms_sandbox.operations.shapes import Body, Int32, Shape, response
from bms_sandbox.row_encoder import Row
from bms_sandbox.service import Service


class ConsultantSkill(Body):
    """A skill of a consultant."""

    id: int | None = None
    level: int | None = None
    favorite: bool | None = None


class ConsultantLanguage(Body):
    """A language of a consultant."""

    code: str | None = None
    level: int | None = None


class ConsultantCreation(Body):
    """Consultant creation body, without a currency."""

    first_name: str | None = None
    last_name: str | None = None
    type: str | None = None
    affinity: int | None = None
    rate: float | None = None
    availability_date: str | None = None
    birth_year: int | None = None
    work_start_year: int | None = None
    professional_profile: str | None = None
    skills: list[ConsultantSkill] | None = None
    languages: list[ConsultantLanguage] | None = None
    address: str | None = None
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None
    phone_number: str | None = None
    phone_mobile_number: str | None = None
    email: str | None = None
    no_emails: bool | None = None
    no_sms: bool | None = None
    id_client: int | None = None
    notes: str | None = None
    custom1: str | None = None
    custom2: str | None = None
    custom3: str | None = None
    custom4: str | None = None
    custom5: str | None = None


class ConsultantItem(Shape):
    """Consultant list item."""

    id: int
    first_name: str
    last_name: str
    type: str
    affinity: int
    rate: float
    currency: str
    availability_date: str
    birth_year: int
    work_start_year: int
    skills: list[ConsultantSkill]
    languages: list[ConsultantLanguage]
    postal_code: str
    city: str
    country: str
    phone_number: str
    phone_mobile_number: str
    email: str
    no_emails: bool
    no_sms: bool
    id_client: int
    active: bool
    created_on: str
    modified_on: str
    created_by: int
    modified_by: int


class ConsultantDetail(ConsultantItem):
    """Consultant detail: the list item and longer fields."""

    professional_profile: str
    address: str
    notes: str
    custom1: str
    custom2: str
    custom3: str
    custom4: str
    custom5: str


class ConsultantPage(Shape):
    """Paged list envelope."""

    total_pages: int
    data: list[ConsultantItem]


DETAIL = tuple(ConsultantDetail.model_fields)
ITEM = tuple(ConsultantItem.model_fields)


def new_consultant(service: Service, body: ConsultantCreation) -> Row:
    """Return the row of a creation; the currency is always EUR."""
    given = body.model_dump()
    now = service.clock.now()
    return (
        dict.fromkeys(DETAIL)
        | given
        | {
            "id": service.tables["consultants"].next_number(),
            "skills": given["skills"] or [],
            "languages": given["languages"] or [],
            "no_emails": bool(given["no_emails"]),
            "no_sms": bool(given["no_sms"]),
            "currency": "EUR",
            "active": True,
            "created_on": now,
            "modified_on": now,
            "created_by": 1,
            "modified_by": 1,
        }
    )


def router(service: Service) -> APIRouter:
    """Return the routes of the three operations."""
    routes = APIRouter()
    table = service.tables["consultants"]

    @routes.get(
        "/v1/CRM/Consultants", response_model=ConsultantPage, operation_id="list_consultants"
    )
    async def consultants(
        page_number: Int32 = 1,
        page_size: Int32 = 100,
        id_client: Int32 | None = None,
        kind: Annotated[str | None, Query(alias="type")] = None,
    ) -> Response:
        """List consultants.

        Lister les consultants.
        """
        dialect, now = service.dialect, service.clock.now()

        def keep(row: Row) -> bool:
            return (id_client is None or row["id_client"] == id_client) and (
                kind is None or row["type"] == kind
            )

        def listing() -> list[Row]:
            return table.listing((id_client, kind), keep, dialect.list_order, now)

        rows = listing()
        page = page_of(len(rows), page_number, page_size, dialect)
        if shift(service, "consultants", "list_consultants", page, rows):
            rows = listing()
            page = page_of(len(rows), page_number, page_size, dialect)
        rows = ordered(service, "list_consultants", rows)
        return response(envelope(service, page, rows[page.first : page.last], ITEM))

    @routes.get(
        "/v1/CRM/Consultants/{id_consultant}",
        response_model=ConsultantDetail,
        operation_id="read_consultant",
    )
    async def consultant(id_consultant: Int32) -> Response:
        """Read a consultant.

        Lire un consultant.
        """
        row = table.get(id_consultant, service.clock.now())
        if row is None:
            raise ServiceError(404, "unknown_consultant", "no such consultant")
        return response(json_reply(service.encoder.row(row, DETAIL)))

    @routes.post("/v1/CRM/Consultants", operation_id="create_consultant")
    async def create_consultant(body: ConsultantCreation) -> Response:
        """Create a consultant; the dialect decides the form of the returned id.

        Créer un consultant : la réponse est son identifiant.
        """
        need_names(service, body.first_name, body.last_name)
        row = new_consultant(service, body)
        service.commit("consultants", row, "create_consultant")
        return response(created(service, row["id"], "id_consultant"))

    return routes
