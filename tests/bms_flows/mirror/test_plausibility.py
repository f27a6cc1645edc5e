"""Mass changes of a mirrored list: the run is held, the mirror keeps its rows, an operator accepts once."""

from typing import Any

import pytest

from bms_flows.mirror.resource import RunOptions
from bms_flows.runtime.checks import LoadHeld, judge
from bms_flows.runtime.profile import Profile, Share, StoredProfile
from bms_sandbox.serve import Sandbox
from tests.bms_flows.mirror.environment import Mirror

LIST_ONLY = RunOptions(details=False)
ACCEPTED = RunOptions(details=False, accept_gone=True)


@pytest.mark.parametrize(
    ("dialect", "held"),
    [
        *(
            ({"shown_forms": form}, r"field_emptied \(email: lost in")
            for form in ("email=renamed:mail", "email=null", "email=absent", "email=cut:0")
        ),
        ({"ignored_parameters": ["list_contacts.filter"]}, r"many_changed \(_assigned"),
    ],
)
def test_a_field_that_loses_its_values_or_a_filter_that_is_ignored_holds_the_run(
    mirror: Mirror, dialect: dict[str, Any], held: str
) -> None:
    mirror.sandbox.fill(contacts=120)
    mirror.run(asked=LIST_ONLY)
    before = mirror.places()
    mirror.sandbox.set_dialect(**dialect)
    with pytest.raises(LoadHeld, match=held):
        mirror.run(asked=LIST_ONLY)
    assert mirror.places() == before, "the former values stay"
    assert mirror.last_step()["state"] == "suspect"
    assert mirror.run(asked=ACCEPTED)["changed"] > (100 if "shown_forms" in dialect else 20)
    emails = {row["email"] for row in mirror.rows("bms.contact")}
    assert (emails <= {None, ""}) is ("shown_forms" in dialect)
    assert mirror.run(asked=LIST_ONLY)["changed"] == 0


def test_a_loss_in_a_small_entity_is_measured_against_its_own_employees(
    sandbox: Sandbox, mirror: Mirror
) -> None:
    sandbox.fill(contacts=0, employees=200)
    small = [row["guid_employee"] for row in sandbox.rows("employees")][:10]
    for row in sandbox.rows("employees"):
        sandbox.edit(
            "employees", row["guid_employee"], id_entity=1 + (row["guid_employee"] in small)
        )
    for id_entity in (1, 2):
        mirror.run("employee", asked=LIST_ONLY, id_entity=id_entity)
    for guid in small[:8]:
        sandbox.edit("employees", guid, business_email=None)
    with pytest.raises(LoadHeld, match=r"field_emptied \(business_email: lost in 8 of (8|9|10)"):
        mirror.run("employee", asked=LIST_ONLY, id_entity=2)


@pytest.mark.parametrize(("usual", "held"), [(4, 0), (0, 1)])
def test_an_import_does_not_define_what_is_usual_of_later_rows(usual: int, held: int) -> None:
    """The nightly contacts have no company; an import of 2,000, all with one, was no reason to hold them."""
    name = "imported_company_name.empty_today"
    loads = [Share(0, 2_000), *[Share(usual, 5)] * 14]
    today = Profile()
    today.add(name, 5, 5)
    assert len(judge(today, [StoredProfile({name: each}) for each in loads])) == held


def test_dates_in_another_format_hold_the_run(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(contacts=120)
    mirror.run(asked=LIST_ONLY)
    sandbox.set_dialect(shown_forms="created_on=french")
    with pytest.raises(LoadHeld, match="many_quarantined"):
        mirror.run(asked=LIST_ONLY)
    before = mirror.places()
    mirror.run(asked=ACCEPTED)
    assert mirror.places("bms.contact") == {"bms.contact": before["bms.contact"]}
    assert mirror.run(asked=LIST_ONLY)["state"] == "complete", "the state is accepted"


@pytest.mark.parametrize("resource", ["contact", "consultant"])
def test_ids_that_belong_to_other_persons_hold_the_run(
    sandbox: Sandbox, mirror: Mirror, resource: str
) -> None:
    """The service was migrated and counts its ids from 1 again, or the client is another tenant's."""
    mirror.run(resource)
    rows = sandbox.rows(f"{resource}s")
    for number, row in enumerate(rows):
        sandbox.edit(f"{resource}s", row["id"], last_name=f"Autre {row['id']}")
        if number == len(rows) // 3:
            assert mirror.run(resource)["state"] == "complete", "users correct names"
    with pytest.raises(LoadHeld, match="last_name: changed in"):
        mirror.run(resource)
    assert mirror.run(resource, asked=RunOptions(accept_gone=True))["state"] == "complete"


def test_a_list_that_marks_all_rows_as_deleted_is_held(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(contacts=60)
    mirror.run(asked=LIST_ONLY)
    current = len(mirror.rows("bms.contact", "not deleted"))
    for row in sandbox.rows("contacts"):
        sandbox.edit("contacts", row["id"], deleted=True)
    with pytest.raises(LoadHeld, match="many_deleted"):
        mirror.run(asked=LIST_ONLY)
    assert len(mirror.rows("bms.contact", "not deleted")) == current
    mirror.run(asked=ACCEPTED)
    assert mirror.rows("bms.contact", "not deleted") == []


def test_an_acceptance_covers_only_what_the_latest_run_was_held_for(mirror: Mirror) -> None:
    mirror.sandbox.fill(contacts=120)
    mirror.run(asked=LIST_ONLY)
    mirror.sandbox.set_dialect(shown_forms="email=null")
    with pytest.raises(LoadHeld):
        mirror.run(asked=LIST_ONLY)
    mirror.sandbox.set_dialect(shown_forms="email=null,last_name=null")
    with pytest.raises(LoadHeld, match="last_name") as held:
        mirror.run(asked=ACCEPTED)
    assert "email:" not in str(held.value)


def test_a_held_run_reads_its_details_again(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(contacts=40)
    mirror.run()
    turn = mirror.last_step()["details"]["turn"]
    sandbox.set_dialect(shown_forms="email=null")
    with pytest.raises(LoadHeld):
        mirror.run()
    sandbox.set_dialect(shown_forms="")
    mirror.run()
    assert mirror.last_step()["details"]["turn"] == turn + 1


def test_rows_of_single_changes_are_published(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(contacts=120)
    mirror.run(asked=LIST_ONLY)
    for row in sandbox.rows("contacts")[:3]:
        sandbox.edit("contacts", row["id"], email=None)
    assert mirror.run(asked=LIST_ONLY)["changed"] <= 3


def test_a_volatile_field_makes_no_version_each_run(sandbox: Sandbox, mirror: Mirror) -> None:
    """The service adds an address whose signature changes with each response."""
    sandbox.fill(contacts=30)
    sandbox.set_dialect(shown_forms="mobile_phone=volatile+renamed:link")
    for _ in range(4):
        mirror.run(asked=LIST_ONLY)
    assert mirror.run(asked=LIST_ONLY)["changed"] == 0
