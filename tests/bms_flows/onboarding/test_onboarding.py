"""Whole runs on the real sandbox over HTTP and a real PostgreSQL."""

import asyncio
import time
from collections import Counter
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from bms.client import Client
from bms.errors import AmbiguousWrite, BmsError, Redirected
from bms.settings import ClientSettings
from bms_flows.onboarding.resources.remote import ListIncomparable, ScopeUnlisted
from bms_sandbox.serve import Sandbox
from proofs.simulation.service import person
from tests.bms_flows.onboarding.conftest import Drop, csv
from tests.bms_flows.onboarding.crm import HEADS, people
from tests.bms_flows.onboarding.onboarding import (
    codes,
    ended,
    let_clock_run,
    onboard,
)
from tests.support.sql import execute, scalars

PEOPLE = csv(
    "900001;Lefèvre;Aurélie;2026-05-01;",
    "900002;Martin;Paul;2026-05-01;900001",
    "900003;Null;NA;2026-05-01;900002",
)


ONCE = {"900001": 1, "900002": 1, "900003": 1}
"""Each of them was created once."""


def made(sandbox: Sandbox) -> dict[str, int]:
    return dict(Counter(row["payroll_number"] for row in sandbox.truth()["created"]["employees"]))


@pytest.mark.parametrize("forms", ["", "create_employee.guid_employee=upper+unhyphenated"])
def test_a_file_becomes_employees_with_their_managers_once(
    forms: str, sandbox: Sandbox, drop: Drop, warehouse: Engine
) -> None:
    sandbox.set_dialect(shown_forms=forms)
    outcomes = onboard(drop(PEOPLE))
    assert ended(outcomes) == {"created": 3}
    assert made(sandbox) == ONCE
    rows = {row["payroll_number"]: row for row in sandbox.rows("employees")}
    assert rows["900002"]["id_manager"] == rows["900001"]["id_employee"]
    assert rows["900003"]["id_manager"] == rows["900002"]["id_employee"]
    assert rows["900003"]["last_name"] == "Null"
    assert {outcome.guid for outcome in outcomes} == {
        rows[number]["guid_employee"] for number in ("900001", "900002", "900003")
    }
    assert set(outcomes[1].verified) >= {"id_manager", "last_name", "start_date", "payroll_number"}
    again = onboard(drop(PEOPLE))
    assert ended(again) == {"already_there": 3}
    assert made(sandbox) == ONCE
    guids = {row["guid_employee"] for row in rows.values()}
    assert {*scalars(warehouse, "select remote_id from bms.creation")} <= guids
    assert {outcome.guid for outcome in again} <= guids


def test_a_row_that_changed_only_in_case_or_in_the_form_of_an_amount_is_already_there(
    sandbox: Sandbox, drop: Drop, warehouse: Engine
) -> None:
    """Version 0.1.0 entered 2500,00 as 2500.00. The service never returns a salary."""
    head = "id_entity;payroll_number;last_name;first_name;start_date;salary_base;manager_payroll_number\n"
    boss = "1;900001;Lefèvre;Aurélie;2026-05-01;4000;\n"
    before, after = (
        f"{head}{boss}1;900002;{name};Paul;2026-05-01;2500;900001\n".encode()
        for name in ("MARTIN", "Martin")
    )
    assert ended(onboard(drop(before))) == {"created": 2}
    execute(warehouse, "update bms.creation_body set body = replace(body, '2500', '2500.00')")
    assert ended(onboard(drop(after))) == {"already_there": 2}
    other = after.replace(b"2500;900001", b"2600;900001")
    [_, outcome] = onboard(drop(other))
    assert (outcome.state, codes([outcome])) == ("needs_review", ["changed_unseen"])
    assert outcome.faults[0].details == {"fields": "Salaire de base"}
    retired = after.replace(b"2500;900001", b"2500;")
    sandbox.edit("employees", str(outcome.guid), id_manager=1)
    [_, outcome] = onboard(drop(after.replace(b"Martin", b"MArtin")))
    assert "Matricule du responsable" in outcome.faults[0].reason("FR")
    assert ended(onboard(drop(retired))) == {"already_there": 2}


