"""Freshness targets, deadlines and failure callbacks of the DAGs."""

from pathlib import Path
from typing import Any

import pytest

from bms_flows.monitoring.freshness import WITH_TARGET
from bms_flows.onboarding.inbox import claim
from bms_provider import policy

WITH_TARGET = {flow.dag_id for flow in WITH_TARGET}
WATCHDOG = "freshness_watchdog"


@pytest.fixture(scope="module")
def dags(project: Path) -> dict[str, Any]:
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(str(project / "dags"))
    assert bag.import_errors == {}
    return dict(bag.dags)


def test_scheduled_dags_and_no_others_have_a_freshness_target(dags: dict[str, Any]) -> None:
    by_the_clock = {name for name, dag in dags.items() if "Cron" in type(dag.timetable).__name__}
    assert by_the_clock - {WATCHDOG} == WITH_TARGET


def test_scheduled_dags_have_a_deadline_with_a_callback_on_the_triggerer(
    dags: dict[str, Any],
) -> None:
    for name in WITH_TARGET:
        (deadline,) = dags[name].deadline
        assert deadline.callback.path == "bms_provider.policy.raise_overdue"
        assert type(deadline.callback).__name__ == "AsyncCallback"


def test_every_task_except_the_watchdog_s_notifies_failures(dags: dict[str, Any]) -> None:
    for name, dag in dags.items():
        for task in dag.task_dict.values():
            given = task.on_failure_callback  # one callback or a list
            callbacks = given if isinstance(given, list) else [given]
            assert (policy.notify_failure in callbacks) is (name != WATCHDOG), task.task_id


def test_drops_that_wait_for_an_approval_do_not_block_other_drops(dags: dict[str, Any]) -> None:
    """Airflow counts a waiting run as active and allows 16 active runs by default."""
    waiting = {name: dag for name, dag in dags.items() if "approve" in dag.task_dict}
    assert len(waiting) == 3
    for dag in waiting.values():
        assert dag.max_active_runs == policy.MAX_DROP_RUNS >= 2 * claim.AT_ONCE


def test_the_watchdog_is_not_paused_upon_creation(dags: dict[str, Any]) -> None:
    assert dags[WATCHDOG].is_paused_upon_creation is False
