"""Alarm of a pool without slots, with the command that creates the pool."""

import pytest
from sqlalchemy import Engine

from bms_flows.monitoring import alarms, pool_check
from bms_flows.monitoring.pool_check import RECHECK_S, PoolUsage
from bms_flows.runtime import step_log
from bms_flows.runtime.step_log import Step

POOL = "bms_service", 8, "airflow pools set bms_service 32 service"
STUCK, BUSY, IDLE = PoolUsage(3, 0), PoolUsage(3, 1), PoolUsage(0, 0)


def watched(warehouse: Engine, *usages: PoolUsage) -> list[float]:
    """Watch once with these looks; return what was waited."""
    seen, waits = iter(usages), list[float]()
    with warehouse.begin() as connection:
        pool_check.check(connection, *POOL, lambda: next(seen), waits.append)
    assert list(seen) == [], "every look was taken"
    return waits


def told(warehouse: Engine) -> list[str]:
    with warehouse.begin() as connection:
        return [each.detail for each in alarms.open_alarms(connection)]


def test_tasks_that_wait_in_two_looks_while_none_has_slots_raise_it(warehouse: Engine) -> None:
    assert watched(warehouse, STUCK, STUCK) == [RECHECK_S]
    (detail,) = told(warehouse)
    assert "3 tasks wait and none runs" in detail
    assert "fewer than 8 slots" in detail
    assert POOL[2] in detail


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


@pytest.mark.parametrize(("step", "left"), [("sync", 0), ("plan", 1)])
def test_it_ends_with_a_load_that_ran_between_two_checks(
    warehouse: Engine, step: str, left: int
) -> None:
    watched(warehouse, STUCK, STUCK)
    step_log.begin(warehouse, Step("contact_sync", "scheduled__1", step))
    watched(warehouse, IDLE)
    assert len(told(warehouse)) == left
