"""Steps of the onboarding DAGs: their order, and the group of the two approval rounds."""

from typing import Any

import pytest

from bms_flows.catalog import CREATED_BY

APPROVAL = ["approve", "enter", "approve_again", "enter_again"]


@pytest.mark.parametrize("name", sorted(flow.dag_id for flow in CREATED_BY.values()))
def test_the_tasks_run_in_the_order_of_the_process_and_both_approval_rounds_in_one_group(
    dags: dict[str, Any], name: str
) -> None:
    tasks = [task.task_id for task in dags[name].topological_sort()]
    assert tasks == ["plan", *APPROVAL, "chunks", "create", "conclude"]
    (group,) = dags[name].task_group.get_task_group_dict().keys() - {None}
    assert group == "approval"
    assert dags[name].task_group_dict[group].children.keys() == {*APPROVAL}
