"""Contacts and consultants from files, on the real sandbox over HTTP and a real PostgreSQL."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Engine

from bms.client import Client
from bms.settings import ClientSettings
from bms_flows.onboarding.ledger import transitions
from bms_flows.onboarding.resources.remote import ListIncomparable
from bms_sandbox.serve import Sandbox
from stack.processes import until
from tests.bms_flows.onboarding.conftest import Drop
from tests.bms_flows.onboarding.crm import TWO, people
from tests.bms_flows.onboarding.onboarding import (
    codes,
    creation_of,
    ended,
    entered,
    let_clock_run,
    onboard,
    onboard_patiently,
)
from tests.support.patience import LONG_S
from tests.support.sql import fetch

ALICE = "Girard;Alice;alice@depot.example;06 00 00 00 03;Dépôt SA;"


def inserted(sandbox: Sandbox, **given: Any) -> str:
    row = {"last_name": "Girard", "first_name": "Alice", "active": True, "deleted": False, **given}
    return str(sandbox.insert("contacts", **row)["id"])


def made(sandbox: Sandbox, resource: str = "contacts") -> int:
    return len(sandbox.truth()["created"][resource])


@pytest.mark.parametrize("resource", TWO)
def test_a_file_is_created_in_the_crm_once(resource: str, sandbox: Sandbox, drop: Drop) -> None:
    first = onboard_patiently(drop(TWO[resource], resource))
    assert ended(first) == {"created": 2}
    assert ended(onboard_patiently(drop(TWO[resource] + b"\n", resource))) == {"already_there": 2}
    assert made(sandbox, f"{resource}s") == 2
    row = next(r for r in sandbox.rows(f"{resource}s") if str(r["id"]) == first[0].guid)
    if resource == "contact":
        assert row["domains"] == [3, 7]
    else:
        assert row["skills"] == [{"id": 4, "level": None, "favorite": None}]
    assert {"last_name", "first_name", "email"} <= set(first[0].verified)


def test_a_response_without_a_readable_id_is_settled_by_the_list(
    sandbox: Sandbox, drop: Drop
) -> None:
    let_clock_run(sandbox)
    sandbox.set_dialect(created_id="empty")
    # Lookups begin after the time limit of the create.
    outcomes = onboard_patiently(drop(TWO["contact"], "contact"), create_timeout_s=1)
    assert ended(outcomes) == {"adopted": 2}
    assert made(sandbox) == 2


def test_a_list_that_hides_addresses_creates_no_contact(sandbox: Sandbox, drop: Drop) -> None:
    inserted(sandbox, email="alice@depot.example")
    sandbox.set_dialect(shown_forms="list_contacts.email=absent")
    with pytest.raises(
        ListIncomparable, match=r"contacts \(ALL\): the list lacks or alters email in each of"
    ):
        onboard_patiently(drop(people("contact", ALICE), "contact"))
    assert not made(sandbox)


@pytest.mark.parametrize("ours", [True, False], ids=["created by us", "matched"])
@pytest.mark.parametrize("listed", [True, False], ids=["listed as deleted", "not listed"])
def test_a_live_record_replaces_a_deleted_match(
    ours: bool, listed: bool, sandbox: Sandbox, drop: Drop
) -> None:
    """Two contacts merged in the CRM: one is deleted, the other has its address and name."""
    row = people("contact", "Girard;Alice;alice@depot.example;;;")
    old = None if ours else inserted(sandbox, email="alice@depot.example")
    this = drop(row, "contact")
    [first] = onboard_patiently(this)
    assert (first.state, first.guid) == ("created" if ours else "already_there", old or first.guid)
    if listed:
        sandbox.edit("contacts", int(first.guid or 0), deleted=True, active=False)
        [told] = onboard_patiently(this)  # its report is written again
        assert codes([told]) == (["record_deleted"] if ours else [])  # else nothing was sent
    else:
        sandbox.delete("contacts", int(first.guid or 0))
    later = {"settle_s": 1e-6}  # the lists show by now what they ever will
    [gone] = onboard_patiently(drop(row + b"\n", "contact"), **later)
    assert (gone.state, codes([gone]), gone.guid) == (
        "needs_review",
        ["record_deleted"],
        first.guid,
    )
    new = inserted(sandbox, email="alice@depot.example")
    [found] = onboard_patiently(drop(row + b"\n\n", "contact"), **later)
    assert (found.state, found.guid) == ("already_there", new)
    assert made(sandbox) == ours


def test_a_changed_address_is_a_difference_not_a_new_contact(sandbox: Sandbox, drop: Drop) -> None:
    """Found by the mobile; and after the first match, by that match alone."""
    known = inserted(sandbox, email="old@depot.example", phone_mobile_number="+33600000003")
    [outcome] = onboard_patiently(drop(people("contact", ALICE), "contact"))
    assert (outcome.state, outcome.guid) == ("needs_review", known)
    assert [d.name for d in outcome.differences] == ["email", "imported_company_name"]
    sandbox.edit("contacts", int(known), email="third@depot.example", phone_mobile_number=None)
    [outcome] = onboard_patiently(drop(people("contact", ALICE.replace("SA", "SAS")), "contact"))
    assert (outcome.state, outcome.guid) == ("needs_review", known)
    assert made(sandbox) == 0


def test_a_person_with_the_address_of_another_is_created_once_the_address_is_cleared(
    drop: Drop,
) -> None:
    """As the remedy says: the phone of the second person does not lead to the first."""
    mailbox = "{};Alice;{};{};;"
    rows = [
        mailbox.format("Girard", "info@depot.example", ""),
        mailbox.format("Petit", "info@depot.example", "06 00 00 00 03"),
        mailbox.format("Petit", "", "06 00 00 00 03"),
    ]
    outcomes = [onboard_patiently(drop(people("contact", row), "contact"))[0] for row in rows]
    assert [outcome.state for outcome in outcomes] == ["created", "needs_review", "created"]
    assert codes(outcomes) == ["other_data"]


@pytest.mark.parametrize(
    ("given", "code", "listed"),
    [
        ({"email": "alice@depot.example", "first_name": "Bob"}, "same_email_other_name", True),
        ({"phone_mobile_number": "0600000003", "last_name": "Roux"}, "same_phone_other_name", True),
        ({"imported_company_name": "DÉPÔT SA"}, "same_name_and_company", True),
        ({"email": "alice@depot.example", "deleted": True}, "candidate_deleted", True),
        ({"email": "alice@depot.example", "deleted": True}, "candidate_deleted", False),
    ],
    ids=["e-mail", "phone", "name and company", "deleted", "deleted and not listed"],
)
def test_a_possible_namesake_goes_to_review(
    given: dict[str, Any], code: str, listed: bool, sandbox: Sandbox, drop: Drop
) -> None:
    sandbox.set_dialect(all_includes_deleted=listed)
    known = inserted(sandbox, **given)
    [outcome] = onboard_patiently(drop(people("contact", ALICE), "contact"))
    assert (outcome.state, codes([outcome])) == ("needs_review", [code])
    assert [candidate.guid for candidate in outcome.candidates] == [known]
    assert made(sandbox) == 0


def test_possibly_equal_rows_are_not_both_created(sandbox: Sandbox, drop: Drop) -> None:
    rows = (
        "Girard;Alice;alice@depot.example;06 00 00 00 03;;",
        "Girard;Alice;a.girard@depot.example;0600000003;;",
        "Girard;Bob;bob@depot.example;;;",
        "Girard;Zoé;bob@depot.example;;;",
    )
    outcomes = onboard_patiently(drop(people("contact", *rows), "contact"))
    assert [outcome.state for outcome in outcomes] == [
        "created",
        "needs_review",
        "rejected",
        "rejected",
    ]
    assert made(sandbox) == 1


def test_a_row_without_a_distinguishing_field_is_refused(drop: Drop) -> None:
    rows = ("Girard;Alice;;01 42 68 53 00;;", "Girard;Alice;alice at depot;;;")
    outcomes = onboard_patiently(drop(people("contact", *rows), "contact"))
    assert codes(outcomes) == ["no_key", "bad_email"]


def test_a_list_that_shifts_between_pages_hides_no_contact(sandbox: Sandbox, drop: Drop) -> None:
    """A row inserted in front of the list between two pages pushes others to pages already read."""
    known = inserted(sandbox, email="alice@depot.example")
    sandbox.set_fault("page_insert", "list_contacts", count=3)
    [outcome] = onboard_patiently(
        drop(people("contact", "Girard;Alice;alice@depot.example;;;"), "contact", page_size=10)
    )
    assert (outcome.state, outcome.guid) == ("already_there", known)


ALTERED: dict[str, tuple[dict[str, list[str]], str | None, str]] = {
    # The address is stored in lower case, and times are shown in another zone without saying so.
    "rewritten": (
        {
            "stored_forms": ["create_contact.email=lower"],
            "shown_forms": ["list_contacts.created_on=naive:UTC"],
        },
        "commit_then_lose_reply",
        "Girard;Alice;Alice@depot.example;06 00 00 00 03;Dépôt SA;",
    ),
    # Only the name shows whose record is new.
    "replaced address": (
        {"stored_forms": ["create_contact.email=cut:9"]},
        "commit_then_lose_reply",
        "Girard;Alice;alice@depot.example;;;",
    ),
    "cut name": (
        {"stored_forms": ["create_contact.last_name=cut:4"]},
        None,
        "Girard;Alice;;06 00 00 00 03;Dépôt SA;",
    ),
}
"""What a service does to its records, the fault of the create, and the row."""


@pytest.mark.parametrize("name", ALTERED)
def test_a_service_that_alters_what_was_sent_makes_one_record_which_a_reviewer_chooses(
    name: str, sandbox: Sandbox, drop: Drop
) -> None:
    dialect, fault, row = ALTERED[name]
    let_clock_run(sandbox)
    sandbox.set_dialect(**dialect)
    if fault:
        sandbox.set_fault(fault, "create_contact", count=1)
    this = drop(people("contact", row), "contact")
    [outcome] = onboard_patiently(this, create_timeout_s=0.4, settle_s=0.1)
    assert outcome.state == "needs_review"
    assert codes([outcome]) == ["similar_without_key" if fault else "key_with_other_data"]
    assert [candidate.guid for candidate in outcome.candidates] == [
        str(row["id"]) for row in sandbox.rows("contacts") if row["first_name"] == "Alice"
    ]
    assert made(sandbox) == 1


def test_the_record_of_a_namesake_in_the_same_file_is_no_candidate(
    sandbox: Sandbox, drop: Drop
) -> None:
    let_clock_run(sandbox)
    sandbox.set_fault("commit_then_lose_reply", "create_contact", count=1)
    sandbox.set_fault("reset_before_read", "create_contact", count=1)
    two = people("contact", "Girard;Alice;a@depot.example;;;", "Girard;Alice;b@depot.example;;;")
    outcomes = onboard_patiently(drop(two, "contact"), create_timeout_s=0.4, settle_s=0.02)
    assert ended(outcomes) == {"adopted": 1, "needs_review": 1}
    assert codes(outcomes) == ["absence_not_proven"]
    assert made(sandbox) == 1


def test_the_id_of_an_older_namesake_confirms_no_create(
    sandbox: Sandbox, drop: Drop, client_settings: ClientSettings
) -> None:
    """A gateway returns the response to an earlier request of another user of the service."""

    async def older() -> None:
        async with Client(client_settings) as client:
            other = {"last_name": "Girard", "first_name": "Alice", "email": "a@other.example"}
            await client.create_contact(other)

    sandbox.set_fault("stale_response", "create_contact", count=1)
    asyncio.run(older())
    [outcome] = onboard_patiently(drop(people("contact", ALICE), "contact"), create_timeout_s=1)
    [made] = [row for row in sandbox.rows("contacts") if row["email"] == "alice@depot.example"]
    assert (outcome.state, outcome.guid) == ("adopted", str(made["id"]))


def test_ids_that_the_service_uses_again_belong_to_the_new_persons(
    sandbox: Sandbox, drop: Drop
) -> None:
    """The service was restored from a backup, or counts on from its largest id after a restart."""
    first = onboard_patiently(drop(TWO["contact"], "contact"))
    sandbox.reset()
    rows = (ALICE, "Petit;Luc;luc@depot.example;06 00 00 00 04;Dépôt SA;")
    outcomes = onboard_patiently(drop(people("contact", *rows), "contact"), create_timeout_s=1)
    assert {each.guid for each in outcomes} == {each.guid for each in first}
    assert (ended(outcomes), made(sandbox)) == ({"adopted": 2}, 2)


def test_an_announced_page_without_rows_stops_no_drop(sandbox: Sandbox, drop: Drop) -> None:
    """Some services compute `total_pages` without the filter."""
    sandbox.fill(contacts=20)
    sandbox.set_dialect(total_pages_rounding="beyond")
    assert ended(onboard(drop(TWO["contact"], "contact", page_size=10))) == {"created": 2}


@pytest.mark.parametrize("resource", TWO)
def test_an_id_that_was_returned_before_its_record_exists_is_waited_for(
    resource: str, sandbox: Sandbox, drop: Drop, warehouse: Engine
) -> None:
    """Neither detail nor lists show the record for several settle times: the clock is stopped."""
    sandbox.set_fault("commit_lag", f"create_{resource}", seconds=60)
    this = drop(TWO[resource], resource)

    def waited() -> bool:
        counts = fetch(warehouse, "select empty_lookups, attempt from bms.creation")
        return bool(counts) and all(
            lookups > transitions.EMPTY_LOOKUPS or sent > 1 for lookups, sent in counts
        )

    with ThreadPoolExecutor() as threads:
        ending = threads.submit(onboard, this, create_timeout_s=0.5, lease_s=4, settle_s=0.2)
        assert until(waited, LONG_S)
        sandbox.advance(60)
        outcomes = ending.result()
    assert ended(outcomes) == {"adopted": 2}
    assert {outcome.evidence.split()[0] for outcome in outcomes} == {"returned_id"}
    assert made(sandbox, f"{resource}s") == 2


@pytest.mark.parametrize("resource", TWO)
def test_a_returned_id_is_saved_before_its_record_is_read(
    resource: str, sandbox: Sandbox, drop: Drop
) -> None:
    """The read of each record outlasts the time limit of its create."""
    sandbox.fill(**{f"{resource}s": 0})
    sandbox.insert(f"{resource}s", active=True)  # the planner reads its detail
    sandbox.set_fault("latency", f"read_{resource}", seconds=2, count=2, after=1)
    this = drop(TWO[resource], resource)
    outcomes = onboard(this, create_timeout_s=0.8, lease_s=4, settle_s=0.2)
    assert ended(outcomes) == {"adopted": 2}
    assert {outcome.evidence.split()[0] for outcome in outcomes} == {"returned_id"}
    assert made(sandbox, f"{resource}s") == 2


@pytest.mark.parametrize(
    "address",
    [
        "ALICE@depot.example",
        "Alice <alice@depot.example>",
        "bob@depot.example; alice@depot.example",
        "alice@depot.example, bob@depot.example",
    ],
)
@pytest.mark.parametrize("resource", TWO)
def test_an_address_in_another_form_goes_to_review(
    resource: str, address: str, sandbox: Sandbox, drop: Drop
) -> None:
    given = {"last_name": "Girard", "first_name": "Alice", "email": address}
    known = sandbox.insert(f"{resource}s", **given)
    row = people(resource, "Girard;Alice;alice@depot.example;;;")
    [outcome] = onboard_patiently(drop(row, resource))
    assert (outcome.state, codes([outcome])) == ("needs_review", ["same_email_other_form"])
    assert [candidate.guid for candidate in outcome.candidates] == [str(known["id"])]
    assert made(sandbox, f"{resource}s") == 0


def test_a_changed_phone_region_reads_the_records_again(
    sandbox: Sandbox, drop: Drop, warehouse: Engine
) -> None:
    """A stored snapshot has only records that matched by the rules of its time."""
    sandbox.insert(
        "contacts",
        last_name="Peeters",
        first_name="Jan",
        phone_mobile_number="0470 12 34 56",
        country="BE",
    )
    this = drop(people("contact", "Peeters;Jan;jan.new@x.be;0470 12 34 56;;"), "contact")

    async def planned_in(region: str, begun: str | None) -> str:
        async with creation_of(this, warehouse, phone_region=region) as (creation, sheet):
            if begun is None:
                return (await creation.plan(sheet)).plan.id
            rows_of = await entered(creation, sheet, begun)
            concluded = await creation.conclude(rows_of.plan_id, sheet)
            return concluded.outcomes[0].state

    plan_id = asyncio.run(planned_in("FR", None))
    assert asyncio.run(planned_in("BE", plan_id)) == "needs_review"
