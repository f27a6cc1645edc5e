"""Flows on the board."""

from pathlib import Path

from bms_flows.catalog import CREATED_BY
from bms_provider.board.flows import task_of


def test_every_step_of_a_drop_has_a_task_in_its_dag(project: Path) -> None:
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(str(project / "dags"))
    for flow in CREATED_BY.values():
        tasks = bag.dags[flow.dag_id].task_dict
        for step in ("plan", "decide", "create_0", "conclude"):
            task, part = task_of(step)
            assert task is not None
            assert tasks[task].is_mapped is (part is not None)
        assert task_of("enter") == (None, None)
        assert {"enter", "enter_again"} <= tasks.keys()
