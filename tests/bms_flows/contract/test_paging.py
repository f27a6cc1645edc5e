"""Tests of findings from pages."""

from typing import Any

import pytest

from bms_flows.contract.paging import LARGE, MIN_ROWS, list_order, past_end, served_limit
from bms_flows.contract.paging import sort_stability as stability

IDS = list(range(1, MIN_ROWS + 1))


@pytest.mark.parametrize(
    ("rows", "pages", "limit"),
    [(100, 3, 100), (LARGE, 3, None), (100, 1, None), (0, 1, None), (100, None, None)],
)
def test_a_clamped_first_page_shows_the_limit(
    rows: int, pages: int | None, limit: int | None
) -> None:
    finding = served_limit(rows, pages)
    assert finding.value == (limit and {"rows": limit, "beyond": "clamped"})


@pytest.mark.parametrize(
    ("last", "status", "past", "value"),
    [
        ([7, 8], 404, [], {"answer": "refused", "status": 404}),
        ([7, 8], 200, [], {"answer": "empty"}),
        ([7, 8], 200, [7, 8], {"answer": "last_page"}),
        ([7, 8], 200, [9], None),
        ([], 200, [], None),
    ],
)
def test_a_page_past_the_end(last: list[int], status: int, past: list[int], value: Any) -> None:
    assert past_end(last, status, past).value == value


@pytest.mark.parametrize(
    ("again", "small", "value"),
    [
        (IDS, IDS[:4], "stable"),
        (IDS[::-1], IDS[:4], "unstable"),
        (IDS, IDS[1:5], None),
        ([*IDS[1:], 99], IDS[:4], None),
    ],
)
def test_the_order_is_unstable_only_if_the_rows_are_the_same(
    again: list[int], small: list[int], value: str | None
) -> None:
    assert stability(IDS, again, small).value == value


@pytest.mark.parametrize(
    ("ids", "value"),
    [
        (IDS, "id"),
        (IDS[::-1], "id_desc"),
        ([*IDS[1:], 1], "not_by_id"),
        (IDS[1:], None),
    ],
)
def test_the_order_of_ids(ids: list[int], value: str | None) -> None:
    assert list_order(ids).value == value
