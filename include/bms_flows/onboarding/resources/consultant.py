"""Description and match rules of consultants (interface, "Consultant creation body").

Arrays are flattened into columns: `skill1_id`, `skill1_level` and `skill1_favorite` form the first
object of `skills`, `language1_code` and `language1_level` that of `languages`. A consultant matches
by e-mail address, then by mobile phone, each only if the name agrees; a reviewer decides on matches
by name and year of birth.
"""

from collections.abc import Iterator, Sequence

from bms.records import Consultant
from bms_flows.onboarding.resources.contact import crm_identity, person_name
from bms_flows.onboarding.resources.description import Columns, Field, Kind, Resource
from bms_flows.onboarding.resources.loose import loose_name
from bms_flows.onboarding.resources.match_rules import Identity, MatchRule, plain

sent = Columns(Consultant)

SKILLS = 12
LANGUAGES = 6
"""Numbers of array columns; the interface has no limit."""

ADVICE = (
    """\
- Une fiche existante est reconnue à son adresse e-mail, puis à son mobile, si le nom est le même.
  Même nom et même année de naissance : une décision est demandée. Il faut au moins l'un des trois.
""",
    """\
- A record matches by e-mail address, then mobile phone, if the name is equal; if only name and year
  of birth are equal, a reviewer decides. One of the three is required.
""",
)


def consultant(region: str = "FR") -> Resource:
    """Return the description of consultants; phone numbers without a prefix belong to `region`."""
    return Resource(
        name="consultant",
        inbox="consultants",
        title="Nouveaux consultants",
        required=("last_name", "first_name"),
        key=("email", "phone_mobile_number", "birth_year"),
        label_fields=("email", "phone_mobile_number", "last_name"),
        arrays={"skills": "id", "languages": "code"},
        region=region,
        in_order=(("birth_year", "work_start_year"),),
        always_compared=True,
        advice=ADVICE,
        fields=FIELDS,
    )


def consultant_identity(resource: Resource) -> Identity:
    """Return the match rules of consultants."""
    birth = ("last_name", "first_name", "birth_year")
    by_birth = [person_name, plain("birth_year")]
    code, loose = "same_name_and_birth_year", [loose_name, by_birth[1]]
    return crm_identity(
        resource,
        MatchRule(birth, "never", code, by_birth),
        loose=[MatchRule(birth[::-1], "never", code, loose)],
    )


SKILL: Sequence[tuple[str, Kind, str, str]] = (
    ("id", "integer", "id", "4"),
    ("level", "integer", "niveau", "3"),
    ("favorite", "boolean", "favorite", "oui"),
)
LANGUAGE: Sequence[tuple[str, Kind, str, str]] = (
    ("code", "text", "code", "EN"),
    ("level", "integer", "niveau", "4"),
)
"""Of an array's object: its fields, their kinds, what headers call them, and an example."""


def _array(
    array: str, title: str, parts: Sequence[tuple[str, Kind, str, str]], times: int
) -> Iterator[Field]:
    """Return the columns of an array's first objects; the first field alone may go by the title."""
    for n in range(1, times + 1):
        for part, kind, label, example in parts:
            yield sent(
                f"{array.removesuffix('s')}{n}_{part}",
                *((f"{title} {n}",) if part == parts[0][0] else ()),
                f"{title} {n} {label}",
                example=example if n == 1 else "",
                path=(array, n - 1, part),
                kind=kind,
                detail_field=array,
            )


FIELDS = (
    sent("last_name", "Nom", "Nom de famille", "Surname", example="Girard", holds="name"),
    sent("first_name", "Prénom", "Given name", example="Élodie", holds="name"),
    sent("type", "Type", "Type de consultant", "Kind"),
    sent("affinity", "Affinité", example="3"),
    sent("rate", "Tarif", "Taux journalier", "TJM", "Daily rate", example="550,50"),
    sent(
        "availability_date",
        "Date de disponibilité",
        "Disponible le",
        "Available from",
        example="31/08/2026",
    ),
    sent("birth_year", "Année de naissance", "Year of birth", example="1988"),
    sent("work_start_year", "Année de début d'activité", "Début de carrière"),
    sent("professional_profile", "Profil professionnel", "Profil", "Profile"),
    *_array("skills", "Compétence", SKILL, SKILLS),
    *_array("languages", "Langue", LANGUAGE, LANGUAGES),
    sent("address", "Adresse", "Street", example="12 rue de l'Église"),
    sent("postal_code", "Code postal", "CP", "Zip code", example="01000", holds="postal_code"),
    sent("city", "Ville", "Town", example="Bourg-en-Bresse"),
    sent("country", "Pays", example="FR"),
    sent("phone_number", "Téléphone", "Téléphone fixe", "Phone", holds="phone"),
    sent(
        "phone_mobile_number",
        "Mobile",
        "Portable",
        "Téléphone mobile",
        "Mobile phone",
        example="+33 6 00 00 00 01",
        holds="phone",
    ),
    sent(
        "email",
        "E-mail",
        "Adresse e-mail",
        "Courriel",
        "Mail",
        "E-mail address",
        example="elodie.girard@indep.example",
        holds="email",
    ),
    sent("no_emails", "Pas d'e-mails", "Sans e-mails"),
    sent("no_sms", "Pas de SMS", "Sans SMS"),
    sent("id_client", "Id client", "N° client", "Client"),
    sent("notes", "Notes", "Commentaires", "Remarks"),
    *(sent(f"custom{n}", f"Champ libre {n}", f"Libre {n}") for n in range(1, 6)),
)
