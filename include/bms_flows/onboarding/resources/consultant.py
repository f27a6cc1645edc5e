"""Description and match rules of consultants (interface, "Consultant creation body").

Arrays are flattened into columns: `skill1_id`, `skill1_level` and `skill1_favorite` form the first
object of `skills`, `language1_code` and `language1_level` that of `languages`. A consultant matches
by e-mail address, then by mobile phone, each only if the name agrees; a reviewer decides on matches
by name and year of birth.
"""

from collections.abc import Sequence
from typing import Final

from bms.records import Consultant
from bms_flows.onboarding.resources.contact import crm_identity
from bms_flows.onboarding.resources.description import ColumnKind, Columns, Resource
from bms_flows.onboarding.resources.match_rules import Identity, plain, possible
from bms_flows.onboarding.resources.normal_forms import NAMES, loose_name, person_name

sent = Columns(Consultant)

SKILLS = 12
LANGUAGES = 6
"""Numbers of array columns; the interface has no limit."""


def consultant_identity(resource: Resource) -> Identity:
    """Return the match rules of consultants."""
    birth, year, code = (*NAMES, "birth_year"), plain("birth_year"), "same_name_and_birth_year"
    return crm_identity(
        resource,
        possible(code, birth, person_name, year),
        loose=[possible(code, birth[::-1], loose_name, year)],
    )


SKILL: Final[Sequence[tuple[str, ColumnKind, str, str]]] = (
    ("id", "integer", " | id", "4"),
    ("level", "integer", "niveau", "3"),
    ("favorite", "boolean", "favorite", "oui"),
)
LANGUAGE: Final[Sequence[tuple[str, ColumnKind, str, str]]] = (
    ("code", "text", " | code", "EN"),
    ("level", "integer", "niveau", "4"),
)

CONSULTANT = Resource(
    name="consultant",
    inbox="consultants",
    title="Nouveaux consultants",
    required=("last_name", "first_name"),
    key=("email", "phone_mobile_number", "birth_year"),
    label_fields=("email", "phone_mobile_number", "last_name"),
    arrays={"skills": "id", "languages": "code"},
    in_order=(("birth_year", "work_start_year"),),
    always_compared=True,
    fields=(
        sent("last_name", example="Girard"),
        sent("first_name", example="Élodie"),
        sent("type", "Type | Type de consultant | Kind"),
        sent("affinity", "Affinité", "3"),
        sent("rate", "Tarif | Taux journalier | TJM | Daily rate", "550,50"),
        sent(
            "availability_date",
            "Date de disponibilité | Disponible le | Available from",
            "31/08/2026",
        ),
        sent("birth_year", "Année de naissance | Year of birth", "1988"),
        sent("work_start_year", "Année de début d'activité | Début de carrière"),
        sent("professional_profile", "Profil professionnel | Profil | Profile"),
        *sent.array("skills", "Compétence", SKILL, SKILLS),
        *sent.array("languages", "Langue", LANGUAGE, LANGUAGES),
        sent("address"),
        sent("postal_code"),
        sent("city"),
        sent("country"),
        sent("phone_number"),
        sent("phone_mobile_number"),
        sent("email", example="elodie.girard@indep.example"),
        sent("no_emails", "Pas d'e-mails | Sans e-mails"),
        sent("no_sms", "Pas de SMS | Sans SMS"),
        sent("id_client"),
        sent("notes"),
        *(sent(f"custom{n}", f"Champ libre {n} | Libre {n}") for n in range(1, 6)),
    ),
)
