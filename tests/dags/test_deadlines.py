"""Freshness targets, deadlines, run types, priorities and failure callbacks of the DAGs."""

from itertools import product
from typing import Any

import pytest
from airflow.sdk.exceptions import ParamValidationError

from bms_flows.catalog import CREATED_BY, FLOWS, LOADED_BY, WITH_TARGET
from bms_flows.onboarding.inbox import claim
from bms_provider import assets, policy
from bms_provider.operators.flows.loads import BmsLoadOperator
from bms_warehouse.resources import RESOURCES

LISTS = {"client_invoice": "list_client_invoices"}
LISTS |= {each.name: each.list_operation for each in RESOURCES}
TARGETED = {flow.dag_id for flow in WITH_TARGET}
WATCHDOG = "freshness_watchdog"


def test_scheduled_dags_and_no_others_have_a_freshness_target(dags: dict[str, Any]) -> None:
    by_the_clock = {name for name, dag in dags.items() if "Cron" in type(dag.timetable).__name__}
    assert by_the_clock - {WATCHDOG} == TARGETED


def test_scheduled_dags_have_a_deadline_with_a_callback_on_the_triggerer(
    dags: dict[str, Any],
) -> None:
    for name in TARGETED:
        (deadline,) = dags[name].deadline
        assert deadline.callback.path == "bms_provider.policy.raise_overdue"
        assert type(deadline.callback).__name__ == "AsyncCallback"


def test_no_param_accepts_an_integer_that_ends_the_dag_processor(dags: dict[str, Any]) -> None:
    params = [dag.params.get_param(name) for dag in dags.values() for name in dag.params]
    for param, value in product(params, (2**63, [2**63])):
        with pytest.raises(ParamValidationError):
            param.resolve(value)


def test_a_date_with_a_mistyped_century_is_refused(dags: dict[str, Any]) -> None:
    param = dags["invoice_extraction"].params.get_param("start_date")
    assert param.resolve("2026-11-01") == "2026-11-01"
    with pytest.raises(ParamValidationError):
        param.resolve("0026-11-01")


def test_every_task_except_the_watchdog_s_notifies_failures(dags: dict[str, Any]) -> None:
    for name, dag in dags.items():
        for task in dag.task_dict.values():
            given = task.on_failure_callback  # one callback or a list
            callbacks = given if isinstance(given, list) else [given]
            assert (policy.notify_failure in callbacks) is (name != WATCHDOG), task.task_id


def test_every_task_except_the_watchdog_s_outlasts_an_outage_of_hours(
    dags: dict[str, Any],
) -> None:
    for name in dags.keys() - {WATCHDOG}:
        for task in dags[name].task_dict.values():
            wanted = (policy.OUTAGE_RETRIES, policy.RETRIES)
            assert (task.retries, task.retry_policy.retries) == wanted, task.task_id


def test_drops_that_wait_for_an_approval_do_not_block_other_drops(dags: dict[str, Any]) -> None:
    """Airflow counts a waiting run as active and allows 16 active runs by default."""
    waiting = {name: dag for name, dag in dags.items() if "approve" in dag.task_dict}
    assert len(waiting) == 3
    for dag in waiting.values():
        assert dag.max_active_runs == policy.MAX_DROP_RUNS >= 2 * claim.AT_ONCE


def test_every_new_dag_except_the_watchdog_starts_paused(dags: dict[str, Any]) -> None:
    """Whatever `dags_are_paused_at_creation` is: otherwise a new DAG would read, create or delete at once."""
    found = {name: dag.is_paused_upon_creation for name, dag in dags.items()}
    assert found == {name: name != WATCHDOG for name in dags}


def test_only_the_dag_with_a_data_window_allows_backfills(dags: dict[str, Any]) -> None:
    by_the_clock = {name for name, dag in dags.items() if "Cron" in type(dag.timetable).__name__}
    found = {name: dags[name].allowed_run_types for name in by_the_clock}
    assert found.pop("invoice_extraction") is None
    started = {"scheduled", "manual", "operator_triggered", "asset_materialization"}
    assert set(found.values()) == {frozenset(started)}  # `TriggerDagRunOperator` of any DAG, too


def test_a_scheduled_dag_without_a_data_window_runs_one_at_a_time(dags: dict[str, Any]) -> None:
    """Its second run would repeat the first, or wait for it."""
    one = {name for name, dag in dags.items() if dag.max_active_runs == 1}
    assert one >= TARGETED - {"invoice_extraction"}


def test_no_task_of_a_backfill_precedes_a_task_of_an_onboarding(dags: dict[str, Any]) -> None:
    """Airflow queues by `priority_weight`, then by logical date: a backfill's dates are the oldest.

    Airflow queues a task of lower priority first only if it needs fewer slots; a task that reads data
    needs as many as a task that creates records (tests/dags/test_pool.py).
    """
    weights = {
        name: {(task.weight_rule, task.priority_weight) for task in dag.tasks}
        for name, dag in dags.items()
    }
    drops = {"inbox_dispatch", *(flow.dag_id for flow in CREATED_BY.values())}
    assert {
        name for name in weights if weights[name] == {("absolute", policy.DROP_PRIORITY)}
    } == drops
    assert all(weights[name] == {("absolute", 1)} for name in weights.keys() - drops)


def test_each_loaded_table_has_an_asset_before_the_first_run(dags: dict[str, Any]) -> None:
    """Airflow creates the assets that a DAG file names; two tasks that create one at once would fail."""
    outlets = {
        name: [asset for task in dag.tasks for asset in task.outlets] for name, dag in dags.items()
    }
    found = {FLOWS[name].loads: given for name, given in outlets.items() if given}
    assert found == {table: [asset] for table, asset in assets.BY_TABLE.items()}
    assert found.keys() == LOADED_BY.keys()


def test_each_task_that_loads_a_table_records_what_its_event_reported(dags: dict[str, Any]) -> None:
    """Without this record, each event would report all earlier changes again."""
    loading = [task for dag in dags.values() for task in dag.tasks if task.outlets]
    assert len(loading) == len(assets.BY_TABLE)
    for task in loading:
        assert issubclass(getattr(task, "operator_class", type(task)), BmsLoadOperator)


def test_the_documentation_of_a_dag_lists_what_a_run_does(dags: dict[str, Any]) -> None:
    listed = {name for name, dag in dags.items() if "**A run**" in dag.doc_md}
    assert listed == TARGETED | {WATCHDOG, "invoice_report"}
    for name in listed:
        page = f"/bms/flows/{name}" if FLOWS[name].on_board else "/bms/"
        assert f"({page})" in dags[name].doc_md
        steps = [f"{number}. {step}" for number, step in enumerate(FLOWS[name].process, 1)]
        assert len(steps) > 1
        assert "\n".join(steps) in dags[name].doc_md


def test_a_dag_that_loads_checks_access_before_any_work(dags: dict[str, Any]) -> None:
    first = {name: {task.task_id for task in dag.roots} for name, dag in dags.items()}
    checked = {name for name, tasks in first.items() if tasks == {"check_access"}}
    assert checked == {flow.dag_id for flow in LOADED_BY.values()} | {"reconciliation"}
    for flow in LOADED_BY.values():
        required = dags[flow.dag_id].task_dict["check_access"].requires
        assert required[0] == LISTS[str(flow.loads)]
