"""Records that appear in the service between planning and sending: HR users type while a drop runs."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, text

from bms_flows.onboarding.reporting import review
from bms_flows.onboarding.sending.send import CreatesRefused
from bms_sandbox.serve import Sandbox
from bms_warehouse import database
from tests.bms_flows.onboarding.conftest import Drop, csv
from tests.bms_flows.onboarding.crm import TWO
from tests.bms_flows.onboarding.onboarding import (
    Run,
    codes,
    creation_of,
    onboard_patiently,
)
from tests.bms_flows.onboarding.test_crm import made
from tests.support.sql import execute

FILES = {
    "employee": csv("900001;Lefèvre;Aurélie;2026-05-01;", "900002;Martin;Paul;2026-05-01;"),
    **TWO,
}
TYPED: dict[str, dict[str, Any]] = {
    "employee": {
        "id_entity": 1,
        "payroll_number": "900001",
        "last_name": "Lefèvre",
        "first_name": "Aurélie",
        "start_date": "2026-05-01",
    },
    "contact": {
        "last_name": "Lefèvre",
        "first_name": "Aurélie",
        "email": "aurelie.lefevre@depot.example",
        "phone_mobile_number": "06 00 00 00 01",
        "imported_company_name": "Dépôt SA",
        "domains": [3, 7],
        "active": True,
        "deleted": False,
    },
    "consultant": {
        "last_name": "Lefèvre",
        "first_name": "Aurélie",
        "email": "aurelie.lefevre@depot.example",
        "phone_mobile_number": "06 00 00 00 01",
        "birth_year": 1988,
        "skills": [{"id": 4, "level": None, "favorite": None}],
    },
}
"""The first row of each file, as an HR user types it."""

Again = Callable[[Run, Drop], Run]
AGAIN: dict[str, Again] = {
    "cleared": lambda run, _: run,
    "dropped again": lambda run, drop: drop(run.content + b"\n", run.resource),
}


def decide(this: Run, line: int, choice: str) -> None:
    """Take a reviewer's decision on a line, and carry it out."""

    async def main() -> None:
        engine = database.connect(this.warehouse)
        async with creation_of(this, engine) as (creation, _):
            decision = review.ReviewDecision(choice, "ada", "manual__1")
            lines = review.LineSelection(frozenset({line}))
            chosen = review.choose_rows(engine, this.resource, this.drop_id, lines, decision)
            await creation.apply_decision(chosen.rows, decision)
        engine.dispose()

    asyncio.run(main())


def fail_to_create(this: Run, sandbox: Sandbox) -> None:
    """Run until all creates are refused; the rows stay READY."""
    sandbox.set_dialect(scope_shape="missing", granted_scopes=[f"read:{this.resource}"])
    with pytest.raises(CreatesRefused, match=r"403.*BMS_CREATE_STOPPED_BY"):
        onboard_patiently(this)
    granted = [f"read:{this.resource}", f"write:{this.resource}"]
    sandbox.set_dialect(scope_shape="array", granted_scopes=granted)


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("resource", FILES)
def test_a_row_typed_in_by_hand_after_a_failed_send_is_not_created(
    resource: str, again: str, sandbox: Sandbox, drop: Drop
) -> None:
    this = drop(FILES[resource], resource)
    fail_to_create(this, sandbox)
    typed = sandbox.insert(f"{resource}s", **TYPED[resource])
    outcomes = onboard_patiently(AGAIN[again](this, drop))
    assert [outcome.state for outcome in outcomes] == ["already_there", "created"]
    assert outcomes[0].guid == str(typed.get("guid_employee") or typed["id"])
    assert made(sandbox, f"{resource}s") == 1


@pytest.mark.parametrize(
    ("resource", "other"),
    [
        ("employee", {"payroll_number": "900009"}),
        *((crm, {"first_name": "Bob"}) for crm in TWO),
        ("contact", dict.fromkeys(("email", "phone_mobile_number", "imported_company_name"))),
        ("consultant", dict.fromkeys(("email", "phone_mobile_number", "birth_year"))),
    ],
)
def test_a_possible_match_found_before_sending_goes_to_review(
    resource: str, other: dict[str, Any], sandbox: Sandbox, drop: Drop
) -> None:
    this = drop(FILES[resource], resource)
    fail_to_create(this, sandbox)
    typed = sandbox.insert(f"{resource}s", **TYPED[resource] | other)
    outcomes = onboard_patiently(this)
    assert [outcome.state for outcome in outcomes] == ["needs_review", "created"]
    assert [c.guid for c in outcomes[0].candidates] == [
        str(typed.get("guid_employee") or typed["id"])
    ]
    assert made(sandbox, f"{resource}s") == 1


