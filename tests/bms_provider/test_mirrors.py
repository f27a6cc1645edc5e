"""Params of the mirrors' DAGs, and what their runs store."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bms_provider import mirrors
from bms_provider.operators.flows import loads
from bms_warehouse.resources import CONSULTANT, EMPLOYEE

DETAILS = {"details", "full"}


def test_the_params_of_a_listed_resource_offer_no_details() -> None:
    assert mirrors.params(CONSULTANT).keys() > DETAILS
    params = mirrors.params(replace(CONSULTANT, has_detail=False))
    assert params.keys() & DETAILS == set()
    assert "detail" not in str(params["accept_gone"])


@pytest.mark.parametrize("given", ["off", False, "directory", True, None])
def test_a_param_of_a_dag_decides_on_details_by_name_or_flag(given: Any) -> None:
    sync = loads.BmsSyncOperator(task_id="sync", resource="contact", details=given)
    by_param = loads.BmsSyncOperator(task_id="sync", resource="contact")
    level = "off" if given in ("off", False) else "directory"
    context: Any = {"params": {"details": given}}
    assert sync.level({"params": {}}) == by_param.level(context) == level


@pytest.mark.parametrize(
    ("level", "stored"), [("full", "full"), ("off", "off"), (None, "directory")]
)
def test_private_fields_are_stored_if_param_or_setting_says_full(
    monkeypatch: pytest.MonkeyPatch, level: str | None, stored: str
) -> None:
    params = mirrors.params(EMPLOYEE)
    assert "details" not in params
    assert "entities" in params
    context: Any = SimpleNamespace()
    context = {"params": {"employee_details": level}}
    sync = loads.BmsSyncOperator(task_id="sync", resource="employee")
    assert sync.level(context) == stored
    monkeypatch.setenv("BMS_EMPLOYEE_DETAILS", "full")
    assert sync.level(context) == (level or "full")
