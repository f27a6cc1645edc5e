"""Tasks of invoice_extraction, called with an Airflow context."""

from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from airflow.sdk.exceptions import AirflowRescheduleException, AirflowSkipException
from sqlalchemy import Engine

from bms_flows.invoices.leases import lease_days
from bms_flows.invoices.units import Unit
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.step_log import StepMissing
from bms_flows.runtime.windows import Window
from bms_provider.hooks.connection import BadConnection
from bms_provider.operators.flows.loads import (
    BmsListEntitiesOperator,
    BmsLoadClientInvoicesOperator,
    BmsPlanInvoicesOperator,
)
from bms_sandbox.serve import Sandbox
from tests.bms_provider.conftest import Connect
from tests.bms_provider.operators.flows.execution import done, task_of
from tests.support.sql import fetch, scalar, scalars

PARIS = ZoneInfo("Europe/Paris")
WEEK: dict[str, Any] = {"start_date": "2026-03-02", "end_date": "2026-03-08"}


pytestmark = pytest.mark.usefixtures("warehouse_connection", "data_root")


@pytest.fixture(autouse=True)
def entity(connected: Connect) -> None:
    """Connect to the sandbox, with entity 1."""
    connected(entities="1")


def run(
    run_id: str,
    *,
    flow: str = "invoice_extraction",
    kind: str = "manual",
    day: int = 30,
    **params: Any,
) -> AbstractContextManager[Any]:
    """Run the block in the task context of a run of the given day in March."""
    first, last = (datetime(2026, 3, each, tzinfo=PARIS) for each in (day, day + 1))
    interval = {"data_interval_start": first, "data_interval_end": last, "run_after": last}
    user = {"triggering_user_name": "marie"}
    return task_of(flow, run_id, params, run_type=kind, **interval, **user)


def hold(sandbox: Sandbox, flow: str = "invoice_extraction") -> None:
    """Load a week of which a day is held."""
    sandbox.set_fault("wrong_amount", operation="list_client_invoices", count=1)
    with run("night", flow=flow, **WEEK):
        assert done(BmsPlanInvoicesOperator) == [0]
        with pytest.raises(LoadHeld):
            done(BmsLoadClientInvoicesOperator, position=0)


def test_accepting_held_days_is_skipped_after_the_days_were_read_again(
    sandbox: Sandbox, warehouse: Engine
) -> None:
    hold(sandbox)
    with run("accepting", accept_suspect=True):
        assert done(BmsPlanInvoicesOperator) == [0]
    with run("next night", **WEEK):
        assert done(BmsPlanInvoicesOperator) == [0]
        assert done(BmsLoadClientInvoicesOperator, position=0)["inserted"] > 0
    with (
        run("accepting", accept_suspect=True),
        pytest.raises(AirflowSkipException, match="the held days were read again"),
    ):
        done(BmsLoadClientInvoicesOperator, position=0)
    steps = fetch(warehouse, "select step, state from bms.step_run order by id")
    states = [state for step, state in steps if step == "extract"]
    sound_days, held_day, held_day_again = "complete", "suspect", "complete"
    assert states == [sound_days, held_day, held_day_again]


@pytest.mark.parametrize("again", [1, 2])
def test_a_run_may_have_several_plans(warehouse: Engine, again: int) -> None:
    """Tasks of one plan would load the units of another, and nobody those of the one."""
    with run("night", **WEEK):
        first = done(BmsPlanInvoicesOperator, entities=[1, 3])
        second = done(BmsPlanInvoicesOperator, entities=[2])
        for _ in range(again):  # a plan that is cleared
            second = done(BmsPlanInvoicesOperator, entities=[2])
        for position in (*first, *second):
            done(BmsLoadClientInvoicesOperator, position=position)
        with pytest.raises(StepMissing):
            done(BmsLoadClientInvoicesOperator, position=99)
    loaded = fetch(
        warehouse, "select id_entity from bms.step_run where step = 'extract' order by id"
    )
    assert [entity for (entity,) in loaded] == [1, 3, 2]