@pytest.mark.parametrize(
    ("forms", "lag", "state", "verified"),
    [
        ("create_employee.id_employee=absent", "list_lag", "created", True),
        (
            "create_employee.id_employee=text,create_employee.is_standby=null",
            "list_lag",
            "created",
            True,
        ),
        # A GUID that is no UUID is an ambiguous outcome: the lists show the record.
        ("create_employee.guid_employee=padded", None, "adopted", True),
        # If the lists have no UUID either, its fields cannot be read back.
        ("*_employee*.guid_employee=padded", None, "adopted", False),
        ("", "list_lag", "created", True),
        ("", "detail_lag", "created", False),
    ],
)
def test_an_employee_whose_response_list_or_detail_is_incomplete_is_created_once(
    forms: str, lag: str | None, state: str, verified: bool, sandbox: Sandbox, drop: Drop
) -> None:
    """A lag ends after the lookups that allow another POST; managers need a number."""
    sandbox.set_dialect(shown_forms=forms)
    if lag:
        sandbox.set_fault(lag, "create_employee", seconds=3600)
    outcomes = onboard(drop(PEOPLE), create_timeout_s=1, settle_s=0.2)
    assert ended(outcomes) == {state: 3}
    assert made(sandbox) == ONCE
    rows = {row["payroll_number"]: row for row in sandbox.rows("employees")}
    assert rows["900002"]["id_manager"] == rows["900001"]["id_employee"]
    assert all(bool(outcome.verified) is verified for outcome in outcomes)


def test_a_confirmed_employee_that_the_service_does_not_have_is_not_reported_as_created(
    sandbox: Sandbox, drop: Drop
) -> None:
    """The response has the id of a queued request."""
    sandbox.set_dialect(shown_forms="create_employee.guid_employee=foreign")
    outcomes = onboard(drop(PEOPLE))
    found = [(each.state, codes([each])) for each in outcomes]
    assert found == [("needs_review", ["created_not_found"])] * 3


def test_a_record_that_may_not_be_read_stops_no_other_row(sandbox: Sandbox, drop: Drop) -> None:
    """A service may restrict the details of some employees, such as directors."""
    sandbox.insert("employees", id_entity=1, payroll_number="900001", last_name="Lefèvre")
    sandbox.set_fault("gateway", "read_employee", status=403, seconds=0, origin_seconds=1)
    outcomes = onboard(drop(PEOPLE), settle_s=0.2)
    assert ended(outcomes) == {"needs_review": 1, "created": 2}
    assert codes(outcomes[:1]) == ["not_readable"]
    assert made(sandbox) == {"900002": 1, "900003": 1}


@pytest.mark.parametrize(
    ("forms", "named"),
    [
        ("create_employee.last_name=cut:4", {"last_name"}),
        ("create_employee.start_date=days:-1", {"start_date"}),
        ("create_employee.*_name=ascii+upper", set()),
    ],
)
def test_an_employee_stored_under_another_name_is_reported_for_review(
    forms: str, named: set[str], sandbox: Sandbox, drop: Drop
) -> None:
    """The service has no update, so a user has to change the record there."""
    sandbox.set_dialect(stored_forms=forms)
    [outcome] = onboard(drop(csv("900001;Lefèvre;Aurélie;2026-05-01;")))
    assert outcome.state == ("needs_review" if named else "created")
    assert codes([outcome]) == ["created_with_other_name"] * bool(named)
    assert {each.name for each in outcome.differences} == named
    assert outcome.guid
    assert len(made(sandbox)) == 1


def test_the_guid_of_an_older_employee_confirms_no_create(
    sandbox: Sandbox, drop: Drop, client_settings: ClientSettings
) -> None:
    """A gateway returns the response to an earlier request of another user of the service."""

    async def older() -> None:
        async with Client(client_settings) as client:
            await client.create_employee(person(1))

    sandbox.set_fault("stale_response", "create_employee", count=1)
    asyncio.run(older())
    outcomes = onboard(drop(PEOPLE), settle_s=0.2)
    assert ended(outcomes) == {"adopted": 1, "created": 2}
    rows = {row["payroll_number"]: row for row in sandbox.rows("employees")}
    assert outcomes[0].guid == rows["900001"]["guid_employee"]
    assert rows["900002"]["id_manager"] == rows["900001"]["id_employee"]


