"""Demo employees, contacts and consultants as a pure function of a seed."""

import unicodedata
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any, Final, NamedTuple

from bms_sandbox.demo_invoices import CLIENTS, client_name
from bms_sandbox.demo_values import (
    DEPARTMENTS,
    FIRST_NAMES,
    JOBS,
    LAST_NAMES,
    SKILLS,
    STREETS,
    TOWNS,
    seeded,
)
from bms_sandbox.row_encoder import Row

FIRST_DAY = datetime(2019, 1, 7, 8, tzinfo=UTC)
REMEMBERED = lru_cache(maxsize=10_000)
"""Tests fill the sandbox with the same rows again and again; a change of a row copies it."""
GUIDS = uuid.UUID("5f0e2c1e-6d5b-4c0f-9a57-4b1f3a3d9c11")


@REMEMBERED
def employee(seed: int, id_entity: int, number: int) -> Row:
    """Return demo employee `number` of `id_entity`: about 1 in 12 on standby, 1 in 8 former."""
    random = seeded(0, seed, 1, id_entity, number)
    first, last, address = _name(random), random.choice(LAST_NAMES), _address(random)
    department, service = random.choice(DEPARTMENTS)
    created_on = _instant(random)
    start = created_on.date() + timedelta(days=random.randrange(60))
    standby = number % 12 == 5  # noqa: PLR2004 -> a fixed share
    left = start + timedelta(days=random.randint(200, 900)) if number % 8 == 3 else None  # noqa: PLR2004 -> a fixed share
    consultant = random.random() < 0.6  # noqa: PLR2004 -> most of a consulting firm
    id_employee = id_entity * 100_000 + number
    return {
        "guid_employee": str(uuid.uuid5(GUIDS, f"{seed}/{id_employee}")),
        "id_employee": id_employee,
        "reference_number": number,
        "salutation_code": random.choice(("M", "MME")),
        "last_name": last,
        "preferred_last_name": None,
        "first_name": first,
        "preferred_first_name": first.split("-")[0] if "-" in first else None,
        "department_code": department,
        "department_service": service,
        "affiliated_company": None,
        "id_manager": id_entity * 100_000 + 1 if number > 1 else None,
        "job_title": random.choice(JOBS),
        "payroll_number": f"{number:06d}",
        "category_code": random.choice(("CADRE", "ETAM")),
        "contract_type_code": random.choice(("CDI", "CDI", "CDD")),
        "status_code": "TP",
        "status_position": random.choice(("2.1", "2.2", "3.1")),
        "status_factor": random.choice(("115", "130", "170")),
        "birth_date": str(
            date(1960 + random.randrange(42), 1, 1) + timedelta(random.randrange(365))
        ),
        "birth_city": random.choice(TOWNS)[1],
        "birth_country": "FR",
        "nationality": "FR",
        "resident_permit_number": None,
        "resident_permit_expiration_date": None,
        "business_landline_phone": None,
        "personal_landline_phone": None,
        "business_mobile_phone": _phone(random, "6"),
        "personal_mobile_phone": _phone(random, "7"),
        "business_email": f"{_mailbox(first, last)}.{number}@entreprise-{id_entity}.example",
        "personal_email": f"{_mailbox(first, last)}.{number}@courriel.example",
        **address,
        "social_security_number": f"{random.choice('12')}{random.randrange(10**12):012d}",
        "emergency_contacts": f"{_name(random)} {last}, {_phone(random, '6')}",
        "start_date": start,
        "end_date_trial_first_period": start + timedelta(days=90),
        "end_date_trial_second_period": start + timedelta(days=180),
        "departure_date": left,
        "departure_estimated_date": left,
        **{f"mission{n}": random.choice(SKILLS) if n < 3 else None for n in range(1, 7)},  # noqa: PLR2004 -> two missions each
        "skills": ", ".join(random.sample(SKILLS, 2)),
        "is_salesperson": not consultant,
        "is_consultant": consultant,
        "has_timesheets": consultant,
        "timesheets_frequency_code": 1 if consultant else None,
        "has_portal_access": True,
        "exclude_from_directory": False,
        "meal_vouchers_count": random.choice((0, 18, 20)),
        "use_vehicle": False,
        "vehicle_type_code": None,
        "vehicle_tax_horsepower_code": None,
        "vehicle_registration_number": None,
        "vehicle_price_per_km": None,
        "has_overtime": False,
        "activity_rate": random.choice((100, 100, 100, 80)),
        "id_entity": id_entity,
        "is_standby": standby,
        "created_on": created_on,
        "modified_on": created_on + timedelta(hours=3),
        "validated_on": None if standby else created_on + timedelta(days=1),
        "created_by": 2,
        "modified_by": 2,
        "validated_by": None if standby else 3,
        "salary_base": 2_100 + random.randrange(4_000),
    }


