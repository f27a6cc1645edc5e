"""Rows that lists leave out and the service has all the same: known to be so, they are no news."""

from dataclasses import replace
from typing import Any

import pytest

from bms.client import Client
from bms.responses import Page
from bms_flows.mirror.contacts import CONTACTS, contacts
from bms_flows.mirror.resource import MirrorSource, RunOptions
from bms_flows.mirror.run import TooManyRemovals
from bms_flows.runtime.settings import FlowSettings
from bms_sandbox.serve import Sandbox
from tests.bms_flows.mirror.stand import KINDS, NEVER, Mirror


@pytest.fixture
def archived(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Contacts that the service leaves out of its lists and has all the same."""
    hidden: set[int] = set()

    def without_archived(client: Client) -> MirrorSource:
        source = contacts(client)

        async def rows(number: int, size: int) -> Page[Any]:
            page = await source.rows(number, size)
            return replace(page, records=[row for row in page.records if row.id not in hidden])

        return replace(source, rows=rows)

    monkeypatch.setitem(KINDS, "contact", (CONTACTS, without_archived))
    return hidden


def test_rows_that_a_person_knows_to_be_left_out_of_lists_are_not_asked_about_again(
    sandbox: Sandbox, mirror: Mirror, archived: set[int]
) -> None:
    sandbox.fill(contacts=60)
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    mirror.run()
    stood = mirror.rows("bms.contact_version")
    archived.update(range(1001, 1016))
    with pytest.raises(TooManyRemovals):
        mirror.run()
    assert mirror.run(asked=RunOptions(accept_gone=True))["missing"] == 0
    written = mirror.places()
    for _ in range(2):
        manifest = mirror.run()
        assert (manifest["state"], manifest["missing"]) == ("complete", 0)
        assert mirror.requests("read_contact") == 0
    assert mirror.places() == written
    archived.clear()
    assert mirror.run()["changed"] == 0
    assert mirror.rows("bms.contact_version") == stood


def test_one_that_lists_leave_out_is_gone_once_its_detail_is(
    sandbox: Sandbox, mirror: Mirror, archived: set[int]
) -> None:
    sandbox.fill(contacts=20)
    mirror.settings = FlowSettings(mirror_rotation=2)
    mirror.run()
    archived.update({1004, 1005})
    mirror.run()
    sandbox.delete("contacts", 1005)
    assert sum(mirror.run()["missing"] for _ in range(2)) == 1
    (gone,) = mirror.rows("bms.contact", "_removal_reason = 'missing'")
    assert gone["id"] == 1005


def test_many_whose_details_are_gone_are_a_person_s_business_too(
    sandbox: Sandbox, mirror: Mirror, archived: set[int]
) -> None:
    sandbox.fill(contacts=60)
    mirror.run()
    archived.update(range(1001, 1016))
    mirror.run(asked=RunOptions(accept_gone=True))
    for number in range(1001, 1016):
        sandbox.delete("contacts", number)
    with pytest.raises(TooManyRemovals):
        mirror.run(asked=RunOptions(full=True))
    assert not mirror.rows("bms.contact", "_removal_reason = 'missing'")
