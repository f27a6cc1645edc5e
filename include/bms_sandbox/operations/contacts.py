"""Operations on contacts (CRM): create, list in pages, read."""

from typing import Any, Literal

from bms_sandbox.operations.lists import Keep, ResourceList
from bms_sandbox.operations.routes import Resource, stamps
from bms_sandbox.operations.shapes import REQUIRED, Int32, models
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


def selected(service: Service, given: dict[str, Any]) -> Keep:
    """Return the condition of the rows that the parameters of the list select."""
    state, all_includes_deleted = given["filter"], service.dialect.all_includes_deleted
    exact = ("id_client", "is_lead")
    wanted = {name: given[name] for name in exact if given[name] is not None}
    return lambda row: (
        included(row, state, all_includes_deleted)
        and all(row[name] == value for name, value in wanted.items())
    )


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
    listing=ResourceList(
        "List contacts.\n\nLister les contacts.",
        {
            "filter": (ContactFilter, REQUIRED),
            "id_client": (Int32 | None, None),
            "is_lead": (bool | None, None),
        },
        selected,
        shown=lambda row: row | {"actif": row["active"]},
    ),
    read_text="Read a contact.\n\nLire un contact.",
    create_text="Create a contact; the dialect decides the form of the returned id.\n\n"
    "Créer un contact : la réponse est son identifiant.",
    new=new_contact,
)