def test_a_record_of_a_refused_row_is_reported_for_review(sandbox: Sandbox, drop: Drop) -> None:
    """A gateway repeats the POST by itself and returns the answer to the second one."""
    sandbox.set_fault("gateway", "create_employee", status=409, seconds=0, origin_seconds=0.001)
    [outcome] = onboard(drop(csv("900001;Lefèvre;Aurélie;2026-05-01;")))
    [record] = [row for row in sandbox.rows("employees") if row["payroll_number"] == "900001"]
    assert (outcome.state, outcome.faults[0].code) == ("needs_review", "refused_but_created")
    assert [each.guid for each in outcome.candidates] == [record["guid_employee"]]


@pytest.mark.parametrize(
    ("resource", "row", "typed"),
    [
        ("employee", "1;900001;Girard;Alice;2026-05-15", {}),
        ("employee", "1;900001;Girard;Alice;2026-05-15", {"payroll_number": "900777"}),
        ("contact", "Girard;Alice;a@depot.example;0600000003;;", {"email": "b@perso.example"}),
        ("contact", "Girard;Alice;a@depot.example;;Depot SA;", {"email": None}),
    ],
)
def test_a_record_that_a_user_enters_meanwhile_is_reported_even_under_another_key(
    resource: str, row: str, typed: dict[str, str], sandbox: Sandbox, drop: Drop
) -> None:
    other_row = row.replace("Alice", "Zoé").replace("900001", "900002").replace("a@", "z@")
    this = drop(people(resource, row, other_row.replace("003", "004")), resource)
    first, _ = onboard(this)
    made = next(each for each in sandbox.rows(f"{resource}s") if each["first_name"] == "Alice")
    sent = HEADS[resource].split(";")
    again = {name: made[name] for name in sent if made.get(name) is not None} | typed
    key = "guid_employee" if resource == "employee" else "id"
    entered = str(sandbox.insert(f"{resource}s", **again)[key])
    # Its report is written again; one with the same key is found by a file that is dropped again, too.
    for each in (this,) if typed else (this, drop(this.content + b"\n")):
        outcome, other = onboard(each)
        assert (outcome.state, outcome.faults[0].code) == ("needs_review", "duplicate_found")
        assert {found.guid for found in outcome.candidates} == {first.guid, entered}
        assert other.state == ("created" if each is this else "already_there")


def test_a_record_that_a_user_deletes_after_the_plan_is_reported(
    sandbox: Sandbox, drop: Drop
) -> None:
    given = {"payroll_number": "900001", "start_date": "2026-05-15", "id_entity": 1}
    known = sandbox.insert("employees", last_name="Girard", first_name="Zoé", **given)
    this = drop(csv("900001;Girard;Zoé;2026-05-15;", "900002;Petit;Luc;2026-05-18;"))
    assert ended(onboard(this)) == {"already_there": 1, "created": 1}
    sandbox.delete("employees", known["guid_employee"])
    outcome, other = onboard(this)  # its report is written again
    assert (outcome.state, outcome.faults[0].code) == ("needs_review", "record_deleted")
    assert other.state == "created"


def test_a_returned_guid_is_saved_before_the_rest_of_its_record_is_read(
    sandbox: Sandbox, drop: Drop
) -> None:
    """The read that completes the response outlasts the time limit of its create."""
    sandbox.set_dialect(shown_forms="create_employee.id_employee=absent")
    sandbox.set_fault("list_lag", "create_employee", seconds=3600)
    sandbox.fill(employees=0)
    sandbox.insert("employees", id_entity=1)  # the planner reads its detail
    sandbox.set_fault("latency", "read_employee", seconds=1, count=1, after=1)
    outcomes = onboard(drop(PEOPLE), create_timeout_s=0.5, lease_s=4, settle_s=0.2)
    assert ended(outcomes) == {"created": 2, "adopted": 1}
    assert outcomes[0].evidence.split()[0] == "returned_id"
    assert made(sandbox) == ONCE


