import io
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bms_flows.onboarding.planning import rules
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.resources.employee import EMPLOYEE
from stack import scenarios
from stack.api import AirflowApi
from stack.launcher import Running
from stack.paths import StackPaths
from stack.progress import DEFAULT_DURATIONS, Progress


def step(**overrides: Any) -> dict[str, Any]:
    counts = {"inserted": 5, "changed": 4, "unchanged": 3, "quarantined": 2}
    days = {"window_start": date(2026, 11, 14), "window_end": date(2026, 11, 20)}
    sums = {name: Decimal("1234567.8") for name in scenarios.SUMS}
    return {
        "id_entity": 1,
        "rows_read": 14,
        "state": "complete",
        "totals": {"EUR": {"invoices": 12, **sums}, "CHF": {"invoices": 2, **sums}},
        **counts,
        **days,
        **overrides,
    }


def printed(steps: list[dict[str, Any]]) -> str:
    stream = io.StringIO()
    progress = Progress({}, stream)
    for table in scenarios.step_tables(steps):
        progress.print(table)
    return stream.getvalue()


def test_extraction_covers_the_last_complete_days_both_ends_included() -> None:
    conf = scenarios.last_complete_days(date(2026, 3, 3))
    assert conf == {"start_date": "2026-02-24", "end_date": "2026-03-02"}


def test_invoice_tables_show_days_counts_and_totals_of_each_entity() -> None:
    lines = [line.split() for line in printed([step(id_entity=2), step()]).splitlines()]
    days = ["2026-11-14/11-20"]
    assert ["1", *days, "14", "5", "4", "3", "2", "complete"] in lines
    assert ["2", *days, "14", "5", "4", "3", "2", "complete"] in lines
    assert [line[:1] for line in lines if "complete" in line] == [["1"], ["2"]]
    assert ["2", "CHF", "2", *["1,234,567.80"] * 4] in lines
    assert ["2", "EUR", "12", *["1,234,567.80"] * 4] in lines


def test_invoice_tables_fit_eighty_columns_without_truncation() -> None:
    wide = step(rows_read=123456, inserted=123456, state="complete")
    text = printed([wide])
    assert "…" not in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80


def test_amounts_are_not_rounded() -> None:
    sums = {name: Decimal("-0.125") for name in scenarios.SUMS}
    assert "-0.125" in printed([step(totals={"TND": {"invoices": 1, **sums}})])


def test_mirror_table_shows_rows_and_requests() -> None:
    counts = {"rows_read": 250_000, "inserted": 1, "changed": 2, "unchanged": 246, "missing": 1}
    stream = io.StringIO()
    progress = Progress({}, stream)
    [table] = scenarios.mirror_tables(
        {**counts, "list_calls": 5_021, "details_read": 10_000, "state": "unstable"}
    )
    progress.print(table)
    text = stream.getvalue()
    last = text.splitlines()[-1].split()
    assert last == ["250000", "1", "2", "246", "1", "5021", "10000", "unstable"]
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80


def test_scenario_names_are_unique_and_have_expected_durations() -> None:
    names = [scenario.name for scenario in scenarios.SCENARIOS]
    assert len(set(names)) == len(names)
    assert set(names) <= DEFAULT_DURATIONS.keys()


@pytest.mark.parametrize(("sandbox", "writes"), [("http://127.0.0.1:1", True), (None, False)])
def test_only_the_sandbox_is_written_to(tmp_path: Path, sandbox: str | None, writes: bool) -> None:
    paths = StackPaths.from_environ({"BMS_LOCAL_DIR": str(tmp_path)})
    api = AirflowApi("http://127.0.0.1:1", "user", "password")
    running = Running("", "", "", "", "", paths, {}, api, sandbox)
    selected = scenarios.scenarios_for(running)
    api.close()
    assert any(scenario.writes for scenario in selected) == writes
    assert "contact_sync" in {scenario.dag_id for scenario in selected}


@pytest.mark.parametrize("today", [date(2026, 11, 21), date(2027, 12, 31), date(2040, 1, 1)])
def test_start_dates_of_the_sample_need_no_approval_in_any_year(today: date) -> None:
    limits = rules.read(EMPLOYEE).plan
    sheet = read(scenarios.sample_content(today), scenarios.SAMPLE.name, EMPLOYEE)
    starts = [row.values["start_date"] for row in sheet.rows if "start_date" in row.values]
    assert len(starts) >= 20
    assert all(0 < (start - today).days <= limits.start_days_after for start in starts)


def test_intended_errors_of_the_sample_are_preserved() -> None:
    original = read(scenarios.SAMPLE.read_bytes(), scenarios.SAMPLE.name, EMPLOYEE)
    content = scenarios.sample_content(datetime.now(UTC).date())
    moved = read(content, scenarios.SAMPLE.name, EMPLOYEE)
    assert [(f.line, f.code) for f in moved.faults] == [(f.line, f.code) for f in original.faults]
    assert len(moved.rows) == len(original.rows)
