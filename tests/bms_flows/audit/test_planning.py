"""Planning of audits: turns of entities and days within the request budget."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from bms_flows.audit.cycle import cycle_days
from bms_flows.audit.planning import InvoiceHistory, days_of, entity_of, older_window, window_of
from bms_flows.audit.readings import overlapping, requests
from bms_flows.audit.settings import AuditSettings
from bms_flows.runtime.windows import Window

TODAY = date(2026, 3, 31)
LATEST = Window(date(2026, 3, 1), date(2026, 3, 30))


def test_entities_take_turns_with_separate_counters() -> None:
    turns = [entity_of([1, 2, 5], ordinal) for ordinal in range(900, 906)]
    assert turns == [(1, 300), (2, 300), (5, 300), (1, 301), (2, 301), (5, 301)]


@pytest.mark.parametrize(
    ("settings", "rows", "days"),
    [
        (AuditSettings(), 12, 31),
        (AuditSettings(), 1000, 20),
        (AuditSettings(), 50_000, 1),
        (AuditSettings(audit_requests=60), 12, 14),
        (AuditSettings(audit_requests=1), 12, 1),
        (AuditSettings(audit_days=7), 0, 7),
    ],
)
def test_requests_and_rows_limit_the_days_of_a_window(
    settings: AuditSettings, rows: int, days: int
) -> None:
    found = days_of(settings, InvoiceHistory(date(2025, 1, 1), None, rows))
    assert found == days
    assert found == 1 or 2 * requests(found) <= settings.audit_requests


def windows(known: InvoiceHistory, turns: int) -> list[Window]:
    """Simulate daily audits of one entity with their stored attempts."""
    tried, found = dict(known.tried), []
    for turn in range(turns):
        window = window_of(replace(known, tried=tried), 30, today=TODAY, turn=turn)
        tried |= dict.fromkeys(window, datetime(2026, 3, 31, tzinfo=UTC) + timedelta(days=turn))
        found.append(window)
    return found


def test_every_third_audit_compares_the_latest_days_and_the_others_older_days_in_turn() -> None:
    found = windows(InvoiceHistory(TODAY - timedelta(days=400), None), 60)
    assert found[::3] == [LATEST] * 20
    older = [window for window in found if window != LATEST]
    seen = {day for window in older[:13] for day in window}
    assert {TODAY - timedelta(days=n) for n in range(31, 401)} <= seen


def test_due_days_are_compared_again() -> None:
    known = InvoiceHistory(date(2025, 1, 1), date(2025, 6, 10))
    assert windows(known, 3)[1] == Window(date(2025, 6, 10), date(2025, 7, 9))
    assert windows(InvoiceHistory(date(2025, 1, 1), date(2026, 3, 10)), 3)[1] == LATEST


def test_without_older_days_every_audit_compares_the_latest() -> None:
    assert windows(InvoiceHistory(None, None), 6) == [LATEST] * 6
    assert windows(InvoiceHistory(LATEST.start, None), 6) == [LATEST] * 6


def test_a_window_of_older_days_lies_between_history_and_latest_days() -> None:
    known = InvoiceHistory(date(2026, 2, 20), None)
    assert windows(known, 2)[1] == Window(date(2026, 2, 20), date(2026, 2, 28))
    before = LATEST.start
    assert older_window(known, 30, before=before, without={*Window(known.first, before)}) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("compared", "total", "days"),
    [
        *(([3], 334, 112), ([3, 0], 334, 223), ([0], 334, 334), ([4], 0, 2), ([0], 0, 2)),
        ([5, 3, 0], 16, 6),  # 7 with the rate 8 / 3 as a float
    ],
)
def test_the_rate_of_the_latest_audits_determines_the_cycle(
    compared: list[int], total: int, days: int
) -> None:
    assert cycle_days(compared, total, 2) == days


@pytest.mark.parametrize("days", [1, 2, 3, 7, 30, 31])
def test_halves_cover_the_window_and_overlap(days: int) -> None:
    window = Window(TODAY, TODAY + timedelta(days=days - 1))
    first, second = overlapping(window)
    assert {*first, *second} == {*window}
    assert {*first} & {*second}
