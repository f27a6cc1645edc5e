"""Description and match rules of employees (interface, "Employee creation body").

Arrays and objects are flattened into columns: `mission1` to `mission6` form the object `missions`;
`salary_variable1_type`, `salary_variable1_value`, `salary_variable1_criteria` and
`salary_variable1_payment_date_code` form the first object of the array `salary_variable`.
`manager_payroll_number` and `manager_email` are not sent: they determine `id_manager`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

from bms.records import Employee
from bms_flows.onboarding.resources.description import ColumnKind, Columns, Resource
from bms_flows.onboarding.resources.match_rules import (
    Identity,
    MatchRule,
    normalize,
    plain,
    possible,
)
from bms_flows.onboarding.resources.normal_forms import (
    NAMES,
    compared_name,
    email_address,
    loose_name,
    person_name,
    plain_words,
)

sent = Columns(Employee)
unsent = partial(sent, kind="text", path=(), holds=None)

MISSIONS = 6
"""Number of missions in the interface."""

NIR_LENGTH = 13
"""Characters of a French social security number before its check key."""

NAME_PART = 4
"""Letters from which a word counts as a part of a last name; particles such as `de` are shorter."""

SALARY_VARIABLES = 4
"""Number of array columns; the interface has no limit."""


SALARY_VARIABLE: Final[Sequence[tuple[str, ColumnKind, str, str]]] = (
    ("type", "text", "Type", "PRIME"),
    ("value", "decimal", "Montant | Valeur", "1500,00"),
    ("criteria", "text", "Critères | Critère", "Objectifs annuels"),
    ("payment_date_code", "integer", "Code date de paiement | Date de paiement", "12"),
)


EMPLOYEE = Resource(
    name="employee",
    inbox="employees",
    title="Nouveaux salariés",
    required=("id_entity", "last_name", "first_name", "start_date", "payroll_number"),
    key=("id_entity", "payroll_number"),
    label_fields=("payroll_number",),
    in_order=(
        ("birth_date", "start_date"),
        ("start_date", "end_date_trial_first_period"),
        ("end_date_trial_first_period", "end_date_trial_second_period"),
    ),
    fields=(
        sent("id_entity", "Entité | Id entité | Société | Entity", "1"),
        sent("salutation_code", "Civilité | Code civilité | Title", "MME"),
        sent("last_name"),
        sent("first_name"),
        sent("preferred_last_name", "Nom d'usage | Nom usuel"),
        sent("preferred_first_name", "Prénom d'usage | Prénom usuel"),
        sent(
            "payroll_number",
            "Matricule | Matricule paie | Numéro de matricule | N° matricule | Employee number",
            "004217",
            holds="code",
        ),
        sent(
            "start_date",
            "Date d'entrée | Date de début | Date d'embauche | Hire date",
            "31/08/2026",
        ),
        sent(
            "end_date_trial_first_period",
            "Fin de période d'essai 1 | Fin de période d'essai",
            "30/11/2026",
        ),
        sent("end_date_trial_second_period", "Fin de période d'essai 2"),
        sent("department_code", "Code département | Département", "ING"),
        sent("department_service", "Service", "Ingénierie"),
        sent("job_title", "Poste | Fonction | Intitulé de poste", "Développeuse"),
        sent("category_code", "Catégorie | Code catégorie", "CADRE"),
        sent("contract_type_code", "Type de contrat | Contrat | Code type de contrat", "CDI"),
        sent("activity_rate", "Taux d'activité | Temps de travail", "100", holds="percent"),
        sent("status_code", "Statut | Code statut", "TP"),
        sent("status_position", "Position", "2.1"),
        sent("status_factor", "Coefficient", "115"),
        sent("salary_base", "Salaire de base | Salaire", kind="decimal", example="2850,50"),
        *sent.array("salary_variable", "Variable", SALARY_VARIABLE, SALARY_VARIABLES),
        sent("salary_other", "Autres éléments de salaire | Autre salaire", kind="text"),
        sent("skills", "Compétences", "Python; gestion de projet"),
        sent("mission1", "Mission 1", "Recette client", path=("missions", "mission1")),
        *(
            sent(f"mission{n}", f"Mission {n}", path=("missions", f"mission{n}"))
            for n in range(2, MISSIONS + 1)
        ),
        sent("address", "Adresse", "12 rue de l'Église"),
        sent("postal_code"),
        sent("city"),
        sent("country"),
        sent("personal_email", "E-mail personnel | Courriel personnel | Mail personnel"),
        sent("personal_mobile_phone", "Mobile personnel | Portable personnel", "+33 6 00 00 00 01"),
        sent("personal_landline_phone", "Téléphone fixe personnel | Téléphone personnel"),
        sent(
            "business_email",
            "E-mail professionnel | Courriel professionnel | Mail professionnel | E-mail",
            "aurelie.lefevre@entreprise.example",
        ),
        sent("business_mobile_phone", "Mobile professionnel | Portable professionnel"),
        sent("business_landline_phone", "Téléphone fixe professionnel | Téléphone professionnel"),
        sent("birth_date", "Date de naissance | Né(e) le", "17/05/1994"),
        sent("birth_city", "Ville de naissance | Lieu de naissance", "Nîmes"),
        sent("birth_country", "Pays de naissance", "FR"),
        sent("nationality", "Nationalité", "FR"),
        sent(
            "social_security_number",
            "Numéro de sécurité sociale | N° de sécurité sociale | N° de sécu | N° SS | NIR",
            holds="number",
        ),
        sent("resident_permit_number", "Numéro de titre de séjour | Titre de séjour"),
        sent(
            "resident_permit_expiration_date",
            "Fin de validité du titre de séjour | Expiration titre de séjour",
        ),
        sent("id_manager", "Id responsable | Id manager"),
        unsent(
            "manager_payroll_number",
            "Matricule du responsable | Matricule responsable | Matricule manager | Matricule N+1"
            " | Matricule du responsable hiérarchique",
        ),
        unsent(
            "manager_email",
            "E-mail du responsable | E-mail responsable | E-mail manager | E-mail N+1",
        ),
        sent("affiliated_company", "Société affiliée | Société de rattachement"),
        sent("is_salesperson", "Commercial | Est commercial", "non"),
        sent("is_consultant", "Consultant | Est consultant", "oui"),
        sent("has_timesheets", "Feuilles de temps | Saisie des temps", "oui"),
        sent(
            "timesheets_frequency_code",
            "Fréquence des feuilles de temps | Code fréquence des temps",
            "1",
        ),
        sent("emergency_contacts", "Contacts d'urgence | Personne à prévenir"),
        sent("meal_vouchers_count", "Nombre de tickets restaurant | Tickets restaurant"),
        sent("has_portal_access", "Accès au portail | Accès portail", "oui"),
        sent("exclude_from_directory", "Exclu de l'annuaire | Hors annuaire"),
        sent("has_overtime", "Heures supplémentaires"),
        sent("use_vehicle", "Utilise un véhicule | Véhicule"),
        sent("vehicle_type_code", "Type de véhicule | Code type de véhicule"),
        sent("vehicle_tax_horsepower_code", "Puissance fiscale | Code puissance fiscale"),
        sent("vehicle_registration_number", "Immatriculation | Plaque d'immatriculation"),
        sent("vehicle_price_per_km", "Prix au km | Indemnité kilométrique"),
    ),
)
"""The required fields are our assumption and configurable; the interface shows none."""


def loose_number(values: Mapping[str, Any]) -> str | None:
    """Return a payroll number without leading zeros, punctuation and case: `EMP-0042` is `emp 42`.

    Blanks between digits are Excel's thousands separators: `4 217` is `4217`.
    """
    number = re.sub(r"(?<=\d) (?=\d)", "", normalize(values.get("payroll_number")) or "")
    parts = re.findall(r"[^\W\d_]+|\d+", number)
    return " ".join(part.lstrip("0") or "0" for part in parts) or None


def work_address(values: Mapping[str, Any]) -> str | None:
    """Return the e-mail address at work in lower case."""
    address = email_address(values.get("business_email"))
    return address.casefold() if address else None


def nir(values: Mapping[str, Any]) -> str | None:
    """Return the letters and digits of a French social security number, without its check key."""
    text = re.sub(r"[^0-9A-Z]", "", str(values.get("social_security_number") or "").upper())
    return text[:NIR_LENGTH] if len(text) >= NIR_LENGTH else None


def employed(values: Mapping[str, Any]) -> str | None:
    """Return a text unless a record has a departure date: a leaver may return under another number."""
    return None if values.get("departure_date") else "employed"


def forename(values: Mapping[str, Any]) -> str | None:
    """Return the first of a person's first names: Jean of Jean-Paul."""
    return next(iter(plain_words(values.get("first_name"))), None)


