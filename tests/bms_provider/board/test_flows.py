"""The board shows every flow there is."""

from pathlib import Path

from bms_flows.monitoring.freshness import FRESHNESS_TARGETS
from bms_flows.monitoring.watch import LAST_STEPS
from bms_provider.board.flows import FLOWS, task_of
from bms_provider.board.states import STATES
from bms_warehouse.tables.drops import DROP_STATES
from bms_warehouse.tables.reconciliation import RECONCILIATION_STATES
from bms_warehouse.tables.runs import RUN_STATES

BACKSTAGE = {"inbox_dispatch", "freshness_watchdog"}
"""DAGs that load nothing of their own: what they do shows in the others."""


def test_every_dag_has_its_place(project: Path) -> None:
    dags = {file.stem for file in (project / "dags").glob("*.py")}
    assert dags - BACKSTAGE <= FLOWS.keys()


def test_every_promise_has_its_flow_and_loads_by_the_same_step() -> None:
    for promise in FRESHNESS_TARGETS:
        step = promise.step or FLOWS[promise.flow].loads
        assert FLOWS[promise.flow].loads == step


def test_flows_that_create_end_by_the_step_that_loads() -> None:
    assert {name: flow.loads for name, flow in FLOWS.items() if flow.creates} == LAST_STEPS


def test_every_step_of_a_drop_leads_to_a_task_of_its_dag(project: Path) -> None:
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(str(project / "dags"))
    for name in LAST_STEPS:
        tasks = bag.dags[name].task_dict
        for step in ("plan", "decide", "create_0", "conclude"):
            task, part = task_of(step)
            assert task is not None
            assert tasks[task].is_mapped is (part is not None)
        assert task_of("enter") == (None, None)
        assert {"enter", "enter_again"} <= tasks.keys()


def test_every_state_has_its_word() -> None:
    named = {*RUN_STATES, *DROP_STATES, *RECONCILIATION_STATES, "fresh", "late", "never"}
    assert named <= STATES.keys()
