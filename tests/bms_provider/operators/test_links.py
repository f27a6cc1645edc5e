"""Links of a task in Airflow's UI."""

from typing import Any

import pytest
from airflow.sdk import BaseOperator
from airflow.sdk.types import TaskInstanceKey

from bms_provider.operators.access import BmsCheckAccessOperator
from bms_provider.operators.approval import BmsApprovePlanOperator
from bms_provider.operators.contacts import BmsListContactsOperator

RUN = "manual__2026-03-02T08:00:00+00:00"


def links(operator: BaseOperator, dag_id: str) -> dict[str, str]:
    key = TaskInstanceKey(dag_id=dag_id, task_id=operator.task_id, run_id=RUN)
    return {
        each.name: each.get_link(operator, ti_key=key) for each in operator.operator_extra_links
    }


@pytest.mark.parametrize("base", ["", "https://airflow.example.com/team/"])
def test_a_task_links_to_the_board_and_its_file(monkeypatch: pytest.MonkeyPatch, base: str) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", base)
    operator = BmsListContactsOperator(
        task_id="list", filter="ALL", path="operators/mine/manual__1/list.jsonl.gz"
    )
    address = base.rstrip("/")
    assert links(operator, "mine") == {
        "BMS board": f"{address}/bms/",
        "BMS file": f"{address}/bms-files/mine/manual__1/list.jsonl.gz",
    }


def test_a_task_of_the_project_links_to_its_run_on_the_board() -> None:
    operator = BmsCheckAccessOperator(task_id="check")
    page = "/bms/flows/contact_sync/runs/manual__2026-03-02T08%3A00%3A00%2B00%3A00"
    approve = BmsApprovePlanOperator(task_id="approve", proposal={})
    assert links(operator, "contact_sync") == links(approve, "contact_sync") == {"BMS board": page}


@pytest.mark.parametrize(
    "given", [{"path": "exports/contacts.jsonl"}, {"output": "xcom", "fields": "id"}]
)
def test_a_task_without_a_file_in_the_default_folder_has_no_file_link(
    given: dict[str, Any],
) -> None:
    operator = BmsListContactsOperator(task_id="list", filter="ALL", **given)
    assert links(operator, "mine")["BMS file"] == ""
