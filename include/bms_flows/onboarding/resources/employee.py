"""Description and match rules of employees (interface, "Employee creation body").

Arrays and objects are flattened into columns: `mission1` to `mission6` form the object `missions`;
`salary_variable1_type`, `salary_variable1_value`, `salary_variable1_criteria` and
`salary_variable1_payment_date_code` form the first object of the array `salary_variable`.
`manager_payroll_number` and `manager_email` are not sent: they determine `id_manager`.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from bms.records import Employee
from bms_flows.onboarding.resources.description import Resource, columns
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

NIR_LENGTH = 13
"""Characters of a French social security number before its check key."""

NAME_PART = 4
"""Letters from which a word counts as a part of a last name; particles such as `de` are shorter."""

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
    fields=columns("employee", Employee),
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
