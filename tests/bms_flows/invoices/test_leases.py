"""Leases: one run at a time loads a day; a run that lost its lease publishes nothing."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, text

from bms_flows.invoices import leases, load
from bms_flows.invoices import review as reviewing
from bms_flows.invoices.leases import Lease, lease_days
from bms_flows.invoices.units import Unit
from bms_flows.runtime.checks import judge
from bms_flows.runtime.windows import Window
from bms_warehouse import database
from bms_warehouse.errors import WarehouseError
from bms_warehouse.locks import Busy, LeaseLost
from tests.support.sql import execute, scalar, scalars

START = date(2026, 3, 1)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def unit(first: int, last: int, entity: int = 1) -> Unit:
    window = Window(START + timedelta(days=first), START + timedelta(days=last))
    return Unit(entity, (window,))


def held(warehouse: Engine) -> int:
    return int(scalar(warehouse, "select count(*) from bms.client_invoice_lease") or 0)


def test_the_same_day_is_held_once(warehouse: Engine) -> None:
    with (
        lease_days(warehouse, unit(0, 9), step_run_id=1, task="a"),
        pytest.raises(Busy) as busy,
        lease_days(warehouse, unit(9, 12), step_run_id=2, task="b"),
    ):
        pytest.fail("two held the tenth day")
    assert busy.value.retriable
    assert held(warehouse) == 0


def test_other_days_and_other_entities_are_free(warehouse: Engine) -> None:
    with (
        lease_days(warehouse, unit(0, 9), step_run_id=1, task="a"),
        lease_days(warehouse, unit(10, 12), step_run_id=2, task="b"),
        lease_days(warehouse, unit(0, 9, entity=2), step_run_id=3, task="c"),
    ):
        assert held(warehouse) == 3


@pytest.mark.parametrize(
    ("life", "task"),
    [(timedelta(seconds=-1), "b"), (leases.LIFE, "a")],
    ids=["expired", "next try of the task"],
)
def test_a_lease_is_taken_over_and_its_holder_publishes_nothing(
    warehouse: Engine, monkeypatch: pytest.MonkeyPatch, life: timedelta, task: str
) -> None:
    monkeypatch.setattr(leases, "LIFE", life)
    with (
        lease_days(warehouse, unit(0, 9), step_run_id=1, task="a") as lost,
        lease_days(warehouse, unit(5, 6), step_run_id=2, task=task) as taken,
        warehouse.begin() as connection,
    ):
        taken.fence(connection)
        with pytest.raises(LeaseLost, match=r"^another run took these days over"):
            lost.fence(connection)


def test_a_lease_lives_up_to_its_last_moment(
    warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter([NOON, NOON + leases.LIFE, NOON + leases.LIFE + timedelta(microseconds=1)])
    monkeypatch.setattr(leases, "clock", lambda _: next(moments))
    with lease_days(warehouse, unit(0, 9), step_run_id=1, task="a"):
        with pytest.raises(Busy), lease_days(warehouse, unit(0, 9), step_run_id=2, task="b"):
            pytest.fail("two held the days")
        with lease_days(warehouse, unit(0, 9), step_run_id=3, task="b"):
            assert held(warehouse) == 1


def test_taking_days_over_leaves_other_days_and_other_entities_alone(
    warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LIFE", timedelta(seconds=-1))
    with (
        lease_days(warehouse, unit(0, 9, entity=2), step_run_id=1, task="a") as other_entity,
        lease_days(warehouse, unit(20, 29), step_run_id=2, task="a") as other_days,
        lease_days(warehouse, unit(0, 9), step_run_id=3, task="a"),
        warehouse.begin() as connection,
    ):
        other_entity.fence(connection)
        other_days.fence(connection)


def test_an_error_other_than_held_days_is_not_busy(warehouse: Engine) -> None:
    execute(warehouse, "drop table bms.client_invoice_lease")
    with (
        pytest.raises(WarehouseError, match="UndefinedTable"),
        lease_days(warehouse, unit(0, 9), step_run_id=1, task="a"),
    ):
        pytest.fail("held without a lease")


def test_a_session_has_the_name_of_its_step_until_its_transaction_ends(warehouse: Engine) -> None:
    """A name that stayed would end the session of whichever load takes it from the pool next."""
    with warehouse.connect() as connection:
        names = []
        for _ in range(2):
            with connection.begin():
                Lease(7, 1, 0.0).name_session(connection)
                names.append(connection.scalar(text("show application_name")))
            with connection.begin():
                names.append(connection.scalar(text("show application_name")))
    assert names == ["bms load of step 7", "bms"] * 2


def test_a_suspended_load_with_merged_rows_blocks_no_other_load(
    warehouse: Engine, extract: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is lost or suspended and PostgreSQL has not noticed: the retry proceeds."""
    # A wait that would last for ever ends as an error.
    execute(warehouse, f"alter database {warehouse.url.database} set lock_timeout = '3s'")
    monkeypatch.setattr(load, "BATCH_ROWS", 1)
    fence, next_try = Lease.fence, []

    def fence_and_stand_still(self: Lease, connection: Connection) -> None:
        fence(self, connection)
        monkeypatch.setattr(Lease, "fence", fence)
        with ThreadPoolExecutor(1) as other:
            next_try.append(other.submit(extract, "2026-03-02", "2026-03-06").result())

    monkeypatch.setattr(Lease, "fence", fence_and_stand_still)
    with pytest.raises(WarehouseError) as ended:
        extract("2026-03-02", "2026-03-06")
    assert ended.value.retriable
    assert next_try[0]["inserted"] > 0
    assert held(warehouse) == 0
    states = scalars(warehouse, "select state from bms.step_run order by id")
    assert states == ["failed", "complete"]


