"""Steps of the onboarding DAGs: their order, and the group of the two approval rounds."""

from pathlib import Path
from typing import Any

import pytest

from bms_flows.catalog import CREATED_BY


@pytest.fixture(scope="module")
def onboardings(project: Path) -> dict[str, Any]:
    from airflow.dag_processing.dagbag import DagBag

    names = {flow.dag_id for flow in CREATED_BY.values()}
    found = dict[str, Any]()
    for name in names:
        bag = DagBag(str(project / "dags" / f"{name}.py"))
        assert bag.import_errors == {}
        found |= bag.dags
    assert found.keys() == names
    return found


def test_the_tasks_run_in_the_order_of_the_process(onboardings: dict[str, Any]) -> None:
    for dag in onboardings.values():
        assert [task.task_id for task in dag.topological_sort()] == [
            "plan",
            "approve",
            "enter",
            "approve_again",
            "enter_again",
            "chunks",
            "create",
            "conclude",
        ]


def test_both_approval_rounds_are_in_one_group(onboardings: dict[str, Any]) -> None:
    for dag in onboardings.values():
        (group,) = dag.task_group.get_task_group_dict().keys() - {None}
        assert group == "approval"
        assert dag.task_group_dict["approval"].children.keys() == {
            "approve",
            "enter",
            "approve_again",
            "enter_again",
        }
