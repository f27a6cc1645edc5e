from datetime import UTC, date, datetime
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


def step(**overrides: Any) -> dict[str, Any]:
    counts = {"inserted": 5, "changed": 4, "unchanged": 3, "quarantined": 2}
    return {"id_entity": 1, "rows_read": 14, **counts, **overrides}


def test_extraction_covers_the_last_complete_days_both_ends_included() -> None:
    conf = scenarios.last_complete_days(date(2026, 3, 3))
    assert conf == {"start_date": "2026-02-24", "end_date": "2026-03-02"}


def test_an_extraction_is_summed_over_its_entities() -> None:
    assert scenarios.extraction_outcome([step(), step(id_entity=2, unchanged=1)]) == (
        "28 read for 7 days and 2 entities: 10 inserted, 8 changed, 4 unchanged, 4 quarantined."
    )


def test_only_counts_above_zero_are_named() -> None:
    counts = dict.fromkeys(("changed", "unchanged", "quarantined"), 0)
    assert scenarios.extraction_outcome([step(**counts)]).endswith("entities: 5 inserted.")
    states = dict.fromkeys(("adopted", "already_there", "needs_review", "waiting"), 0)
    assert scenarios.drop_outcome({"created": 12, "rejected": 14, **states}) == (
        "26 rows of a file: 12 created, 14 rejected."
    )


def test_a_sync_shows_rows_and_requests_and_a_state_that_needs_attention() -> None:
    manifest = {"rows_read": 250, "inserted": 0, "changed": 2, "unchanged": 247, "missing": 1}
    manifest |= {"details_read": 6}
    outcome = "250 in the list, 6 read in detail: 2 changed, 247 unchanged, 1 deleted."
    assert scenarios.sync_outcome({**manifest, "state": "complete"}) == outcome
    assert (
        scenarios.sync_outcome({**manifest, "state": "unstable"}) == f"{outcome} State: unstable."
    )


def test_each_scenario_follows_one_that_exists() -> None:
    titles = [scenario.title for scenario in scenarios.SCENARIOS]
    assert len(set(titles)) == len(titles)
    assert {each.after for each in scenarios.SCENARIOS} <= {"", *titles}


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
    sheet = read(scenarios.sample_content(today, 0), scenarios.SAMPLE.name, EMPLOYEE)
    starts: list[Any] = [r.values["start_date"] for r in sheet.rows if "start_date" in r.values]
    assert len(starts) >= 20
    assert all(0 < (start - today).days <= limits.start_days_after for start in starts)


def test_intended_errors_of_the_sample_are_preserved() -> None:
    original = read(scenarios.SAMPLE.read_bytes(), scenarios.SAMPLE.name, EMPLOYEE)
    content = scenarios.sample_content(datetime.now(UTC).date(), 3)
    moved = read(content, scenarios.SAMPLE.name, EMPLOYEE)
    assert [(f.line, f.code) for f in moved.faults] == [(f.line, f.code) for f in original.faults]
    assert len(moved.rows) == len(original.rows)


@pytest.mark.parametrize("earlier", [0, 1, 8, 98, 120])
def test_each_drop_of_the_sample_has_new_payroll_numbers(earlier: int) -> None:
    def numbers(content: bytes) -> list[Any]:
        sheet = read(content, scenarios.SAMPLE.name, EMPLOYEE)
        return [row.values.get("payroll_number") for row in sheet.rows]

    today = date(2026, 11, 21)
    tutorial = numbers(scenarios.SAMPLE.read_bytes())
    before, found = (
        numbers(scenarios.sample_content(today, count)) for count in (earlier, earlier + 1)
    )
    assert not {*found} & ({*before} | {*tutorial}) - {None}
    assert len({*found}) == len({*tutorial})
