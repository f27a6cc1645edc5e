"""Every DAG that runs by the clock promises freshness; a red task and a run past its time are told of."""

from pathlib import Path
from typing import Any

import pytest

from bms_flows.monitoring.freshness import WITH_TARGET
from bms_flows.onboarding.inbox import claim
from bms_provider import policy

PROMISED = {flow.dag_id for flow in WITH_TARGET}
WATCHDOG = "freshness_watchdog"


@pytest.fixture(scope="module")
def dags(project: Path) -> dict[str, Any]:
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(str(project / "dags"))
    assert bag.import_errors == {}
    return dict(bag.dags)


def test_what_runs_by_the_clock_promises_and_nothing_else_does(dags: dict[str, Any]) -> None:
    by_the_clock = {name for name, dag in dags.items() if "Cron" in type(dag.timetable).__name__}
    assert by_the_clock - {WATCHDOG} == PROMISED


def test_a_run_past_its_time_is_told_of_by_the_triggerer(dags: dict[str, Any]) -> None:
    for name in PROMISED:
        (deadline,) = dags[name].deadline
        assert deadline.callback.path == "bms_provider.policy.raise_overdue"
        assert type(deadline.callback).__name__ == "AsyncCallback"


def test_every_task_that_gives_up_is_told_of_but_the_watchdog_s(dags: dict[str, Any]) -> None:
    for name, dag in dags.items():
        for task in dag.task_dict.values():
            given = task.on_failure_callback  # one, or a list: Airflow keeps what it was given
            told = given if isinstance(given, list) else [given]
            assert (policy.notify_failure in told) is (name != WATCHDOG), task.task_id


def test_drops_that_wait_for_a_person_hold_up_no_other(dags: dict[str, Any]) -> None:
    """Airflow counts a run that waits for an answer as active, and takes 16 at most unless told."""
    waiting = {name: dag for name, dag in dags.items() if "approve" in dag.task_dict}
    assert len(waiting) == 3
    for dag in waiting.values():
        assert dag.max_active_runs == policy.MAX_DROP_RUNS >= 2 * claim.AT_ONCE


def test_the_watchdog_runs_without_being_asked_to(dags: dict[str, Any]) -> None:
    assert dags[WATCHDOG].is_paused_upon_creation is False
