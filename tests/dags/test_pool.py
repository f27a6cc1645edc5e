"""Pool and slots of the tasks that send requests to the service."""

from typing import Any

from bms_flows.catalog import LOADED_BY, POOL_USERS
from bms_provider import policy, pool

OUTSIDE = {
    "consultant_creation": {"approve", "approve_again", "chunks"},
    "contact_creation": {"approve", "approve_again", "chunks"},
    "employee_directory": {"entities"},
    "employee_onboarding": {"approve", "approve_again", "chunks"},
    "freshness_watchdog": {"slots", "watch"},
    "invoice_extraction": {"plan"},
    "invoice_report": {"mail", "report"},
    "retention": {"sweep"},
}
"""Tasks without requests to the service, except those of inbox_dispatch."""


def test_tasks_with_requests_to_the_service_are_in_its_pool(dags: dict[str, Any]) -> None:
    outside = {
        name: {task.task_id for task in dag.tasks if task.pool != pool.NAME}
        for name, dag in dags.items()
    }
    using = {name for name, names in outside.items() if names != {*dags[name].task_dict}}
    assert using == {*POOL_USERS}
    del outside["inbox_dispatch"]
    assert {name: names for name, names in outside.items() if names} == OUTSIDE


def test_each_task_of_the_pool_has_a_slot_per_request_in_flight(dags: dict[str, Any]) -> None:
    slots = {
        (name, task.task_id): task.pool_slots
        for name, dag in dags.items()
        for task in dag.tasks
        if task.pool == pool.NAME
    }
    one_at_a_time = {key for key in slots if key[1] in {"check_access", "probe"}}
    loads = {flow.dag_id for flow in LOADED_BY.values()}
    assert {name for name, _ in one_at_a_time} == loads | {"reconciliation", "service_contract"}
    assert {slots.pop(key) for key in one_at_a_time} == {1}
    assert set(slots.values()) == {policy.TASK_SLOTS}
    assert pool.SLOTS >= policy.TASK_SLOTS