def name_parts(values: Mapping[str, Any]) -> Collection[str]:
    """Return the words of the last name and of the last name in use: Petit and Durand of Petit-Durand."""
    names = (values.get("last_name"), values.get("preferred_last_name"))
    return {word for name in names for word in plain_words(name) if len(word) >= NAME_PART}


EMPLOYEE_IDENTITY = Identity(
    resource=EMPLOYEE.name,
    scope="id_entity",
    keys=[MatchRule(EMPLOYEE.key)],
    comparison_fields={"name": compared_name, "start_date": plain("start_date")},
    distinguishing={
        "business_email": work_address,
        "birth_date": plain("birth_date"),
        "social_security_number": nir,
        "departure_date": employed,
    },
    possible_match_rules=[
        possible(
            "same_number_other_form", EMPLOYEE.key, plain("id_entity"), loose_number, loose=True
        ),
        possible("same_person_other_key", (*NAMES, "start_date"), person_name, plain("start_date")),
        possible(
            "same_person_other_key", ("start_date", *NAMES[::-1]), plain("start_date"), loose_name
        ),
        possible("same_name_and_number", (*NAMES, "payroll_number"), person_name, loose_number),
        possible(
            "same_name_and_birth_date", (*NAMES, "birth_date"), person_name, plain("birth_date")
        ),
        possible("same_name_and_email", (*NAMES, "business_email"), person_name, work_address),
        possible("same_social_security_number", ("social_security_number",), nir),
        possible(
            "similar_name",
            ("first_name", "start_date", "last_name"),
            *(forename, plain("start_date"), name_parts),
        ),
        # A name typed with an error is another name; the address was usually made from the right one.
        possible("same_email_other_name", ("business_email",), work_address),
    ],
    unlisted=frozenset({"birth_date", "social_security_number"}),
)
"""The payroll number identifies an employee within an entity. A reviewer decides on records with the
number in another form, the same or a similar name and the same start date, the same name and number in another entity, the
same e-mail address at work, or, of a namesake, the same date of birth or social security number.
"""
