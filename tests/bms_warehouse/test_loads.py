"""Bulk loads through a staging table into a table and its versions."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, delete, select, text

from bms_warehouse import loads
from bms_warehouse.errors import WarehouseError
from bms_warehouse.history import Stamp
from bms_warehouse.loads import Merged
from bms_warehouse.tables import client_invoice as table
from bms_warehouse.tables import client_invoice_version as versions
from bms_warehouse.tables import superseded
from tests.support.sql import fetch, scalars

WIDE = Context(prec=60)
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def rows(*numbers: int, digest: bytes = b"a", subject: str | None = "x") -> pa.Table:
    """Return invoices of entity 1."""
    count = len(numbers)
    return pa.table(
        {
            "id_entity": pa.array([1] * count, pa.int64()),
            "id_invoice": pa.array(numbers, pa.int64()),
            "invoice_subject": pa.array([subject] * count, pa.string()),
            "total_due": pa.array([Decimal("12.500000000")] * count, pa.decimal128(38, 9)),
            "created_on": pa.array([AT] * count, pa.timestamp("us", "UTC")),
            "_row_hash": pa.array([digest] * count, pa.binary()),
            "_day": pa.array([date(2026, 3, 1)] * count, pa.date32()),
        }
    )


def stage(connection: Connection, staged: pa.Table) -> None:
    loads.create_staging(connection, table)
    loads.stage(connection, table, loads.copy_buffer(staged))


def merge(engine: Engine, staged: pa.Table, *, step: int = 1, at: datetime = AT) -> Merged:
    with engine.begin() as connection:
        stage(connection, staged)
        return loads.merge(connection, table, Stamp(step, at))


def stored(engine: Engine, what: Any = table) -> list[tuple[object, ...]]:
    """Return id, subject, version and step of each row."""
    with engine.connect() as connection:
        found = connection.execute(
            select(
                what.c.id_invoice, what.c.invoice_subject, what.c._version, what.c._step_run_id
            ).order_by(what.c.id_invoice, what.c._version)
        )
        return [tuple(row) for row in found]


def test_new_rows_are_written_once_as_version_1(warehouse: Engine) -> None:
    assert merge(warehouse, rows(1, 2)) == Merged(inserted=2, changed=0, unchanged=0)
    assert stored(warehouse) == [(1, "x", 1, 1), (2, "x", 1, 1)]
    assert stored(warehouse, versions) == stored(warehouse)
    assert stored(warehouse, superseded(table)) == []


def append(engine: Engine, *buffers: pa.Table, step: int = 1, at: datetime = AT) -> bool:
    with engine.begin() as connection:
        copied = [loads.copy_buffer(each) for each in buffers]
        return loads.append(connection, table, copied, Stamp(step, at))


def test_copied_rows_equal_merged_rows(warehouse: Engine) -> None:
    assert append(warehouse, rows(1), rows(2), step=7)
    with warehouse.begin() as connection:
        copied = connection.execute(select(table).order_by(table.c.id_invoice)).all()
        connection.execute(delete(table))
    merge(warehouse, rows(1, 2), step=7)
    with warehouse.connect() as connection:
        assert connection.execute(select(table).order_by(table.c.id_invoice)).all() == copied


def test_nothing_is_copied_if_a_key_exists(warehouse: Engine) -> None:
    """The caller's transaction goes on."""
    append(warehouse, rows(1))
    with warehouse.begin() as connection:
        copied = [loads.copy_buffer(rows(2)), loads.copy_buffer(rows(3, 1, digest=b"b"))]
        assert not loads.append(connection, table, copied, Stamp(2, AT))
        stage(connection, rows(2))
        loads.merge(connection, table, Stamp(3, AT))
    assert stored(warehouse) == [(1, "x", 1, 1), (2, "x", 1, 3)]


def test_other_errors_of_a_copy_are_raised(warehouse: Engine) -> None:
    with pytest.raises(WarehouseError, match="NotNullViolation"):
        append(warehouse, rows(1).drop_columns("_row_hash"))


@pytest.mark.parametrize(
    "amount",
    ["12.5", "0", "100", "-3", "0.01", "-0.000001", "0.0000001", "0.000000001", "12345678901.5"],
)
def test_an_amount_is_stored_without_padding(warehouse: Engine, amount: str) -> None:
    amounts = pa.array([Decimal(amount), None], pa.decimal128(38, 9))
    padded = rows(1, 2)
    position = padded.schema.get_field_index("total_due")
    assert append(warehouse, padded.set_column(position, "total_due", amounts))
    stored_text = "select total_due::text from bms.client_invoice order by id_invoice"
    assert scalars(warehouse, stored_text) == [amount, None]


AMOUNTS = st.one_of(
    st.none(),
    st.integers(-(10**28), 10**28).map(lambda cents: Decimal(cents).scaleb(-2, WIDE)),
    st.decimals(-(10**20), 10**20, places=9),
)


