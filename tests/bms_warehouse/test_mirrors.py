"""Staging helpers of mirrors: rows without detail, rows of other lists, missing rows."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from sqlalchemy import Connection, Engine, select, text

from bms_warehouse import loads, mirrors
from bms_warehouse.history import Stamp
from bms_warehouse.tables import VIEWS
from bms_warehouse.tables import employee as table

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIST, OTHER_LIST, DETAIL = b"l" * 16, b"m" * 16, b"d" * 16


def rows(
    *keys: str,
    entity: int = 1,
    listed: bytes | None = LIST,
    detail: bytes = DETAIL,
    city: str | None = "x",
) -> pa.Table:
    """Return employees of a list; an empty `detail` is a row without detail."""
    count = len(keys)
    columns = {
        "guid_employee": (keys, pa.string()),
        "skills": ([city if detail else None] * count, pa.string()),
        "deleted": ([False] * count, pa.bool_()),
        "_row_hash": ([(listed or LIST) + detail] * count, pa.binary()),
        "_list_hash": ([listed] * count, pa.binary()),
        "_detailed": ([bool(detail)] * count, pa.bool_()),
        "_entity": ([entity] * count, pa.int64()),
        "_standby": ([False] * count, pa.bool_()),
        "_former": ([False] * count, pa.bool_()),
    }
    return pa.table({name: pa.array(values, kind) for name, (values, kind) in columns.items()})


@pytest.fixture
def connection(warehouse: Engine) -> Iterator[Connection]:
    """A transaction in which employees `a` and `b` of entity 1 are stored."""
    with warehouse.begin() as connection:
        stage(connection, rows("a", "b"))
        merge(connection)
        yield connection


def stage(connection: Connection, staged: pa.Table) -> None:
    loads.create_staging(connection, table)
    loads.stage(connection, table, loads.copy_buffer(staged))


def merge(connection: Connection, step: int = 1) -> loads.Merged:
    return loads.merge(connection, table, Stamp(step, AT))


def stored(connection: Connection, *names: str) -> list[tuple[object, ...]]:
    columns = [table.c[name] for name in ("guid_employee", *names)]
    return [tuple(row) for row in connection.execute(select(*columns).order_by(columns[0]))]


def test_unstaged_rows_are_not_merged(connection: Connection) -> None:
    stage(connection, rows("c", "d"))
    mirrors.unstage(connection, table, ["d"])
    assert merge(connection).inserted == 1
    assert [key for (key,) in stored(connection)] == ["a", "b", "c"]


def test_a_row_that_another_list_claims_is_unstaged(connection: Connection) -> None:
    mine = rows("a", entity=1, listed=None)
    other = rows("b", "c", entity=2, listed=None)
    stage(connection, pa.concat_tables([mine, other, rows("d", entity=2)]))
    mirrors.leave_to_others(connection, table, "_entity")
    staged = connection.scalars(text("select guid_employee from employee_staging order by 1"))
    assert staged.all() == ["a", "c", "d"]


def test_a_row_without_detail_keeps_the_stored_detail(connection: Connection) -> None:
    stage(connection, rows("a", "c", listed=OTHER_LIST, detail=b""))
    mirrors.complete_staged(connection, table, ["skills"])
    merge(connection, step=2)
    assert stored(connection, "skills", "_detailed", "_row_hash") == [
        ("a", "x", False, OTHER_LIST + DETAIL),
        ("b", "x", True, LIST + DETAIL),
        ("c", None, False, OTHER_LIST),
    ]


def test_an_unreadable_detail_is_read_again(connection: Connection) -> None:
    stage(connection, rows("a"))
    mirrors.leave_unread(connection, table, ["a", "b"])
    assert not connection.scalar(text("select bool_or(_detailed) from employee_staging"))
    assert stored(connection, "_detailed", "_version") == [("a", False, 1), ("b", False, 1)]


def test_the_list_hash_follows_without_a_version(connection: Connection) -> None:
    stage(connection, rows("a", listed=OTHER_LIST, detail=b""))
    mirrors.follow(connection, table)
    assert stored(connection, "_list_hash", "_detailed", "_version") == [
        ("a", OTHER_LIST, False, 1),
        ("b", LIST, True, 1),
    ]


def test_a_missing_row_gets_one_version_and_returns(connection: Connection) -> None:
    marked = [mirrors.mark_missing(connection, table, ["a"], Stamp(2, AT)) for _ in range(2)]
    assert marked == [1, 0]
    assert stored(connection, "deleted", "_removal_reason", "_version", "_step_run_id") == [
        ("a", True, "missing", 2, 2),
        ("b", False, None, 1, 1),
    ]
    stage(connection, rows("a", "b"))
    assert merge(connection, step=3) == loads.Merged(inserted=0, changed=1, unchanged=1)
    assert stored(connection, "deleted", "_removal_reason", "_version")[0] == ("a", False, None, 3)
    assert len(connection.execute(select(VIEWS.tables["bms.employee_version"])).all()) == 4


def test_a_row_that_the_service_marks_as_deleted_is_not_missing(connection: Connection) -> None:
    connection.execute(text("update bms.employee set deleted = true, _removal_reason = 'flagged'"))
    assert mirrors.mark_missing(connection, table, ["a"], Stamp(2, AT)) == 0
    assert stored(connection, "_removal_reason")[0] == ("a", "flagged")
