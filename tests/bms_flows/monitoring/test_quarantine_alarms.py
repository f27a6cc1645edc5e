"""Rows that stay invalid: one alarm per resource, field and cause after three loads, until accepted."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection, Engine

from bms_flows.monitoring import alarms, quarantine_alarms
from bms_flows.monitoring.freshness_check import check_targets
from bms_flows.runtime import quarantine
from bms_flows.runtime.list_id import ListId
from bms_flows.runtime.notice import Links
from bms_flows.runtime.quarantine import InvalidRow
from bms_flows.runtime.settings import FlowSettings
from bms_warehouse.history import Stamp

LINKS = Links("http://localhost:8080", "docs/runbook.md", ZoneInfo("UTC"))
DAY = date(2026, 3, 2)


def load(
    connection: Connection, number: int, keys: list[int], code: str = "bad_date", raw: str = "{}"
) -> None:
    rows = [InvalidRow.of(key, code, "hire_date", raw.encode(), DAY) for key in keys]
    at = datetime.now(UTC)
    quarantine.save(connection, ListId("employee", 1), Stamp(number, at), rows)


def subjects(connection: Connection) -> dict[str, int]:
    check_targets(connection, FlowSettings(), LINKS)
    found = alarms.open_alarms(connection)
    return {each.subject: each.size for each in found if each.code == "rows_stay_invalid"}


def test_three_loads_open_one_alarm_per_cause(warehouse: Engine) -> None:
    with warehouse.begin() as connection:
        for number in (1, 2):
            load(connection, number, [1, 2])
            load(connection, number, [3], "bad_type")
            assert subjects(connection) == {}
        load(connection, 3, [1, 2])
        load(connection, 3, [3], "bad_type")
        assert subjects(connection) == {
            "quarantine employee hire_date bad_date": 2,
            "quarantine employee hire_date bad_type": 1,
        }


def test_the_same_load_counts_once(warehouse: Engine) -> None:
    with warehouse.begin() as connection:
        for _ in range(5):
            load(connection, 1, [1])
        assert subjects(connection) == {}


def test_another_cause_counts_anew(warehouse: Engine) -> None:
    with warehouse.begin() as connection:
        for number, code in enumerate(["bad_date", "bad_date", "bad_type"]):
            load(connection, number, [1], code)
        assert subjects(connection) == {}


@pytest.mark.parametrize("raw", ["{}", '{"edited": true}'])
def test_an_acceptance_closes_the_alarm_and_covers_its_rows(warehouse: Engine, raw: str) -> None:
    with warehouse.begin() as connection:
        for number in range(3):
            load(connection, number, [1])
        assert subjects(connection)
        cause = ("employee", "hire_date", "bad_date")
        assert quarantine_alarms.accept(connection, *cause, "Ada") == 1
        assert subjects(connection) == {}
        load(connection, 3, [1], raw=raw)
        assert subjects(connection) == {}, "the row is accepted"
        for number in range(4, 7):
            load(connection, number, [1, 2])
        assert subjects(connection) == {"quarantine employee hire_date bad_date": 1}


def test_rows_that_are_valid_again_close_the_alarm(warehouse: Engine) -> None:
    with warehouse.begin() as connection:
        for number in range(3):
            load(connection, number, [1])
        assert subjects(connection)
        quarantine.release(connection, ListId("employee", 1))
        assert subjects(connection) == {}
