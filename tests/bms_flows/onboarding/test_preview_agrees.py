"""The preview of a file says what the plan of its drop decides, if nothing changed since the mirror's read.

The files are generated without the project's code.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.mirror.resource import RunOptions
from bms_flows.onboarding.planning.plan import PlannedRow
from bms_flows.onboarding.planning.rules import Reading
from bms_flows.onboarding.preview import Preview, preview
from bms_sandbox.serve import Sandbox
from tests.bms_flows.mirror.environment import Mirror
from tests.bms_flows.onboarding.conftest import Drop, csv
from tests.bms_flows.onboarding.onboarding import Run, creation_of, onboard

FILES = 1000
HEADER = [
    "Entité",
    "Matricule",
    "Nom",
    "Prénom",
    "Date d'entrée",
    "E-mail professionnel",
    "Matricule du responsable",
]
NAMES = ("Durand", "Petit", "Moreau", "Fabre", "Gauthier", "Lambert", "Roussel", "Mercier")
FIRST = ("Chloé", "Hugo", "Inès", "Louis", "Manon", "Nina", "Oscar", "Paul")
VERDICTS = {
    "rejected": "correct",
    "create": "create",
    "resume": "resume",
    "review": "decide",
    "already_there": "exists",
}


def generated(chance: random.Random, records: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a file of new people, of known ones in several forms, and of faulty rows."""
    rows = [_row(chance, chance.choice(records)) for _ in range(chance.randint(1, 9))]
    if chance.random() < 0.2:
        rows.append(list(chance.choice(rows)))
    header = [*HEADER]
    if chance.random() < 0.05:
        header[2] = chance.choice(("Nomm", "Nom d'usage", "Nom"))
    lines = "".join(f"{';'.join(each)}\r\n" for each in (header, *rows))
    return lines.encode(chance.choice(("cp1252", "utf-8-sig")), errors="replace")


def _row(chance: random.Random, record: Mapping[str, Any]) -> list[str]:
    number = str(record["payroll_number"] or chance.randint(100_000, 999_999))
    known = [
        str(record["id_entity"]),
        number,
        str(record["last_name"]),
        str(record["first_name"]),
        str(record["start_date"] or "2026-01-05")[:10],
        str(record["business_email"] or ""),
        "",
    ]
    new = [
        chance.choice("12"),
        str(chance.randint(700_000, 799_999)),
        chance.choice(NAMES),
        chance.choice(FIRST),
        f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
        "",
        "",
    ]
    name = chance.choice(("", "Durand (née Petit)", "12", "?"))
    start = chance.choice(("31/02/2026", "2026", "hier", ""))
    address = chance.choice(("a@b", "x(at)y.fr", "a b@c.fr"))
    kinds = (
        *[new] * 3,
        known,
        [*known[:4], new[4], *known[5:]],
        [known[0], new[1], *known[2:]],
        [known[0], f"00{number}", *known[2:]],
        [*new[:5], known[5], ""],
        [*new[:6], number],
        [*new[:6], "999999"],
        [*new[:6], new[1]],
        [*new[:2], name, *new[3:]],
        [*new[:4], start, *new[5:]],
        [*new[:5], address, ""],
    )
    return chance.choice(kinds)


def expected(planned: PlannedRow) -> str:
    """Return the verdict that a planned row should have had."""
    if planned.action == "manual_change":
        return "exists" if planned.known else "decide"
    return VERDICTS[planned.action]


@pytest.mark.prove
def test_the_verdicts_of_generated_files_are_those_of_their_plans(
    sandbox: Sandbox, warehouse: Engine, mirror: Mirror, drop: Drop
) -> None:
    onboard(drop(csv("900001;Lefèvre;Aurélie;2026-05-01;", "900002;Martin;Paul;2026-05-01;900001")))
    for entity in (1, 2):
        mirror.run("employee", id_entity=entity)
    records = sandbox.rows("employees")
    chance, seen = random.Random(31), Counter[str]()
    for number in range(FILES):
        content = generated(chance, records)
        found, planned = compared(warehouse, replace(drop(content), entities=(1, 2)))
        if found.refused:
            assert {each.action for each in planned} == {"rejected"}, number
            seen["refused"] += 1
            continue
        verdicts = {row.line: row.verdict for row in found.rows}
        wrong = {
            each.line: (
                verdicts[each.line],
                each.action,
                each.reason,
                [f.code for f in each.faults],
            )
            for each in planned
            if verdicts[each.line] != expected(each)
        }
        assert not wrong, (number, wrong, content)
        seen.update(verdicts.values())
    assert seen.keys() == {"correct", "create", "decide", "exists", "refused"}, seen


def test_a_person_under_a_married_name_is_found_by_a_mirrored_social_security_number(
    sandbox: Sandbox, warehouse: Engine, mirror: Mirror, drop: Drop
) -> None:
    """The lists show no social security number, and no name in common that would have the detail read."""
    sandbox.insert(
        "employees", id_entity=1, last_name="Petit", social_security_number="2850575123456"
    )
    head = "id_entity;payroll_number;last_name;first_name;start_date;social_security_number"
    dropped = drop(f"{head}\n1;910001;Durand;Zoé;2026-09-01;2 85 05 75 123 456 78\n".encode())
    [before] = compared(warehouse, dropped)[1]
    mirror.run("employee", id_entity=1, asked=RunOptions(private=True))
    found, [after] = compared(warehouse, dropped)
    assert (before.action, after.action) == ("create", "review")
    assert after.reason == "same_social_security_number"
    assert found.rows[0].verdict == "decide"


def compared(warehouse: Engine, run: Run) -> tuple[Preview, Sequence[PlannedRow]]:
    """Return the preview of a file, and the rows of its drop's plan."""
    mirrored = dict.fromkeys(("1", "2"), datetime.now(UTC))
    reading = Reading.of("employee", run.settings)
    found = preview(run.content, "drop.csv", reading, warehouse, mirrored)

    async def planned() -> Sequence[PlannedRow]:
        async with creation_of(run, warehouse) as (creation, sheet):
            return (await creation.plan(sheet, dry_run=True)).plan.rows

    return found, asyncio.run(planned())