@REMEMBERED
def contact(seed: int, number: int) -> Row:
    """Return demo contact `number`: about 1 in 15 deleted, 2 in 3 with an account manager."""
    random = seeded(0, seed, 2, number)
    first, last, address = _name(random), random.choice(LAST_NAMES), _address(random)
    client = random.randrange(CLIENTS)
    created_on = _instant(random)
    deleted = number % 15 == 7  # noqa: PLR2004 -> a fixed share
    return {
        "id": 1000 + number,
        "first_name": first,
        "last_name": last,
        "business_title": random.choice(JOBS),
        "email": f"{_mailbox(first, last)}.{number}@client-{100 + client}.example",
        "phone_mobile_number": _phone(random, "6"),
        "phone_number": _phone(random, "1"),
        "fax_number": None,
        **address,
        "exclude_from_emailing": random.random() < 0.1,  # noqa: PLR2004 -> a share
        "send_greetings_card": random.random() < 0.3,  # noqa: PLR2004 -> a share
        "greetings_card_details": None,
        "is_lead": number % 4 == 0,
        "origin": random.choice(("SALON", "WEB", "RECOMMANDATION", None)),
        "signal": None,
        "domains": sorted(random.sample(range(1, 9), 2)),
        "notes": None,
        "imported_company_name": client_name(client) if random.random() < 0.2 else None,  # noqa: PLR2004 -> a share
        "id_client": 100 + client,
        "id_account_manager": 10 + client % 8 if number % 3 else None,
        "active": not deleted and number % 10 != 4,  # noqa: PLR2004 -> a fixed share
        "deleted": deleted,
        "created_on": created_on,
        "modified_on": created_on + timedelta(days=random.randrange(200)),
        "deleted_on": created_on + timedelta(days=210) if deleted else None,
        "created_by": 10 + random.randrange(8),
        "modified_by": 10 + random.randrange(8),
        "deleted_by": 4 if deleted else None,
        "phone_other_number": _phone(random, "9"),
    }


@REMEMBERED
def consultant(seed: int, number: int) -> Row:
    """Return demo consultant `number`."""
    random = seeded(0, seed, 3, number)
    first, last, address = _name(random), random.choice(LAST_NAMES), _address(random)
    created_on = _instant(random)
    born = 1962 + random.randrange(40)
    return {
        "id": 500 + number,
        "first_name": first,
        "last_name": last,
        "type": random.choice(("FREELANCE", "EMPLOYEE", "SUBCONTRACTOR")),
        "affinity": random.randint(1, 5),
        "rate": 300 + 5 * random.randrange(140),
        "currency": "EUR",
        "availability_date": str(date(2026, 1, 1) + timedelta(days=random.randrange(500))),
        "birth_year": born,
        "work_start_year": born + 22,
        "professional_profile": random.choice(JOBS),
        "skills": [
            {"id": n + 1, "level": random.randint(1, 5), "favorite": n == 0}
            for n in sorted(random.sample(range(6), 3))
        ],
        "languages": [{"code": "FR", "level": 5}, {"code": "EN", "level": random.randint(1, 5)}],
        **address,
        "phone_number": None,
        "phone_mobile_number": _phone(random, "6"),
        "email": f"{_mailbox(first, last)}.{number}@indep.example",
        "no_emails": False,
        "no_sms": random.random() < 0.2,  # noqa: PLR2004 -> a share
        "id_client": 100 + random.randrange(CLIENTS) if number % 5 == 0 else None,
        "notes": None,
        **{f"custom{n}": None for n in range(1, 6)},
        "active": number % 9 != 2,  # noqa: PLR2004 -> a fixed share
        "created_on": created_on,
        "modified_on": created_on + timedelta(days=random.randrange(200)),
        "created_by": 10 + random.randrange(8),
        "modified_by": 10 + random.randrange(8),
    }


def _name(random: Random) -> str:
    return random.choice(FIRST_NAMES)


def _address(random: Random) -> dict[str, Any]:
    postal_code, city = random.choice(TOWNS)
    return {
        "address": f"{random.randint(1, 180)} {random.choice(STREETS)}",
        "postal_code": postal_code,
        "city": city,
        "country": "FR",
    }


def _phone(random: Random, kind: str) -> str:
    digits = f"{random.randrange(10**8):08d}"
    return f"+33 {kind} {digits[:2]} {digits[2:4]} {digits[4:6]} {digits[6:]}"


def _instant(random: Random) -> datetime:
    return FIRST_DAY + timedelta(
        days=random.randrange(2_400),
        seconds=random.randrange(30_000),
        milliseconds=random.randrange(1_000),
    )


def _mailbox(first: str, last: str) -> str:
    plain = unicodedata.normalize("NFKD", f"{first}.{last}").encode("ascii", "ignore").decode()
    return "".join(c for c in plain.lower() if c.isalnum() or c in ".-")


class DemoList(NamedTuple):
    """Demo rows of a resource with one list and the key `id`."""

    row: Callable[[int, int], Row]
    """Returns the row of a seed and a number from 1."""
    size: int
    """Number of rows at the start."""


LISTS: Final[Mapping[str, DemoList]] = {
    "contacts": DemoList(contact, 250),
    "consultants": DemoList(consultant, 120),
}
"""Resources with one list; employees have a list per entity."""
