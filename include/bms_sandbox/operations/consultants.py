"""Operations on consultants (CRM): create, list in pages, read. The path has a capital C."""

from typing import Any

from bms_sandbox.operations.lists import Keep, ResourceList
from bms_sandbox.operations.routes import Resource, stamps
from bms_sandbox.operations.shapes import Body, Int32, models
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


MODELS = models(
    "Consultant",
    """
    integer dl id
    string cdl first_name last_name type
    integer cdl affinity
    number cdl rate
    string dl currency
    string cdl availability_date
    integer cdl birth_year work_start_year
    string cd professional_profile
    skills cdl skills
    languages cdl languages
    string cd address
    string cdl postal_code city country phone_number phone_mobile_number email
    boolean cdl no_emails no_sms
    integer cdl id_client
    string cd notes custom1 custom2 custom3 custom4 custom5
    boolean dl active
    string dl created_on modified_on
    integer dl created_by modified_by
    """,
    skills=list[ConsultantSkill],
    languages=list[ConsultantLanguage],
)


def selected(_: Service, given: dict[str, Any]) -> Keep:
    """Return the condition of the rows that the parameters of the list select."""
    wanted = {name: value for name, value in given.items() if value is not None}
    return lambda row: all(row[name] == value for name, value in wanted.items())


def new_consultant(service: Service, given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a new row that the body does not give; the currency is always EUR."""
    return stamps(service) | {
        "id": service.tables["consultants"].next_number(),
        "skills": given["skills"] or [],
        "languages": given["languages"] or [],
        "no_emails": bool(given["no_emails"]),
        "no_sms": bool(given["no_sms"]),
        "currency": "EUR",
        "active": True,
    }


CONSULTANT = Resource(
    noun="consultant",
    models=MODELS,
    key="id_consultant",
    key_type=Int32,
    listing=ResourceList(
        "List consultants.\n\nLister les consultants.",
        {"id_client": (Int32 | None, None), "type": (str | None, None)},
        selected,
    ),
    read_text="Read a consultant.\n\nLire un consultant.",
    create_text="Create a consultant; the dialect decides the form of the returned id.\n\n"
    "Créer un consultant : la réponse est son identifiant.",
    new=new_consultant,
)