def test_a_manager_listed_without_a_number_rejects_the_row(sandbox: Sandbox, drop: Drop) -> None:
    """A number that is listed as text is one."""
    sandbox.set_dialect(list_order="name")  # the sandbox sorts by the number otherwise
    manager = sandbox.insert("employees", id_entity=1, payroll_number="900100")
    sandbox.edit("employees", manager["guid_employee"], id_employee=None)
    [outcome] = onboard(drop(csv("900101;Martin;Paul;2026-05-01;900100")))
    assert outcome.state == "rejected"
    assert [(each.code, each.field) for each in outcome.faults] == [
        ("manager_without_number", "manager_payroll_number")
    ]
    assert "id_manager" in outcome.faults[0].hint("EN")
    assert not made(sandbox)
    sandbox.edit("employees", manager["guid_employee"], id_employee=str(manager["id_employee"]))
    assert ended(onboard(drop(csv("900101;Martin;Paul;2026-05-01;900100")))) == {"created": 1}
    sandbox.edit("employees", manager["guid_employee"], id_employee=manager["id_employee"])
    [created] = [r for r in sandbox.rows("employees") if r["payroll_number"] == "900101"]
    assert created["id_manager"] == manager["id_employee"]


def test_a_created_employee_missing_since_is_reported_as_missing(
    sandbox: Sandbox, drop: Drop
) -> None:
    two = csv("900001;Lefèvre;Aurélie;2026-05-01;", "900002;Martin;Paul;2026-05-01;")
    first, other = onboard(drop(two))
    sandbox.edit("employees", str(other.guid), id_entity=2)  # no longer in the list, and there
    sandbox.delete("employees", str(first.guid))
    [young, _] = onboard(drop(two + b"\n"), settle_s=60)
    assert (young.state, young.evidence) == ("already_there", "by_us"), "lists may not show it yet"
    outcomes = onboard(drop(two + b"\n\n"), settle_s=1e-6)
    assert [each.state for each in outcomes] == ["needs_review", "already_there"]
    assert codes(outcomes[:1]) == ["record_deleted"]


@pytest.mark.parametrize(("status", "error"), [(308, Redirected), (302, AmbiguousWrite)])
def test_a_redirected_create_stops_the_drop(
    status: int, error: type[BmsError], sandbox: Sandbox, drop: Drop
) -> None:
    this = drop(csv(*(f"90000{n};Nom{n};Paul;2026-05-01;" for n in range(1, 4))))
    sandbox.set_fault("read_only", "create_employee", status=status)
    with pytest.raises(error, match="redirected"):
        onboard(this)
    assert sandbox.truth()["requests"]["create_employee"] == {str(status): 1}
    sandbox.clear_faults()
    assert ended(onboard(this, settle_s=0.2)) == {"created": 3}


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_gateway_response_does_not_shorten_the_settle_time(
    sandbox: Sandbox, drop: Drop, status: int
) -> None:
    """The gateway times out after 0.1 s, the service finishes after 0.6 s, a lookup is due every 0.1 s."""
    sandbox.set_fault(
        "gateway", "create_employee", count=1, status=status, seconds=0.1, origin_seconds=0.6
    )
    outcomes = onboard(
        drop(csv("900001;Martin;Paul;2026-05-01;")), create_timeout_s=1.4, settle_s=0.1, lease_s=5
    )
    while sandbox.truth()["behind_gateway"]:
        time.sleep(0.05)
    assert made(sandbox) == {"900001": 1}
    assert ended(outcomes) == {"adopted": 1}


def test_a_create_queued_beyond_its_limit_is_not_sent(
    warehouse: Engine, sandbox: Sandbox, drop: Drop
) -> None:
    """It leaves within half of what a create may take or never: settling counts on that."""
    numbers = [f"90000{n}" for n in range(1, 7)]
    people = csv(*(f"{number};Martin{number};Paul;2026-05-01;" for number in numbers))
    sandbox.set_fault("latency", "create_employee", count=3, seconds=0.4)
    outcomes = onboard(drop(people, concurrency=1), create_timeout_s=1.0, lease_s=5)
    assert ended(outcomes) == {"created": 6}
    assert made(sandbox) == dict.fromkeys(numbers, 1)
    what = Counter(scalars(warehouse, "select what from bms.creation_event"))
    assert what["withdrawn"] > 0
    assert "unknown" not in what


FORMS_OF_NUMBERS = {"without_zeros": "4217", "zeros:8": "00004217", "padded": "004217 "}


