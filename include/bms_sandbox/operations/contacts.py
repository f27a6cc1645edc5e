"""Operations on contacts (CRM): create, list in pages, read."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from bms_sandbox.errors import ServiceError, json_reply
from bms_sandbox.operations.pages import created, envelope, need_names, ordered, page_of, shift
from bms_sandbox.operations.shapes import Body, Int32, Shape, response
from bms_sandbox.row_encoder import Row
from bms_sandbox.service import Service

ContactFilter = Literal["ALL", "ACTIVE", "ASSIGNED", "DELETED"]


class ContactCreation(Body):
    """Contact creation body."""

    first_name: str | None = None
    last_name: str | None = None
    business_title: str | None = None
    email: str | None = None
    phone_mobile_number: str | None = None
    phone_number: str | None = None
    phone_other_number: str | None = None
    fax_number: str | None = None
    address: str | None = None
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None
    exclude_from_emailing: bool | None = None
    send_greetings_card: bool | None = None
    greetings_card_details: str | None = None
    is_lead: bool | None = None
    origin: str | None = None
    signal: str | None = None
    contact_domains: list[int] | None = None
    notes: str | None = None
    imported_company_name: str | None = None
    id_client: int | None = None


class ContactDetail(Shape):
    """Contact detail; the activity flag is named `active`."""

    id: int
    first_name: str
    last_name: str
    business_title: str
    email: str
    phone_mobile_number: str
    phone_number: str
    fax_number: str
    address: str
    postal_code: str
    city: str
    country: str
    exclude_from_emailing: bool
    send_greetings_card: bool
    greetings_card_details: str
    is_lead: bool
    origin: str
    signal: str
    domains: list[int]
    notes: str
    imported_company_name: str
    id_client: int
    id_account_manager: int
    active: bool
    deleted: bool
    created_on: str
    modified_on: str
    deleted_on: str
    created_by: int
    modified_by: int
    deleted_by: int


class ContactItem(Shape):
    """Contact list item; the activity flag is named `actif`."""

    id: int
    first_name: str
    last_name: str
    business_title: str
    email: str
    phone_mobile_number: str
    postal_code: str
    city: str
    country: str
    exclude_from_emailing: bool
    send_greetings_card: bool
    is_lead: bool
    origin: str
    signal: str
    imported_company_name: str
    id_client: int
    id_account_manager: int
    actif: bool
    deleted: bool
    created_on: str
    created_by: int
    modified_on: str
    modified_by: int
    deleted_on: str
    deleted_by: int


class ContactPage(Shape):
    """Paged list envelope."""

    total_pages: int
    data: list[ContactItem]


DETAIL = tuple(ContactDetail.model_fields)
ITEM = tuple(ContactItem.model_fields)


def included(row: Row, state: ContactFilter, all_includes_deleted: bool) -> bool:
    """Return whether the list filter includes `row`.

    The interface does not define ACTIVE and ASSIGNED. Our assumption: active and not deleted; with
    an account manager and not deleted.
    """
    match state:
        case "ALL":
            return all_includes_deleted or not row["deleted"]
        case "ACTIVE":
            return bool(row["active"]) and not row["deleted"]
        case "ASSIGNED":
            return row["id_account_manager"] is not None and not row["deleted"]
        case "DELETED":
            return bool(row["deleted"])


def new_contact(service: Service, body: ContactCreation) -> Row:
    """Return the row of a creation; created_by is 1: our assumption."""
    given = body.model_dump()
    domains = given.pop("contact_domains")
    flags = ("exclude_from_emailing", "send_greetings_card", "is_lead")
    now = service.clock.now()
    return (
        dict.fromkeys(DETAIL)
        | given
        | {name: bool(given[name]) for name in flags}
        | {
            "id": service.tables["contacts"].next_number(),
            "domains": domains or [],
            "active": True,
            "deleted": False,
            "created_on": now,
            "modified_on": now,
            "created_by": 1,
            "modified_by": 1,
        }
    )


def router(service: Service) -> APIRouter:
    """Return the routes of the three operations."""
    routes = APIRouter()
    table = service.tables["contacts"]

    @routes.get("/v1/CRM/contacts", response_model=ContactPage, operation_id="list_contacts")
    async def contacts(
        state: Annotated[ContactFilter, Query(alias="filter")],
        page_number: Int32 = 1,
        page_size: Int32 = 100,
        id_client: Int32 | None = None,
        is_lead: bool | None = None,
    ) -> Response:
        """List contacts.

        Lister les contacts.
        """
        dialect, now = service.dialect, service.clock.now()

        def keep(row: Row) -> bool:
            return (
                included(row, state, dialect.all_includes_deleted)
                and (id_client is None or row["id_client"] == id_client)
                and (is_lead is None or row["is_lead"] == is_lead)
            )

        def listing() -> list[Row]:
            name = (state, dialect.all_includes_deleted, id_client, is_lead)
            return table.listing(name, keep, dialect.list_order, now)

        rows = listing()
        page = page_of(len(rows), page_number, page_size, dialect)
        if shift(service, "contacts", "list_contacts", page, rows):
            rows = listing()
            page = page_of(len(rows), page_number, page_size, dialect)
        rows = ordered(service, "list_contacts", rows)
        shown = (row | {"actif": row["active"]} for row in rows[page.first : page.last])
        return response(envelope(service, page, shown, ITEM))

    @routes.get(
        "/v1/CRM/contacts/{id_contact}", response_model=ContactDetail, operation_id="read_contact"
    )
    async def contact(id_contact: Int32) -> Response:
        """Read a contact.

        Lire un contact.
        """
        row = table.get(id_contact, service.clock.now())
        if row is None:
            raise ServiceError(404, "unknown_contact", "no such contact")
        return response(json_reply(service.encoder.row(row, DETAIL)))

    @routes.post("/v1/CRM/contacts", operation_id="create_contact")
    async def create_contact(body: ContactCreation) -> Response:
        """Create a contact; the dialect decides the form of the returned id.

        Créer un contact : la réponse est son identifiant.
        """
        need_names(service, body.first_name, body.last_name)
        row = new_contact(service, body)
        service.commit("contacts", row, "create_contact")
        return response(created(service, row["id"], "id_contact"))

    return routes
