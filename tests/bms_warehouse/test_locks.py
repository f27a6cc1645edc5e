"""Advisory locks of the warehouse."""

import threading

import pytest
from sqlalchemy import Engine, text

from bms_warehouse.errors import WarehouseError
from bms_warehouse.loads import driver
from bms_warehouse.locks import Busy, LeaseLost, lock, serialize


def test_an_exclusive_lock_is_refused_to_others_until_released(warehouse: Engine) -> None:
    with warehouse.connect() as one, warehouse.connect() as other:
        with lock(one, "mirror 1", "mirror 1 is busy"):
            with (
                pytest.raises(Busy, match="mirror 1 is busy") as refusal,
                lock(other, "mirror 1", "mirror 1 is busy"),
            ):
                pytest.fail("two holders")
            with lock(other, "mirror 2", "mirror 2 is busy"):
                pass
        with lock(other, "mirror 1", "mirror 1 is busy"):
            pass
    assert refusal.value.retriable
    assert refusal.value.retry_after == 60.0
    assert not refusal.value.retry_for_hours


def test_an_exclusive_lock_outlives_a_commit_and_rolls_back_at_its_end(warehouse: Engine) -> None:
    create = text("create table public.t (n int)")
    with warehouse.connect() as one, warehouse.connect() as other:
        with lock(one, "a", "busy"):
            one.execute(text("select 1"))
            one.commit()
            with pytest.raises(Busy), lock(other, "a", "busy"):
                pytest.fail("two holders")
            one.execute(create)
        assert other.scalar(text("select to_regclass('public.t')")) is None


def test_an_error_releases_an_exclusive_lock(warehouse: Engine) -> None:
    with pytest.raises(RuntimeError), warehouse.connect() as one, lock(one, "a", "busy"):
        raise RuntimeError
    with warehouse.connect() as other, lock(other, "a", "busy"):
        pass


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("select nothing", "UndefinedColumn .*; migrate the warehouse"),
        ("select pg_terminate_backend(pg_backend_pid())", "AdminShutdown|connection"),
    ],
)
def test_an_error_beside_sqlalchemy_is_raised(
    warehouse: Engine, statement: str, error: str
) -> None:
    """The release of the lock would fail in its transaction, and raise that instead."""
    with (
        pytest.raises(WarehouseError, match=error),
        warehouse.connect() as one,
        lock(one, "a", "busy"),
    ):
        driver(one).execute(statement)


def test_serialized_transactions_wait_for_each_other(warehouse: Engine) -> None:
    waiting, order = threading.Event(), list[str]()

    def second() -> None:
        with warehouse.begin() as connection:
            waiting.set()
            serialize(connection, "approval")
            order.append("second")

    with warehouse.begin() as connection:
        serialize(connection, "approval")
        thread = threading.Thread(target=second)
        thread.start()
        waiting.wait()
        with warehouse.begin() as unrelated:
            serialize(unrelated, "entry")
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_lost_lease_is_retriable() -> None:
    assert LeaseLost.retriable
