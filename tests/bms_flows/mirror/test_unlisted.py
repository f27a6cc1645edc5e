"""Rows that are missing from lists but present in the service."""

from dataclasses import replace
from typing import Any

import pytest

from bms.client import Client
from bms.responses import FindRows, Page
from bms_flows.mirror.resource import MirrorSource, RunOptions
from bms_flows.mirror.resources import CONTACTS, source
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.settings import FlowSettings
from tests.bms_flows.mirror.environment import KINDS, NEVER, Mirror
from tests.support.sql import fetch

MANY = range(1001, 1016)


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """Contacts that lists lack, each with the contact that its detail shows: itself, or the one it was merged into."""
    shown: dict[int, int] = {}

    def without_them(client: Client) -> MirrorSource:
        usual = source(client, CONTACTS)

        async def rows(number: int, size: int, *, find: FindRows | None = None) -> Page[Any]:  # noqa: ARG001
            page = await usual.rows(number, size)
            return replace(
                page, records=[row for row in page.records if row.id not in shown], new=None
            )

        async def detail(key: int) -> Any:
            return await client.read_contact(shown.get(key, key))

        return replace(usual, rows=rows, detail=detail)

    monkeypatch.setitem(KINDS, "contact", (CONTACTS, without_them))
    return shown


def test_rows_known_to_be_missing_from_lists_need_no_second_confirmation(
    mirror: Mirror, unlisted: dict[int, int]
) -> None:
    mirror.sandbox.fill(contacts=60)
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    mirror.run()
    stood = mirror.rows("bms.contact_version")
    unlisted.update(zip(MANY, MANY, strict=True))
    with pytest.raises(LoadHeld):
        mirror.run()
    assert mirror.run(asked=RunOptions(accept_gone=True))["missing"] == 0
    mirror.run()
    assert mirror.requests("read_contact") == len(MANY) - 1  # once more; one is marked as deleted
    written = mirror.places()
    for _ in range(2):
        manifest = mirror.run()
        assert (manifest["state"], manifest["missing"]) == ("complete", 0)
        assert mirror.requests("read_contact") == 0
    assert mirror.places() == written
    unlisted.clear()
    assert mirror.run()["changed"] == 0
    assert mirror.rows("bms.contact_version") == stood


def test_an_unlisted_row_is_removed_once_its_detail_is_missing(
    mirror: Mirror, unlisted: dict[int, int]
) -> None:
    mirror.sandbox.fill(contacts=20)
    mirror.settings = FlowSettings(mirror_rotation=2)
    mirror.run()
    unlisted.update({1004: 1004, 1005: 1005})
    mirror.run()
    mirror.sandbox.delete("contacts", 1005)
    assert sum(mirror.run()["missing"] for _ in range(2)) == 1
    (gone,) = mirror.rows("bms.contact", "_removal_reason = 'missing'")
    assert gone["id"] == 1005


def test_a_deleted_row_whose_detail_was_shown_once_more_is_removed_by_the_next_run(
    mirror: Mirror, unlisted: dict[int, int]
) -> None:
    """A replica that lags shows the detail of a row that the list lacks already."""
    mirror.sandbox.fill(contacts=20)
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    mirror.run()
    unlisted[1005] = 1005
    assert mirror.run()["missing"] == 0
    mirror.sandbox.delete("contacts", 1005)
    assert mirror.run()["missing"] == 1


def test_many_missing_details_need_confirmation(mirror: Mirror, unlisted: dict[int, int]) -> None:
    mirror.sandbox.fill(contacts=60)
    mirror.run()
    unlisted.update(zip(MANY, MANY, strict=True))
    mirror.run(asked=RunOptions(accept_gone=True))
    for number in MANY:
        mirror.sandbox.delete("contacts", number)
    with pytest.raises(LoadHeld):
        mirror.run(asked=RunOptions(full=True))
    assert not mirror.rows("bms.contact", "_removal_reason = 'missing'")


def test_a_merged_contact_is_missing_and_the_other_contact_is_unchanged(
    mirror: Mirror, unlisted: dict[int, int]
) -> None:
    mirror.sandbox.fill(contacts=20)
    mirror.run()
    other = mirror.rows("bms.contact_version", "id = 1007")
    unlisted[1005] = 1007
    assert mirror.run()["missing"] == 1
    (gone,) = mirror.rows("bms.contact", "_removal_reason = 'missing'")
    assert gone["id"] == 1005
    assert mirror.rows("bms.contact_version", "id = 1007") == other
    written = mirror.places()
    assert mirror.run()["missing"] == 0
    assert mirror.places() == written


def test_a_detail_of_another_contact_is_not_stored(
    mirror: Mirror, unlisted: dict[int, int]
) -> None:
    """A gateway or a cache returns the response of another request."""
    mirror.sandbox.fill(contacts=20)
    usual = KINDS["contact"][1]
    unlisted[1005] = 1007
    KINDS["contact"] = (
        CONTACTS,
        lambda client: replace(usual(client), rows=source(client, CONTACTS).rows),
    )
    assert mirror.run()["quarantined"] == 0
    wrong = fetch(mirror.warehouse, "select row_key, code from bms.quarantine")
    assert wrong == [("1005 detail", "other_record")]
    (row,) = mirror.rows("bms.contact", "id = 1005")
    assert not row["_detailed"]
    unlisted.clear()
    mirror.run()
    (row,) = mirror.rows("bms.contact", "id = 1005")
    assert row["_detailed"]
