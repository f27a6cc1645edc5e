"""Dialects of lists and details: every dialect gives the same mirror."""

from dataclasses import replace
from typing import Any

import pytest

from bms.client import Client
from bms.errors import Refused
from bms_flows.mirror.resource import MirrorSource, RunOptions
from bms_flows.mirror.resources import CONTACTS, source
from bms_flows.runtime.settings import FlowSettings
from bms_sandbox.serve import Sandbox
from bms_warehouse.queries.records import fingerprint
from bms_warehouse.tables import consultant, contact, employee
from tests.bms_flows.mirror.environment import KINDS, NEVER, Mirror
from tests.support.sql import execute

READINGS: list[dict[str, Any]] = [
    {"page_size_max": 4},
    {"page_size_step": 5},
    {"past_end": "not_found"},
    {"past_end": "last_page"},
    {"list_order": "id_desc"},
    {"list_order": "name"},
    {"list_order": "modified_on"},
    {"all_includes_deleted": False},
    {"default_filter": "ALL"},
    {"nulls": "absent"},
    {"no_rows": "no_content"},
    {"no_rows": "null"},
    {"nulls": "year_one"},
    {"extra_fields": True},
    {"date_format": "datetime"},
    {"date_format": "zone"},
    {"date_format": "ms"},
    {"date_format": "utc"},
    {"datetime_format": "ms"},
    {"datetime_format": "utc_ms"},
    {"json_text": "escaped"},
    {"total_pages_rounding": "down"},
    {"total_pages_rounding": "beyond"},
    {"total_pages_counts": "from_here"},
    {"total_pages_counts": "after"},
]


def fingerprints(mirror: Mirror) -> list[str]:
    with mirror.warehouse.connect() as connection:
        return [fingerprint(connection, table) for table in (contact, consultant, employee)]


def all_three(mirror: Mirror) -> list[dict[str, Any]]:
    return [mirror.run(), mirror.run("consultant"), mirror.run("employee", id_entity=1)]


def empty(mirror: Mirror) -> None:
    execute(
        mirror.warehouse,
        "truncate bms.contact, bms.contact_superseded, bms.consultant, bms.consultant_superseded,"
        " bms.employee, bms.employee_superseded",
    )


@pytest.mark.prove
def test_every_dialect_gives_the_same_tables(sandbox: Sandbox, mirror: Mirror) -> None:
    small = {"contacts": 12, "consultants": 6, "employees": 5}
    sandbox.fill(**small)
    all_three(mirror)
    expected = fingerprints(mirror)
    for reading in READINGS:
        sandbox.reset()
        sandbox.fill(**small)
        sandbox.set_dialect(**reading)
        empty(mirror)
        manifests = all_three(mirror)
        assert [each["state"] for each in manifests] == 3 * ["complete"], reading
        # Only milliseconds contain the full time.
        if reading.get("datetime_format") not in ("ms", "utc_ms"):
            assert fingerprints(mirror) == expected, reading


@pytest.mark.parametrize("reading", [{"total_pages_when_empty": 1}, {"total_pages_when_empty": 0}])
def test_an_empty_service_is_an_empty_mirror(mirror: Mirror, reading: dict[str, Any]) -> None:
    mirror.sandbox.fill(contacts=0, consultants=0, employees=0)
    mirror.sandbox.set_dialect(**reading)
    manifests = all_three(mirror)
    assert [(each["state"], each["rows_read"]) for each in manifests] == 3 * [("complete", 0)]


def test_a_service_that_ignores_the_filter_causes_no_removals(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service may ignore `filter`; the row's own `deleted` precedes its list."""

    def unfiltered(client: Client) -> MirrorSource:
        usual = source(client, CONTACTS)
        return replace(usual, deleted=usual.rows)

    monkeypatch.setitem(KINDS, "contact", (CONTACTS, unfiltered))
    mirror.sandbox.fill(contacts=30)
    for row in mirror.sandbox.rows("contacts"):
        if row["deleted"]:
            mirror.sandbox.delete("contacts", row["id"])
    mirror.run(asked=RunOptions(details=False))
    assert not mirror.rows("bms.contact", "deleted")
    assert mirror.run(asked=RunOptions(details=False))["changed"] == 0


@pytest.mark.parametrize("all_includes_deleted", [True, False])
def test_flagged_contacts_are_found_wherever_the_service_lists_them(
    mirror: Mirror, all_includes_deleted: bool
) -> None:
    mirror.sandbox.fill(contacts=30)
    mirror.sandbox.set_dialect(all_includes_deleted=all_includes_deleted)
    mirror.run()
    mirror.sandbox.edit("contacts", 1003, deleted=True)
    manifest = mirror.run()
    assert (manifest["changed"], manifest["missing"]) == (1, 0)
    flagged = {row["id"] for row in mirror.rows("bms.contact", "_removal_reason = 'flagged'")}
    assert flagged == {row["id"] for row in mirror.sandbox.rows("contacts") if row["deleted"]}
    assert mirror.run()["changed"] == 0


def test_a_service_that_refuses_other_page_sizes_is_read_on_equal_pages(mirror: Mirror) -> None:
    mirror.sandbox.fill(contacts=33)
    mirror.sandbox.set_dialect(page_size_step=5)
    manifest = mirror.run(page_size=10, asked=RunOptions(details=False))
    assert (manifest["state"], manifest["rows_read"]) == ("complete", 33)


def test_unknown_fields_are_stored(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(contacts=5)
    sandbox.set_dialect(extra_fields=True)
    mirror.run()
    assert all(row["_extra"] for row in mirror.rows("bms.contact"))
    assert mirror.run()["unchanged"] == 5


def test_a_total_of_pages_that_the_service_does_not_give_hides_no_row(mirror: Mirror) -> None:
    mirror.sandbox.fill(contacts=60)
    mirror.sandbox.set_dialect(page_size_max=25, page_size_over="clamp_rows")
    assert mirror.run(page_size=100)["rows_read"] >= 60
    assert len(mirror.rows("bms.contact")) == 60


def test_a_refused_page_size_is_reported(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.set_dialect(page_size_max=5, page_size_over="refuse")
    with pytest.raises(Refused):
        mirror.run(page_size=10)
    assert mirror.run(page_size=5)["state"] == "complete"


def test_times_follow_a_corrected_time_zone(mirror: Mirror) -> None:
    """Unchanged rows, too."""
    mirror.sandbox.fill(contacts=12, consultants=6, employees=5)
    mirror.sandbox.set_dialect(datetime_format="ms")
    mirror.settings = FlowSettings(mirror_rotation=NEVER)
    right = mirror.client_settings
    all_three(mirror)
    expected = fingerprints(mirror)
    empty(mirror)
    mirror.client_settings = replace(right, time_zone="Asia/Tokyo")
    all_three(mirror)
    mirror.client_settings = right
    assert all(each["changed"] for each in all_three(mirror))
    assert fingerprints(mirror) == expected
    assert not any(each["changed"] or each["details_read"] for each in all_three(mirror))
