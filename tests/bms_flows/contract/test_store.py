"""Tests of stored findings and their alarms."""

from typing import Any

from sqlalchemy import Engine

from bms_flows.contract.finding import ContractFinding, Question
from bms_flows.contract.ranges import END_DATE
from bms_flows.contract.store import store
from bms_flows.monitoring import alarms
from bms_flows.runtime.step_log import Step
from tests.support.sql import fetch

STEP = Step("service_contract", "test", "probe")


def stored(
    engine: Engine, *findings: ContractFinding, step_run_id: int = 1
) -> dict[str, list[str]]:
    with engine.begin() as connection:
        return store(connection, findings, STEP, step_run_id)


def rows(engine: Engine) -> list[tuple[Any, ...]]:
    return [
        tuple(row)
        for row in fetch(
            engine, "select finding, state, value, step_run_id from bms.contract order by since"
        )
    ]


def open_alarms(engine: Engine) -> dict[str, str]:
    with engine.connect() as connection:
        return {each.subject: each.code for each in alarms.open_alarms(connection)}


def order(value: str) -> ContractFinding:
    return ContractFinding(name="list_order", value=value, summary=f"By {value}.")


def test_an_unchanged_finding_updates_its_row(warehouse: Engine) -> None:
    stored(warehouse, order("id"))
    stored(warehouse, order("id"), step_run_id=2)
    assert rows(warehouse) == [("list_order", "known", "id", 2)]
    assert open_alarms(warehouse) == {}


def test_a_change_adds_a_row_and_an_alarm_until_the_next_probe_confirms_it(
    warehouse: Engine,
) -> None:
    stored(warehouse, order("id"))
    assert stored(warehouse, order("name"))["changed"] == ["list_order"]
    assert [row[2] for row in rows(warehouse)] == ["id", "name"]
    assert open_alarms(warehouse) == {"contract list_order": "contract_changed"}
    stored(warehouse, order("name"))
    assert open_alarms(warehouse) == {}


def test_an_undetermined_finding_keeps_the_known_value(warehouse: Engine) -> None:
    stored(warehouse, order("id"))
    stored(warehouse, Question("list_order").undetermined("the list is empty."), step_run_id=2)
    assert rows(warehouse) == [("list_order", "known", "id", 1)]
    assert open_alarms(warehouse) == {}


def test_the_first_known_value_is_no_change(warehouse: Engine) -> None:
    stored(warehouse, Question("list_order").undetermined("the list is empty."))
    assert stored(warehouse, order("id"))["changed"] == []
    assert [row[1] for row in rows(warehouse)] == ["undetermined", "known"]
    assert open_alarms(warehouse) == {}


def codes(*values: str) -> ContractFinding:
    return ContractFinding(
        name="codes_x", value=sorted(values), summary=f"{values}.", cumulative=True
    )


def test_only_a_code_never_seen_before_is_a_change(warehouse: Engine) -> None:
    stored(warehouse, codes("A", "B"))
    assert stored(warehouse, codes("B"))["changed"] == []
    assert stored(warehouse, codes("B", "C"))["changed"] == ["codes_x"]
    assert [row[2] for row in rows(warehouse)] == [["A", "B"], ["A", "B", "C"]]
    assert open_alarms(warehouse) == {"contract codes_x": "contract_changed"}


def end_date(advice: str | None) -> ContractFinding:
    return ContractFinding(
        name="end_date",
        value="exclusive",
        summary="Excluded.",
        setting=END_DATE.setting,
        advice=advice,
    )


def test_the_alarm_of_a_contradicted_setting_stays_open_until_the_setting_agrees(
    warehouse: Engine,
) -> None:
    for _ in range(2):
        result = stored(warehouse, end_date("Set it to false."))
        assert result["contradicted"] == [END_DATE.setting]
    assert open_alarms(warehouse) == {END_DATE.setting: "setting_contradicted"}
    stored(warehouse, END_DATE.undetermined("no."))
    assert len(open_alarms(warehouse)) == 1
    stored(warehouse, end_date(None))
    assert open_alarms(warehouse) == {}