@given(st.lists(AMOUNTS, min_size=1, max_size=6), st.sampled_from([0, 1, 2, 4, 9]))
def test_the_text_of_an_amount_is_exact_and_the_shortest(
    amounts: list[Decimal | None], scale: int
) -> None:
    def fits(amount: Decimal | None) -> bool:
        return amount is None or amount.quantize(Decimal(1).scaleb(-scale), context=WIDE) == amount

    amounts = [amount if fits(amount) else Decimal(7) for amount in amounts]
    table = pa.table({"n": range(len(amounts)), "a": pa.array(amounts, pa.decimal128(38, scale))})
    written = loads.copy_buffer(table).csv.decode().splitlines()
    texts = [line.partition(",")[2].strip('"') for line in written]
    shortest = ["" if a is None else f"{a.normalize(WIDE):f}" if a else "0" for a in amounts]
    assert texts == shortest


@given(st.lists(st.one_of(st.none(), st.binary(max_size=5))), st.integers(0, 3))
def test_bytes_are_written_in_hexadecimal(values: list[bytes | None], first: int) -> None:
    table = pa.table({"n": range(len(values)), "b": pa.array(values, pa.binary())}).slice(first)
    written = loads.copy_buffer(table).csv.decode().splitlines()
    texts = [line.partition(",")[2].strip('"') for line in written]
    assert texts == ["" if v is None else "\\x" + v.hex() for v in values[first:]]


def test_columns_are_stored_with_their_types(warehouse: Engine) -> None:
    merge(warehouse, rows(1))
    [found] = fetch(warehouse, "select total_due, created_on, _row_hash from bms.client_invoice")
    assert (str(found[0]), *found[1:]) == ("12.5", AT, b"a")


def test_only_rows_with_another_hash_are_updated(warehouse: Engine) -> None:
    merge(warehouse, rows(1, 2))
    later = pa.concat_tables([rows(1, digest=b"b", subject="y"), rows(2, subject="z"), rows(3)])
    merged = merge(warehouse, later, step=2, at=AT + timedelta(days=1))
    assert merged == Merged(inserted=1, changed=1, unchanged=1)
    assert stored(warehouse) == [(1, "y", 2, 2), (2, "x", 1, 1), (3, "x", 1, 2)]
    assert stored(warehouse, versions) == [
        *((1, "x", 1, 1), (1, "y", 2, 2)),
        *((2, "x", 1, 1), (3, "x", 1, 2)),
    ]
    seen = "select _first_seen_at, _changed_at from bms.client_invoice where id_invoice = 1"
    assert fetch(warehouse, seen) == [(AT, AT + timedelta(days=1))]


def test_a_value_that_returns_is_a_version_again(warehouse: Engine) -> None:
    """A, B, A gives three versions, each valid from its observation to the next."""
    times = [AT + timedelta(days=day) for day in range(3)]
    for step, (at, digest) in enumerate(zip(times, (b"a", b"b", b"a"), strict=True), 1):
        merge(warehouse, rows(1, 2, digest=digest, subject=digest.decode()), step=step, at=at)
        merge(warehouse, rows(1, 2, digest=digest), step=9, at=at + timedelta(hours=1))
    columns = ("invoice_subject", "_version", "_step_run_id", "_observed_at", "_superseded_at")
    with warehouse.connect() as connection:
        query = select(*(versions.c[name] for name in columns)).where(versions.c.id_invoice == 1)
        found = connection.execute(query.order_by(versions.c._version)).all()
    assert found == [
        ("a", 1, 1, times[0], times[1]),
        ("b", 2, 2, times[1], times[2]),
        ("a", 3, 3, times[2], None),
    ]
    assert len(stored(warehouse, superseded(table))) == 4


def test_a_row_with_earlier_versions_cannot_be_deleted_without_them(warehouse: Engine) -> None:
    merge(warehouse, rows(1, 2))
    merge(warehouse, rows(1, digest=b"b"), step=2)
    with (
        pytest.raises(WarehouseError, match="fk_client_invoice_superseded"),
        warehouse.begin() as connection,
    ):
        connection.execute(delete(table))
    assert len(stored(warehouse, versions)) == 3


def test_the_version_of_another_transaction_is_superseded_too(warehouse: Engine) -> None:
    """Two loads change one row at once: the second waits and replaces the first one's version."""
    merge(warehouse, rows(1))
    with ThreadPoolExecutor() as pool, warehouse.begin() as first:
        stage(first, rows(1, digest=b"b", subject="b"))
        loads.merge(first, table, Stamp(2, AT))
        second = pool.submit(merge, warehouse, rows(1, digest=b"c", subject="c"), step=3)
        waiting = text("select count(*) from pg_locks where not granted")
        with warehouse.connect() as watching:
            while not second.done() and not watching.scalar(waiting):
                watching.rollback()
        first.commit()
        assert second.result() == Merged(inserted=0, changed=1, unchanged=0)
    assert stored(warehouse, versions) == [(1, "x", 1, 1), (1, "b", 2, 2), (1, "c", 3, 3)]


def test_stored_hashes_are_those_of_the_condition(warehouse: Engine) -> None:
    merge(warehouse, pa.concat_tables([rows(1), rows(2, digest=b"b")]))
    with warehouse.connect() as connection:
        where, given = (
            "id_entity = %(entity)s and id_invoice > %(least)s",
            {"entity": 1, "least": 1},
        )
        assert loads.stored_hashes(connection, table, where=where, given=given) == {2: b"b"}