@pytest.mark.parametrize("resource", FILES)
def test_differences_to_a_record_typed_in_by_hand_are_shown(
    resource: str, sandbox: Sandbox, drop: Drop
) -> None:
    column = {"employee": "job_title", "contact": "business_title", "consultant": "city"}[resource]
    head, first, *rest = FILES[resource].decode().splitlines()
    content = "\n".join([f"{head};{column}", f"{first};Autre", *(f"{row};" for row in rest), ""])
    this = drop(content.encode(), resource)
    fail_to_create(this, sandbox)
    sandbox.insert(f"{resource}s", **TYPED[resource] | {column: "Comptable"})
    first_row, _ = onboard_patiently(this)
    assert (first_row.state, codes([first_row])) == ("needs_review", ["other_data"])
    assert [(d.name, d.ours, d.theirs) for d in first_row.differences] == [
        (column, "Autre", "Comptable")
    ]


def test_a_ledger_restored_to_before_the_send_creates_no_duplicate(
    sandbox: Sandbox, drop: Drop, warehouse: Engine
) -> None:
    this = drop(FILES["contact"], "contact")
    fail_to_create(this, sandbox)
    execute(warehouse, "create table bms.creation_backup as table bms.creation")
    assert {outcome.state for outcome in onboard_patiently(this)} == {"created"}
    with warehouse.begin() as connection:
        columns = (
            "state, attempt, max_attempts, first_intended_at, remote_id, remote_number, evidence,"
            " returned_id"
        )
        names = ", ".join(f"{name.strip()} = b.{name.strip()}" for name in columns.split(","))
        connection.execute(
            text(f"update bms.creation c set {names} from bms.creation_backup b where b.id = c.id")
        )
    this = replace(this, kept="")
    assert {outcome.state for outcome in onboard_patiently(this)} == {"already_there"}
    assert made(sandbox, "contacts") == 2


def test_a_subordinate_typed_in_by_hand_while_the_manager_waits_is_not_created(
    sandbox: Sandbox, drop: Drop
) -> None:
    """The manager's row goes to review; days pass until it is decided."""
    content = csv("900001;Lefèvre;Aurélie;2026-05-01;", "900002;Martin;Paul;2026-05-01;900001")
    this = drop(content)
    sandbox.set_fault("reset_after_read", "create_employee")
    outcomes = onboard_patiently(this, create_attempts=1, settle_s=0.01, create_timeout_s=0.4)
    assert [outcome.state for outcome in outcomes] == ["needs_review", "waiting"]
    sandbox.clear_faults()
    both = [
        sandbox.insert("employees", **TYPED["employee"]),
        sandbox.insert(
            "employees",
            **TYPED["employee"]
            | {"payroll_number": "900002", "last_name": "Martin", "first_name": "Paul"},
        ),
    ]
    decide(this, 2, "create")
    outcomes = onboard_patiently(replace(this, kept=""))
    assert [outcome.guid for outcome in outcomes] == [each["guid_employee"] for each in both]
    assert made(sandbox, "employees") == 0


def test_an_employee_who_never_appeared_was_not_deleted(sandbox: Sandbox, drop: Drop) -> None:
    """The service confirms the creation and shows the employee after many settle times."""
    brisk: dict[str, Any] = {"settle_s": 0.01, "create_timeout_s": 0.5, "lease_s": 2}
    sandbox.set_fault("commit_lag", "create_employee", seconds=3600)
    found = []
    for number in range(3):
        if number == 2:
            sandbox.advance(3600)
        this = drop(csv("900001;Lefèvre;Aurélie;2026-05-01;") + b"\n" * number)
        outcomes = onboard_patiently(this, **brisk)
        found += codes(outcomes) or [outcomes[0].state]
    assert found == ["created_not_found", "created_not_found", "already_there"]
