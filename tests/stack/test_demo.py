import io
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from stack import acts, demo
from stack.api import Api
from stack.launcher import Running
from stack.place import Place
from stack.progress import SHIPPED, Progress


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


def test_table_of_a_mirror_tells_what_was_read_written_and_asked_for() -> None:
    counts = {"rows_read": 250_000, "inserted": 1, "changed": 2, "unchanged": 246, "vanished": 1}
    stream = io.StringIO()
    progress = Progress({}, stream)
    [table] = acts.mirror_tables(
        {**counts, "list_calls": 5_021, "details_read": 10_000, "state": "unstable"}
    )
    progress.say(table)
    text = stream.getvalue()
    last = text.splitlines()[-1].split()
    assert last == ["250000", "1", "2", "246", "1", "5021", "10000", "unstable"]
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80


def test_acts_have_names_of_their_own() -> None:
    names = [act.name for act in acts.ACTS]
    assert len(set(names)) == len(names)
    assert all(act.name in SHIPPED for act in acts.ACTS)


@pytest.mark.parametrize(("sandbox", "writing"), [("http://127.0.0.1:1", True), (None, False)])
def test_nothing_is_written_into_a_service_that_is_not_the_sandbox(
    tmp_path: Path, sandbox: str | None, writing: bool
) -> None:
    place = Place.of({"BMS_LOCAL_DIR": str(tmp_path)})
    api = Api("http://127.0.0.1:1", "user", "password")
    running = Running("", "", "", "", "", place, {}, api, sandbox)
    played = acts.acts_for(running)
    api.close()
    assert any(act.writes for act in played) == writing
    assert "contact_sync" in {act.dag_id for act in played}
