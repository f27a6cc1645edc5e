"""Operations on contacts (CRM): create, list in pages, read."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from bms_sandbox.operations.pages import PagedList
from bms_sandbox.operations.routes import Resource, stamps
from bms_sandbox.operations.shapes import Int32, models, response
from bms_sandbox.row_encoder import Row
from bms_sandbox.service import Service

ContactFilter = Literal["ALL", "ACTIVE", "ASSIGNED", "DELETED"]

# The activity flag is named `active` in the detail and `actif` in the list.
MODELS = models(
    "Contact",
    """
    integer dl id
    string cdl first_name last_name business_title email phone_mobile_number
    string cd phone_number
    string c phone_other_number
    string cd fax_number address
    string cdl postal_code city country
    boolean cdl exclude_from_emailing send_greetings_card
    string cd greetings_card_details
    boolean cdl is_lead
    string cdl origin signal
    integers c contact_domains
    integers d domains
    string cd notes
    string cdl imported_company_name
    integer cdl id_client
    integer dl id_account_manager
    boolean d active
    boolean l actif
    boolean dl deleted
    string dl created_on
    integer dl created_by
    string dl modified_on
    integer dl modified_by
    string dl deleted_on
    integer dl deleted_by
    """,
)
PAGES = PagedList("contacts", "list_contacts", MODELS.item_fields)


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


def new_contact(service: Service, given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a new row that the body does not give."""
    domains = given.pop("contact_domains")
    flags = ("exclude_from_emailing", "send_greetings_card", "is_lead")
    return (
        stamps(service)
        | {name: bool(given[name]) for name in flags}
        | {
            "id": service.tables["contacts"].next_number(),
            "domains": domains or [],
            "active": True,
            "deleted": False,
        }
    )


CONTACT = Resource(
    noun="contact",
    models=MODELS,
    key="id_contact",
    key_type=Int32,
    read_text="Read a contact.\n\nLire un contact.",
    create_text="Create a contact; the dialect decides the form of the returned id.\n\n"
    "Créer un contact : la réponse est son identifiant.",
    new=new_contact,
)


def router(service: Service) -> APIRouter:
    """Return the routes of the three operations."""
    routes = APIRouter()
    table = service.tables["contacts"]

    @routes.get("/v1/CRM/contacts", response_model=MODELS.page, operation_id="list_contacts")
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

        def shown(row: Row) -> Row:
            return row | {"actif": row["active"]}

        return response(PAGES.reply(service, page_number, page_size, listing, shown))

    CONTACT.add_to(routes, service)
    return routes
