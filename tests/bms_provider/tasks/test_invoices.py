"""Tasks of invoice_extraction, called with an Airflow context."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowSkipException
from airflow.sdk.execution_time.context import set_current_context
from sqlalchemy import Engine

from bms_flows.invoices.run import LoadHeld
from bms_provider.hooks.connection import BadConnection
from bms_provider.tasks import invoices, mirror
from bms_sandbox.serve import Sandbox
from tests.bms_provider.conftest import Connect

WEEK = {"start_date": "2026-03-02", "end_date": "2026-03-08"}


pytestmark = pytest.mark.usefixtures("warehouse_connection", "data_root")


@pytest.fixture(autouse=True)
def entity(connected: Connect) -> None:
    """Connect to the sandbox, with entity 1."""
    connected(entities="1")


class Events:
    """Accepts the events of an asset."""

    def add(self, asset: Any, extra: Any) -> None:
        """Accept an event."""


@contextmanager
def run(run_id: str, **params: Any) -> Iterator[None]:
    """Run the block in the task context of a manual run."""
    dag_run = SimpleNamespace(
        dag_id="invoice_extraction",
        run_id=run_id,
        data_interval_start=None,
        data_interval_end=None,
        run_after=datetime(2026, 3, 31, tzinfo=UTC),
    )
    context: Any = {
        "dag_run": dag_run,
        "params": params,
        "task": SimpleNamespace(pool="default_pool", pool_slots=1, outlets=[]),
        "outlet_events": defaultdict(Events),
    }
    with set_current_context(context):
        yield


def test_accepting_held_days_is_skipped_after_the_days_were_read_again(
    sandbox: Sandbox, warehouse: Engine
) -> None:
    sandbox.set_fault("wrong_amount", operation="list_client_invoices", count=1)
    with run("night", **WEEK):
        assert invoices.plan() == [0]
        with pytest.raises(LoadHeld):
            invoices.extract(0)
    with run("accepting", accept_suspect=True):
        assert invoices.plan() == [0]
    with run("next night", **WEEK):
        assert invoices.plan() == [0]
        assert invoices.extract(0)["inserted"] > 0
    with (
        run("accepting", accept_suspect=True),
        pytest.raises(AirflowSkipException, match="the held days were read again"),
    ):
        invoices.extract(0)
    with warehouse.connect() as connection:
        steps = connection.exec_driver_sql("select step, state from bms.step_run order by id").all()
    states = [state for step, state in steps if step == "extract"]
    sound_days, held_day, held_day_again = "complete", "suspect", "complete"
    assert states == [sound_days, held_day, held_day_again]


@pytest.mark.parametrize("entities", [invoices.plan, mirror.entities])
def test_a_run_without_entities_fails(
    connected: Connect, entities: Callable[[], list[int]]
) -> None:
    """Otherwise the run would read nothing and succeed."""
    connected()
    named = r"extra entities \(Entities\) is empty, and the run names none"
    with run("night", entities=None), pytest.raises(BadConnection, match=named) as refused:
        entities()
    assert not refused.value.retriable
    with run("by hand", entities=[7]):
        assert entities() in ([7], [0])
