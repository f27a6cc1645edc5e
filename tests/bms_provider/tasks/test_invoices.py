"""The tasks of invoice_extraction as Airflow calls them: what they plan, what they refuse."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowSkipException
from airflow.sdk.execution_time.context import set_current_context
from sqlalchemy import Engine, make_url

from bms_flows.invoices.run import LoadHeld
from bms_provider.hooks.connection import BadConnection
from bms_provider.tasks import invoices, mirror
from bms_sandbox.serve import Sandbox

WEEK = {"start_date": "2026-03-02", "end_date": "2026-03-08"}


@pytest.fixture(autouse=True)
def flow_context(
    connected: Callable[..., None],
    connect: Callable[..., None],
    warehouse_uri: str,
    data_root: Path,
) -> Path:
    """Connections to the sandbox, with entity 1, and to the warehouse; the data root."""
    url = make_url(warehouse_uri)
    host = url.query.get("host", url.host)
    connected(entities="1")
    connect(
        "bms_warehouse", conn_type="postgres", host=host, login=url.username, schema=url.database
    )
    return data_root


class Events:
    """Takes the events of an asset."""

    def add(self, asset: Any, extra: Any) -> None:
        """Take one."""


@contextmanager
def run(run_id: str, **params: Any) -> Iterator[None]:
    """A run by hand, as its tasks see it."""
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


def test_an_accepting_task_that_is_cleared_once_its_days_were_read_again_is_skipped(
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
def test_a_run_without_entities_does_not_end_well(
    connected: Callable[..., None], entities: Callable[[], list[int]]
) -> None:
    """It would read nothing, be green, and owe nothing."""
    connected()
    named = r"extra entities \(Entities\) is empty, and the run names none"
    with run("night", entities=None), pytest.raises(BadConnection, match=named) as refused:
        entities()
    assert not refused.value.retriable
    with run("by hand", entities=[7]):
        assert entities() in ([7], [0])