def test_a_worker_suspended_while_it_takes_days_blocks_no_other_run(
    warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "TAKING_S", 1)
    taken, resumed = threading.Event(), threading.Event()
    suspended = database.connect(warehouse.url.render_as_string(hide_password=False))

    @event.listens_for(suspended, "commit")
    def suspend(_: Connection) -> None:
        taken.set()
        resumed.wait()

    with ThreadPoolExecutor(1) as worker:
        days = lease_days(suspended, unit(0, 9), step_run_id=1, task="a")
        lost = worker.submit(days.__enter__)
        try:
            assert taken.wait(60)
            with lease_days(warehouse, unit(0, 9), step_run_id=2, task="b"):
                assert held(warehouse) == 1
        finally:
            resumed.set()
        assert isinstance(lost.exception(), WarehouseError)
    suspended.dispose()


def test_a_lease_is_renewed_once_in_a_while(
    warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expires() -> datetime:
        return scalar(warehouse, "select expires_at from bms.client_invoice_lease")

    with (
        lease_days(warehouse, unit(0, 9), step_run_id=1, task="a") as held,
        warehouse.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
    ):
        taken = expires()
        held.renew(connection)
        assert expires() == taken, "it was taken just now"
        monkeypatch.setattr(time, "monotonic", lambda: held.renewed_at + leases.RENEWAL_S)
        held.renew(connection)
        assert (renewed := expires()) > taken
        monkeypatch.undo()
        held.renew(connection)
        assert expires() == renewed, "it was renewed just now"


def test_a_run_that_lost_its_days_publishes_nothing(
    warehouse: Engine, extract: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run was suspended after its last response; another run has read the same days since."""
    checked = judge

    def check_at_last(*given: Any, **named: Any) -> Any:
        execute(warehouse, "delete from bms.client_invoice_lease")
        return checked(*given, **named)

    monkeypatch.setattr(reviewing, "judge", check_at_last)
    with pytest.raises(LeaseLost) as lost:
        extract("2026-03-02", "2026-03-06")
    assert lost.value.retriable
    assert not scalar(warehouse, "select count(*) from bms.client_invoice")
    assert scalar(warehouse, "select state from bms.step_run") == "failed"
