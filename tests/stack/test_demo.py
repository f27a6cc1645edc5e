import io
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from stack import acts, demo
from stack.progress import Progress


def step(**more: Any) -> dict[str, Any]:
    counts = {"inserted": 5, "changed": 4, "unchanged": 3, "quarantined": 2}
    days = {"window_start": date(2026, 11, 14), "window_end": date(2026, 11, 20)}
    sums = {name: Decimal("1234567.8") for name in acts.SUMS}
    return {
        "id_entity": 1,
        "rows_read": 14,
        "state": "complete",
        "totals": {"EUR": {"invoices": 12, **sums}, "CHF": {"invoices": 2, **sums}},
        **counts,
        **days,
        **more,
    }


def printed(steps: list[dict[str, Any]]) -> str:
    stream = io.StringIO()
    progress = Progress({}, stream)
    for table in acts.step_tables(steps):
        progress.say(table)
    return stream.getvalue()


def test_days_are_the_last_complete_ones_both_ends_included() -> None:
    conf = acts.last_complete_days(date(2026, 3, 3))
    assert conf == {"start_date": "2026-02-24", "end_date": "2026-03-02"}


def test_table_tells_days_counts_and_totals_of_each_entity() -> None:
    lines = [line.split() for line in printed([step(id_entity=2), step()]).splitlines()]
    days = ["2026-11-14/11-20"]
    assert ["1", *days, "14", "5", "4", "3", "2", "complete"] in lines
    assert ["2", *days, "14", "5", "4", "3", "2", "complete"] in lines
    assert [line[:1] for line in lines if "complete" in line] == [["1"], ["2"]]
    assert ["2", "CHF", "2", *["1,234,567.80"] * 4] in lines
    assert ["2", "EUR", "12", *["1,234,567.80"] * 4] in lines


def test_table_fits_eighty_columns_with_nothing_cut() -> None:
    wide = step(rows_read=123456, inserted=123456, state="complete")
    text = printed([wide])
    assert "…" not in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80


def test_no_digit_of_an_amount_is_rounded_away() -> None:
    sums = {name: Decimal("-0.125") for name in acts.SUMS}
    assert "-0.125" in printed([step(totals={"TND": {"invoices": 1, **sums}})])


def test_log_of_a_failed_task_is_told_in_words(tmp_path: Path) -> None:
    log = tmp_path / "attempt=1.log"
    failure = {
        "level": "error",
        "event": "Task failed with exception",
        "error_detail": [{"exc_type": "MissingScope", "exc_value": "needs read:invoice_client"}],
    }
    log.write_text("no json\n" + json.dumps(failure) + "\n")
    assert demo._readable(log).splitlines() == [
        f"Last lines of {log}:",
        "  no json",
        "  error: Task failed with exception",
        "    MissingScope: needs read:invoice_client",
    ]
