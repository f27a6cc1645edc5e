"""Mirror of a resource that the service only lists: no operation reads one record."""

from dataclasses import replace
from functools import partial

import pytest

from bms.endpoints import BY_OPERATION
from bms.records import Employee
from bms_flows.mirror.resource import RunOptions
from bms_flows.mirror.resources import mirrored, source
from bms_flows.runtime.checks import LoadHeld
from bms_sandbox.serve import Sandbox
from bms_warehouse.resources import CONSULTANT, EMPLOYEE
from tests.bms_flows.mirror.environment import KINDS, Mirror

LISTED = mirrored(replace(CONSULTANT, has_detail=False))


@pytest.fixture(autouse=True)
def _listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "listed", (LISTED, partial(source, resource=LISTED)))


def test_rows_changes_and_removals_need_no_detail(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(consultants=30)
    first = mirror.run("listed", asked=RunOptions(full=True))
    assert (first["state"], first["inserted"]) == ("complete", 30)
    sandbox.edit("consultants", 502, city="Lyon")
    sandbox.delete("consultants", 505)
    second = mirror.run("listed")
    assert (second["changed"], second["missing"], second["details_read"]) == (1, 1, 0)
    assert mirror.requests("read_consultant") == 0
    assert mirror.rows("bms.consultant", "id = 502")[0]["city"] == "Lyon"
    assert mirror.rows("bms.consultant", "deleted")[0]["id"] == 505
    third = mirror.run("listed")
    assert (third["unchanged"], third["changed"], third["missing"]) == (29, 0, 0)


def test_many_missing_rows_are_removed_only_once_an_operator_accepts(mirror: Mirror) -> None:
    mirror.sandbox.fill(consultants=30)
    mirror.run("listed")
    for key in range(501, 512):
        mirror.sandbox.delete("consultants", key)
    with pytest.raises(LoadHeld):
        mirror.run("listed")
    assert not mirror.rows("bms.consultant", "deleted")
    assert mirror.run("listed", asked=RunOptions(accept_gone=True))["missing"] == 11


def test_half_a_response_removes_no_row(sandbox: Sandbox, mirror: Mirror) -> None:
    sandbox.fill(consultants=30)
    mirror.run("listed")
    sandbox.set_fault("short_list", "list_consultants")  # every response lacks its second half
    assert mirror.run("listed")["state"] == "unstable"
    assert not mirror.rows("bms.consultant", "deleted")


def test_a_description_without_its_records_is_refused_with_the_remedy() -> None:
    with pytest.raises(LookupError, match=r"record of list_offers: add .* has_detail=False"):
        mirrored(replace(CONSULTANT, plural="offers"))


def test_restricted_fields_need_a_detail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, their restricted table would stay empty."""
    monkeypatch.setitem(BY_OPERATION, "list_employees", Employee)
    with pytest.raises(ValueError, match="employee: restricted fields are stored from the detail"):
        _ = replace(EMPLOYEE, has_detail=False).private_columns