@pytest.mark.parametrize("form", FORMS_OF_NUMBERS)
def test_a_lost_reply_of_a_service_that_stores_numbers_otherwise_makes_one_record(
    form: str, sandbox: Sandbox, drop: Drop
) -> None:
    let_clock_run(sandbox)
    sandbox.set_dialect(stored_forms=[f"create_employee.payroll_number={form}"])
    sandbox.set_fault("commit_then_lose_reply", "create_employee")
    this = drop(csv("004217;Lefèvre;Aurélie;2026-05-01;"))
    [outcome] = onboard(this, create_timeout_s=1, lease_s=4)
    assert made(sandbox) == {"004217": 1}, "as it was sent"
    stored = FORMS_OF_NUMBERS[form]
    [record] = [row for row in sandbox.rows("employees") if row["payroll_number"] == stored]
    if form == "padded":
        assert outcome.state == "adopted", "spaces around a number are none"
        return
    assert outcome.state == "needs_review"
    assert [candidate.guid for candidate in outcome.candidates] == [record["guid_employee"]]


@pytest.mark.parametrize("number", ["4217", "4 217", "00004217", "EMP-4217"])
def test_a_number_in_another_form_goes_to_review(number: str, sandbox: Sandbox, drop: Drop) -> None:
    there = sandbox.insert("employees", id_entity=1, payroll_number=number, last_name="Autre")
    ours = "emp 04217" if number.startswith("E") else "004217"
    [outcome] = onboard(drop(csv(f"{ours};Lefèvre;Aurélie;2026-05-01;")))
    assert codes([outcome]) == ["same_number_other_form"]
    assert [candidate.id for candidate in outcome.candidates] == [there["id_employee"]]
    assert made(sandbox) == {}


@pytest.mark.parametrize("number", ["4217", "04217"])
def test_the_next_audit_names_a_duplicate_under_another_form_of_its_number(
    number: str, sandbox: Sandbox, drop: Drop, warehouse: Engine
) -> None:
    sandbox.set_dialect(stored_forms=["create_employee.payroll_number=without_zeros"])
    [created] = onboard(drop(csv("004217;Lefèvre;Aurélie;2026-05-01;")))
    double = sandbox.insert("employees", id_entity=1, payroll_number=number, **PERSON)
    other = PERSON | {"last_name": "Autre"}
    sandbox.insert("employees", id_entity=1, payroll_number="0004217", **other)
    onboard(drop(csv("900003;Autre;Zoé;2026-05-15;")))
    found = scalars(warehouse, "select detail from bms.creation_event where what = 'double'")
    assert found == [" ".join(sorted([created.guid or "", double["guid_employee"]]))]


PERSON = {"last_name": "Lefèvre", "first_name": "Aurélie", "start_date": "2026-05-01"}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"payroll_number": "700001"}, "same_person_other_key"),
        ({"payroll_number": "900001", "start_date": "2020-01-01"}, "same_name_and_number"),
        (
            {"payroll_number": "7", "last_name": "Dupond-Lefèvre", "first_name": "Aurélie-Anne"},
            "similar_name",
        ),
    ],
    ids=["start date", "number", "double names"],
)
def test_a_match_in_another_entity_goes_to_review(
    given: dict[str, str], code: str, sandbox: Sandbox, drop: Drop
) -> None:
    there = sandbox.insert("employees", id_entity=2, **PERSON | given)
    this = drop(csv("900001;LEFEVRE;Aurelie;2026-05-01;"))
    [outcome] = onboard(replace(this, entities=(1, 2, 3)))
    assert codes([outcome]) == [code]
    assert [candidate.guid for candidate in outcome.candidates] == [there["guid_employee"]]
    assert made(sandbox) == {}


def test_days_that_the_service_shows_as_midnights_in_utc_are_the_same_days(
    sandbox: Sandbox, drop: Drop
) -> None:
    sandbox.set_dialect(date_format="utc")
    for number, name in (("900001", "Lefèvre"), ("700002", "Durand")):
        given = PERSON | {"last_name": name, "payroll_number": number}
        sandbox.insert("employees", id_entity=1, **given)
    sandbox.set_fault("commit_then_500", "create_employee", count=1)
    rows = (
        "900001;Lefèvre;Aurélie;2026-05-01;",
        "900002;Durand;Aurélie;2026-05-01;",
        "900003;Martin;Paul;2026-05-01;",
        "900004;Roux;Max;2026-01-05;",
    )
    same, alike, *sent = onboard(drop(csv(*rows)), settle_s=0.2)
    assert same.state == "already_there"
    assert codes([alike]) == ["same_person_other_key"]
    assert sorted(each.state for each in sent) == ["adopted", "created"]
    assert all("start_date" in each.verified for each in sent)


