"""Use of the service's pool, as the watchdog's task counts it."""

from types import SimpleNamespace

from bms_flows.catalog import POOL_USERS
from bms_flows.monitoring.pool_check import PoolUsage
from bms_provider.operators.flows.checks import pool_usage


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
