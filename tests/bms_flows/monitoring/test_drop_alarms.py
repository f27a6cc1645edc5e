"""Alarms of dropped files."""

from datetime import timedelta

import pytest
from sqlalchemy import Connection, Engine, update

from bms_flows.monitoring import alarms, drop_alarms, failed_tasks
from bms_flows.monitoring.failed_tasks import FailedTask
from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.runtime.notice import Links
from bms_flows.runtime.settings import FlowSettings
from bms_warehouse.database import clock
from bms_warehouse.tables import creation, dropped_file
from tests.support.drops import add_row

FLOW = "employee_onboarding"


def dropped(warehouse: Engine, path: str) -> Drop:
    return claim.claim_file(warehouse, "employee", FoundFile(path, 1, "1"))


def give_up(connection: Connection, run: str) -> str:
    """Raise the alarm of a failed task; return its subject."""
    about = drop_alarms.subject(connection, FLOW, run)
    alarms.raise_(connection, "failed", about, detail="…", flow=FLOW, dag_run_id=run)
    return about


def end(connection: Connection, held: Drop, state: str) -> None:
    ended = {"state": state, "finished_at": clock(connection)}
    connection.execute(update(dropped_file).where(dropped_file.c.id == held.id).values(ended))


def over(connection: Connection) -> set[str]:
    return drop_alarms.over(connection, alarms.open_alarms(connection))


def test_each_failed_file_has_an_alarm_that_ends_with_its_drop(warehouse: Engine) -> None:
    first, second = dropped(warehouse, "a.csv"), dropped(warehouse, "b.csv")
    with warehouse.begin() as connection:
        about = [give_up(connection, held.dag_run_id) for held in (first, second)]
        assert about == [f"{FLOW} drop {held.id}" for held in (first, second)]
        assert over(connection) == set()
        end(connection, second, "applied")
        assert over(connection) == {about[1]}


@pytest.mark.parametrize("state", ["ready", "sending", "unknown"])
def test_the_alarm_of_a_drop_with_open_rows_is_not_over(warehouse: Engine, state: str) -> None:
    held = dropped(warehouse, "a.csv")
    with warehouse.begin() as connection:
        add_row(connection, "k", drop_id=held.id, state=state)
        end(connection, held, "not_applied")
        about = give_up(connection, held.dag_run_id)
        assert about != FLOW
        assert over(connection) == set()
        connection.execute(update(creation).values(state="given_up"))
        assert over(connection) == {about}


def test_without_an_unfinished_drop_the_flow_is_the_subject(warehouse: Engine) -> None:
    held = dropped(warehouse, "a.csv")
    with warehouse.begin() as connection:
        end(connection, held, "withdrawn")
        for run in (held.dag_run_id, "manual__a_path_that_is_none"):
            assert give_up(connection, run) == FLOW
        assert over(connection) == set()


def test_the_unfinished_rows_of_a_failed_run_do_not_replace_its_cause(warehouse: Engine) -> None:
    """The report of a drop fails after any failed task of its run: it has rows left, or no plan."""
    with warehouse.begin() as connection:
        for run, name, error in [
            ("wrong", "plan", "InvalidDecision"),
            ("wrong", "conclude", "RowsWaiting"),
            ("changed", "conclude", "RowsWaiting"),
        ]:
            failed_tasks.raise_alarm(connection, FailedTask(FLOW, run, name, 1, error))
            [alarm] = alarms.open_alarms(connection)
            shown = "plan" if run == "wrong" else "conclude"
            assert alarm.detail.startswith(f"Task {shown} failed after attempt 1: ")


def test_a_drop_on_which_no_run_works_has_an_alarm(warehouse: Engine) -> None:
    """A user marked its run as successful, or deleted it: Airflow calls nothing back."""
    held, links = dropped(warehouse, "a.csv"), Links.of(FlowSettings())
    ended, reported = dropped(warehouse, "b.csv"), dropped(warehouse, "c.csv")
    with warehouse.begin() as connection:
        add_row(connection, "k", drop_id=held.id, state="ready")
        end(connection, ended, "applied")
        now = clock(connection)
        known = {give_up(connection, reported.dag_run_id)}
        for hours in (1, 7):
            drop_alarms.check(connection, known, now + timedelta(hours=hours), links)
            opened = {each.subject: each.code for each in alarms.open_alarms(connection)}
            stalled = {f"{FLOW} drop {held.id}": "partial"} if hours == 7 else {}
            assert opened == dict.fromkeys(known, "failed") | stalled


def test_a_run_of_another_flow_with_the_same_id_does_not_refer_to_the_drop(
    warehouse: Engine,
) -> None:
    held = dropped(warehouse, "a.csv")
    with warehouse.begin() as connection:
        assert drop_alarms.subject(connection, "contact_sync", held.dag_run_id) == "contact_sync"