@pytest.mark.parametrize(
    ("dialect", "state"),
    [
        ("not_former", {"departure_date": "2024-06-30"}),
        ("active", {"departure_date": "2024-06-30"}),
        ("active", {"is_standby": True}),
    ],
)
def test_an_employee_whom_the_list_of_all_lacks_is_not_created_again(
    dialect: str, state: dict[str, object], sandbox: Sandbox, drop: Drop
) -> None:
    there = sandbox.insert("employees", id_entity=1, payroll_number="900001", **PERSON | state)
    sandbox.set_dialect(all_employees=dialect)
    rows = ("900001;Lefèvre;Aurélie;2026-05-01;", "900002;Martin;Paul;2026-05-01;")
    known, new = onboard(drop(csv(*rows)))
    assert (known.state, known.guid) == ("already_there", there["guid_employee"])
    assert (new.state, made(sandbox)) == ("created", {"900002": 1})


SECURITY, BORN = "2 85 05 78 006 084", "1985-05-17"
OTHER = {"social_security_number": "2 85 05 78 006 085", "birth_date": "1985-05-18"}
UNKNOWN_BIRTH = {"birth_date": None}


@pytest.mark.parametrize(
    ("known", "security", "born", "code"),
    [
        ({"social_security_number": SECURITY}, SECURITY, BORN, "same_social_security_number"),
        ({"birth_date": BORN}, SECURITY, BORN, "same_name_and_birth_date"),
        (OTHER, SECURITY, BORN, None),
        # A leaver may return unless a value tells the two apart.
        (UNKNOWN_BIRTH, "", "", "same_name_only"),
        (UNKNOWN_BIRTH, "", BORN, "same_name_only"),
        (UNKNOWN_BIRTH | {"departure_date": None}, "", "", None),
    ],
)
def test_a_former_employee_rehired_under_another_number_goes_to_review(
    known: dict[str, str | None],
    security: str,
    born: str,
    code: str | None,
    sandbox: Sandbox,
    drop: Drop,
) -> None:
    """Lists show neither field; the details of namesakes do."""
    left = PERSON | {"start_date": "2019-01-07", "departure_date": "2024-06-30"}
    there = sandbox.insert("employees", id_entity=1, payroll_number="1042", **left | known)
    head = (
        "id_entity;payroll_number;last_name;first_name;start_date;social_security_number;birth_date"
    )
    number = security.replace(" ", "") + "36" * bool(security)
    row = f"1;900001;LEFEVRE;Aurelie;2026-05-01;{number};{born}"
    [outcome] = onboard(drop(f"{head}\n{row}\n".encode()))
    assert codes([outcome]) == [code] * bool(code)
    found = [candidate.guid for candidate in outcome.candidates]
    assert found == [there["guid_employee"]] * bool(code)
    assert sum(made(sandbox).values()) == (code is None)


@pytest.mark.parametrize(
    "dialect",
    [
        {"ignored_parameters": "list_employees.id_entity"},
        {"shown_forms": "list_employees.payroll_number=absent"},
        {"shown_forms": "list_employees.payroll_number=cut:2"},
    ],
)
def test_a_list_that_its_details_contradict_creates_no_row(
    dialect: dict[str, str], sandbox: Sandbox, drop: Drop
) -> None:
    """The list shows another entity, or hides or masks the number of an existing employee."""
    sandbox.insert("employees", id_entity=2, payroll_number="900001")
    sandbox.set_dialect(**dialect)
    this = drop(csv("900001;Lefèvre;Aurélie;2026-05-01;").replace(b"\n1;", b"\n2;"))
    with pytest.raises(ListIncomparable, match=r"employees of entity 2.* payroll_number in each"):
        onboard(this)
    assert not made(sandbox)


def test_a_404_for_an_entity_of_the_connection_creates_no_row(sandbox: Sandbox, drop: Drop) -> None:
    sandbox.insert("employees", id_entity=2, payroll_number="700001", **PERSON)
    this = replace(drop(csv("900001;LEFEVRE;Aurelie;2026-05-01;")), entities=(1, 2))
    sandbox.set_fault("503", "list_employees", status=404, after=3, count=1)
    with pytest.raises(ScopeUnlisted, match=r"list of 2.*entities of the connection"):
        onboard(this)
    [outcome] = onboard(this)
    assert codes([outcome]) == ["same_person_other_key"]
    assert made(sandbox) == {}
