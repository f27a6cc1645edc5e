"""Alarm of a pool without slots, with the command that creates the pool."""

from types import SimpleNamespace

import pytest
from sqlalchemy import Engine

from bms_flows.catalog import POOL_USERS
from bms_flows.monitoring import alarms
from bms_provider import policy, pool
from bms_provider.tasks.slots import RECHECK_S, PoolUsage, check_slots, pool_usage

STUCK, BUSY, IDLE = PoolUsage(3, 0), PoolUsage(3, 1), PoolUsage(0, 0)


def watched(warehouse: Engine, *usages: PoolUsage) -> list[float]:
    """Watch once with these looks; return what was waited."""
    seen, waits = iter(usages), []
    with warehouse.begin() as connection:
        check_slots(connection, lambda: next(seen), waits.append)
    assert list(seen) == [], "every look was taken"
    return waits


def told(warehouse: Engine) -> list[str]:
    with warehouse.begin() as connection:
        return [each.detail for each in alarms.open_alarms(connection)]


def test_tasks_that_wait_in_two_looks_while_none_has_slots_raise_it(warehouse: Engine) -> None:
    assert watched(warehouse, STUCK, STUCK) == [RECHECK_S]
    (detail,) = told(warehouse)
    assert "3 tasks wait and none runs" in detail
    assert f"fewer than {policy.TASK_SLOTS} slots" in detail
    assert pool.COMMAND in detail


@pytest.mark.parametrize("second", [BUSY, IDLE])
def test_a_task_that_was_about_to_start_raises_nothing(
    warehouse: Engine, second: PoolUsage
) -> None:
    watched(warehouse, STUCK, second)
    assert told(warehouse) == []


@pytest.mark.parametrize("seen", [BUSY, IDLE])
def test_a_full_pool_and_a_quiet_one_raise_nothing_and_wait_for_nothing(
    warehouse: Engine, seen: PoolUsage
) -> None:
    assert watched(warehouse, seen) == []
    assert told(warehouse) == []


def test_it_ends_with_a_task_that_has_slots_and_not_with_silence(warehouse: Engine) -> None:
    watched(warehouse, STUCK, STUCK)
    watched(warehouse, IDLE)
    assert len(told(warehouse)) == 1
    watched(warehouse, PoolUsage(0, 1))
    assert told(warehouse) == []


class Task:
    """One task of each DAG waits, two hold slots."""

    def __init__(self, *paused: str) -> None:
        self.paused = paused

    def get_ti_count(self, *, dag_id: str, states: list[str]) -> int:
        assert dag_id in POOL_USERS
        return 1 if states == ["scheduled"] else 2

    def get_dag(self, dag_id: str) -> SimpleNamespace:
        return SimpleNamespace(is_paused=dag_id in self.paused)


def test_a_look_counts_the_tasks_of_every_dag_that_uses_the_pool() -> None:
    assert pool_usage(Task()) == PoolUsage(len(POOL_USERS), 2 * len(POOL_USERS))


def test_runs_of_a_paused_dag_use_no_slot() -> None:
    seen = pool_usage(Task("invoice_extraction"))
    assert seen == PoolUsage(len(POOL_USERS) - 1, 2 * len(POOL_USERS))
