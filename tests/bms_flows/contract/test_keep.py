"""Findings are kept with the day they were first seen; what changes is told once, and once it is over."""

from typing import Any

from sqlalchemy import Engine, text

from bms_flows.contract.finding import Finding, cannot_tell
from bms_flows.contract.keep import keep
from bms_flows.monitoring import alarms
from bms_flows.runtime.step_log import Step

STEP = Step("service_contract", "test", "probe")


def kept(engine: Engine, *findings: Finding, run_id: int = 1) -> dict[str, list[str]]:
    with engine.begin() as connection:
        return keep(connection, findings, STEP, run_id)


def rows(engine: Engine) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [
            tuple(row)
            for row in connection.execute(
                text("select finding, state, value, run_id from bms.contract order by since")
            )
        ]


def ringing(engine: Engine) -> dict[str, str]:
    with engine.connect() as connection:
        return {each.subject: each.code for each in alarms.open_alarms(connection)}


def order(value: str) -> Finding:
    return Finding(name="list_order", value=value, told=f"By {value}.")


def test_the_same_again_moves_only_the_date_it_was_last_seen(warehouse: Engine) -> None:
    kept(warehouse, order("id"))
    kept(warehouse, order("id"), run_id=2)
    assert rows(warehouse) == [("list_order", "known", "id", 2)]
    assert ringing(warehouse) == {}


def test_a_change_is_a_row_of_its_own_and_rings_until_it_was_seen_again(warehouse: Engine) -> None:
    kept(warehouse, order("id"))
    assert kept(warehouse, order("name"))["changed"] == ["list_order"]
    assert [row[2] for row in rows(warehouse)] == ["id", "name"]
    assert ringing(warehouse) == {"contract list_order": "contract_changed"}
    kept(warehouse, order("name"))
    assert ringing(warehouse) == {}


def test_what_nobody_can_tell_any_more_stays_as_it_was_known(warehouse: Engine) -> None:
    kept(warehouse, order("id"))
    kept(warehouse, cannot_tell("list_order", "the list is empty."), run_id=2)
    assert rows(warehouse) == [("list_order", "known", "id", 1)]
    assert ringing(warehouse) == {}


def test_what_is_told_at_last_is_no_change(warehouse: Engine) -> None:
    kept(warehouse, cannot_tell("list_order", "the list is empty."))
    assert kept(warehouse, order("id"))["changed"] == []
    assert [row[1] for row in rows(warehouse)] == ["cannot_tell", "known"]
    assert ringing(warehouse) == {}


def codes(*seen: str) -> Finding:
    return Finding(name="codes_x", value=sorted(seen), told=f"Takes {seen}.", grows=True)


def test_only_a_code_never_seen_before_is_a_change(warehouse: Engine) -> None:
    kept(warehouse, codes("A", "B"))
    assert kept(warehouse, codes("B"))["changed"] == []
    assert kept(warehouse, codes("B", "C"))["changed"] == ["codes_x"]
    assert [row[2] for row in rows(warehouse)] == [["A", "B"], ["A", "B", "C"]]
    assert ringing(warehouse) == {"contract codes_x": "contract_changed"}


def end(advice: str | None) -> Finding:
    setting = "end_date_inclusive of the connection"
    return Finding(
        name="end_date", value="exclusive", told="Excluded.", setting=setting, advice=advice
    )


def test_a_setting_that_is_contradicted_rings_until_it_is_set(warehouse: Engine) -> None:
    for _ in range(2):
        assert kept(warehouse, end("Set it to false."))["contradicted"] == [
            "end_date_inclusive of the connection"
        ]
    assert ringing(warehouse) == {"end_date_inclusive of the connection": "setting_contradicted"}
    kept(warehouse, cannot_tell("end_date", "no.", setting="end_date_inclusive of the connection"))
    assert len(ringing(warehouse)) == 1
    kept(warehouse, end(None))
    assert ringing(warehouse) == {}
