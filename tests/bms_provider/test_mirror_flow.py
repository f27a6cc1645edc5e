"""DAGs of mirrors that a description makes."""

from dataclasses import replace
from typing import Any

import pytest

from bms.endpoints import BY_OPERATION
from bms.records import Employee, EmployeeItem
from bms_flows.catalog import MIRRORS
from bms_provider import mirror_flow
from bms_provider.tasks import mirror as tasks
from bms_warehouse.resources import CONSULTANT, EMPLOYEE

DETAILS = {"details", "full"}


def test_the_dag_of_a_resource_with_details_reads_and_offers_them() -> None:
    dag: Any = mirror_flow.mirror("consultant_sync")
    assert dag.params.keys() > DETAILS
    assert dag.task_dict["check_access"].requires == ["list_consultants", "read_consultant"]
    assert "after the detail confirms it" in str(dag.doc_md)


def test_the_dag_of_a_listed_resource_requires_and_offers_no_details(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(MIRRORS, "consultant_sync", replace(CONSULTANT, has_detail=False))
    dag: Any = mirror_flow.mirror("consultant_sync")
    assert dag.params.keys() & DETAILS == set()
    assert "detail" not in str(dag.params["accept_gone"])
    assert dag.task_dict["check_access"].requires == ["list_consultants"]
    assert "the service has no detail of consultants" in str(dag.doc_md)


@pytest.mark.parametrize(("level", "stored"), [("full", True), ("directory", False), (None, True)])
def test_a_dag_with_private_fields_stores_them_if_its_param_or_setting_says_full(
    monkeypatch: pytest.MonkeyPatch, level: str | None, stored: bool
) -> None:
    monkeypatch.setitem(BY_OPERATION, "list_consultants", EmployeeItem)
    monkeypatch.setitem(BY_OPERATION, "read_consultant", Employee)
    described = replace(EMPLOYEE, name="consultant", plural="consultants", schedule="20 4 * * *")
    monkeypatch.setitem(MIRRORS, "consultant_sync", described)
    monkeypatch.setattr("bms_flows.runtime.settings.WITH_PRIVATE_FIELDS", (described,))
    monkeypatch.setenv("BMS_CONSULTANT_DETAILS", "full")
    dag: Any = mirror_flow.mirror("consultant_sync")
    assert "details" not in dag.params
    assert "`consultant_details=full` stores them in the schema `bms_private`" in str(dag.doc_md)
    params = {**dag.params.dump(), "consultant_details": level}
    assert tasks._options(params, described).private is stored
