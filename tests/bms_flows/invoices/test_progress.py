"""Progress of a unit in the task's log."""

import logging
from datetime import date

import pytest

from bms.counters import Counters
from bms_flows.invoices.progress import INTERVAL_S, Progress
from bms_flows.invoices.units import Unit
from bms_flows.runtime.step_log import RowCounts
from bms_flows.runtime.windows import Window

MONTH = Window(date(2026, 3, 1), date(2026, 3, 31))


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="bms_flows.invoices.progress")
    return caplog


def test_a_long_read_logs_its_progress_at_intervals(logged: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    progress = Progress(Unit(1, (MONTH,)), Counters(requests=4), clock=lambda: now[0])
    for piece in MONTH.cut(7):
        now[0] += INTERVAL_S / 2
        progress.add(piece, RowCounts(rows_read=100))
    assert logged.messages == [
        "entity 1: 14 of 31 days, 100 rows, 4 requests in 10 s so far",
        "entity 1: 28 of 31 days, 100 rows, 4 requests in 20 s so far",
    ]


def test_a_short_read_logs_only_its_outcome(logged: pytest.LogCaptureFixture) -> None:
    progress = Progress(Unit(1, (MONTH,)), Counters(requests=4), clock=lambda: 0.0)
    progress.add(MONTH, RowCounts(rows_read=100))
    counts = RowCounts(rows_read=100, inserted=7, changed=2, unchanged=90, quarantined=1, missing=3)
    progress.finish("complete", counts)
    (line,) = logged.messages
    assert line == (
        "entity 1, 2026-03-01/2026-03-31: complete; 31 days, 4 requests, 100 rows: 7 inserted, "
        "2 changed, 90 unchanged, 1 quarantined; 3 missing; 0.0 s"
    )
