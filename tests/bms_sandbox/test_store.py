from datetime import UTC, datetime, timedelta
from typing import Any

from bms_sandbox.row_control import stamps
from bms_sandbox.store import Table

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)


def row(number: int, name: str = "Côté", days: int = 0) -> dict[str, Any]:
    return {
        "id": number,
        "last_name": name,
        "first_name": "Zoé",
        "created_on": NOW,
        "modified_on": NOW + timedelta(days=days),
    }


def listed(table: Table, order: str = "id", now: datetime = NOW) -> list[int]:
    return [r["id"] for r in table.listing("all", lambda _: True, order, now)]


def test_edited_rows_without_names_and_times_are_ordered_by_number() -> None:
    table = Table("id", "id")
    for number in (2, 1, 3):
        table.add({"id": number, "label": "x"})
    table.change(2, stamps({"id": 2, "label": "x"}, NOW, "modified_on"))
    for order in ("id", "name", "modified_on"):
        assert listed(table, order) == [1, 2, 3]


def test_commit_lag_hides_a_row_and_list_lag_hides_it_longer_from_lists() -> None:
    table = Table("id", "id")
    table.add(row(1), seen_from=NOW + timedelta(seconds=1), listed_from=NOW + timedelta(seconds=3))
    instants = [NOW + timedelta(seconds=s) for s in (0, 1, 2, 3)]
    assert [table.get(1, at) is not None for at in instants] == [False, True, True, True]
    assert [listed(table, now=at) for at in instants] == [[], [], [], [1]]


def test_numbers_are_never_reused() -> None:
    table = Table("id", "id")
    table.add(row(5))
    assert table.remove(5)
    assert not table.remove(5)
    assert table.next_number() == 6


def test_cached_lists_follow_every_change() -> None:
    table = Table("id", "id")
    table.add(row(1))
    assert listed(table) == [1]
    table.add(row(2))
    assert listed(table) == [1, 2]
    table.change(1, {"id": 1, "last_name": "Yvon"})
    assert listed(table, "name") == [2, 1]
    table.remove(2)
    assert listed(table) == [1]
    assert table.change(9, {}) is None