@pytest.mark.parametrize("reader", ["invoice_extraction", "another_dag"])
def test_days_that_any_dag_held_are_published_and_the_user_who_accepts_them_is_recorded(
    sandbox: Sandbox, warehouse: Engine, reader: str
) -> None:
    hold(sandbox, reader)
    with run("accepting", flow="my_invoices"):
        [position] = done(BmsPlanInvoicesOperator, publish_held=True)
        assert done(BmsLoadClientInvoicesOperator, position=position)["inserted"] > 0
    recorded = "select details->>'accepted_by' from bms.step_run where step = 'extract' order by id"
    assert scalars(warehouse, recorded) == [None, None, "marie"]


def planned(warehouse: Engine, run_id: str) -> list[str]:
    """Return the windows that a run has planned."""
    units = scalar(
        warehouse, "select details->'units' from bms.step_run where dag_run_id = :run", run=run_id
    )
    return [window for unit in units for window in unit["windows"]]


@pytest.mark.parametrize(
    ("kind", "params", "windows"),
    [
        ("backfill", {}, ["2026-03-10/2026-03-10"]),
        ("backfill", {"lookback_days": 10}, ["2026-03-10/2026-03-10"]),
        ("scheduled", {}, ["2026-02-04/2026-03-10"]),
        ("scheduled", {"lookback_days": 3}, ["2026-03-08/2026-03-10"]),
    ],
)
def test_a_backfill_run_reads_its_own_day_only(
    warehouse: Engine, kind: str, params: dict[str, Any], windows: list[str]
) -> None:
    """The scheduled runs read older days again; a backfill has a run for each of its days."""
    with run("a run", kind=kind, day=10, **params):
        assert done(BmsPlanInvoicesOperator) == [0]
    assert planned(warehouse, "a run") == windows


def test_a_run_waits_for_the_lease_of_another_run(sandbox: Sandbox, warehouse: Engine) -> None:
    """Also after the last retry: the task is rescheduled, which is no attempt and no failure."""
    days = Unit(1, (Window(date(2026, 3, 5), date(2026, 3, 20)),))
    with run("backfill__1", kind="backfill", day=10):
        assert done(BmsPlanInvoicesOperator) == [0]
        with (
            lease_days(warehouse, days, step_run_id=99, task="another"),
            pytest.raises(AirflowRescheduleException) as waiting,
        ):
            done(BmsLoadClientInvoicesOperator, position=0)
        wait = waiting.value.reschedule_date - datetime.now(UTC)
        assert timedelta(seconds=50) < wait < timedelta(seconds=70)
        assert done(BmsLoadClientInvoicesOperator, position=0)["days"] == "2026-03-10/2026-03-10"
    steps = fetch(warehouse, "select step, state from bms.step_run order by id")
    assert steps == [("plan", "complete"), ("extract", "complete")]
    assert sandbox.truth()["requests"]["list_client_invoices"] == {"200": 1}


@pytest.mark.parametrize("kind", [BmsPlanInvoicesOperator, BmsListEntitiesOperator])
def test_a_run_without_entities_fails(connected: Connect, kind: Any) -> None:
    """Otherwise the run would read nothing and succeed."""
    connected()
    named = r"extra entities \(Entities\) is empty, and the run names none"
    with run("night", entities=None), pytest.raises(BadConnection, match=named) as refused:
        done(kind)
    assert not refused.value.retriable
    with run("by hand", entities=[7]):
        assert done(kind) in ([7], [0])


@pytest.mark.parametrize("kind", [BmsPlanInvoicesOperator, BmsListEntitiesOperator])
def test_an_entity_that_is_named_twice_is_read_once(connected: Connect, kind: Any) -> None:
    """Two tasks of one step took the lease of the same days from each other."""
    connected(entities="7, 7")
    for named in (None, [7, 7]):
        with run(f"named {named}", entities=named):
            assert done(kind) in ([7], [0])
