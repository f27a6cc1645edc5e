"""The contract probe and the audit on a real Airflow: stored results, no writes to the service."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from stack.launcher import Running
from tests.e2e.airflow_api import Airflow, query

pytestmark = pytest.mark.prove


@pytest.fixture(scope="module", autouse=True)
def created_before(stack: Running) -> int:
    """The rows that other modules entered into the ledger."""
    [(number,)] = query(stack, "select count(*) from bms.creation")
    return int(number)


def ran(airflow: Airflow, dag: str, **conf: Any) -> str:
    """Trigger a run of `dag`, wait until it ends, return its id."""
    airflow.unpause(dag)
    run = airflow.trigger(dag, None, **conf)
    airflow.succeed((dag, run))
    airflow.pause(dag, paused=True)
    return run


def test_the_probe_stores_its_findings(stack: Running, airflow: Airflow) -> None:
    run = ran(airflow, "service_contract")
    told = airflow.result("service_contract", run, "probe")
    kept = dict(query(stack, "select finding, value from bms.contract where state = 'known'"))
    assert sorted(kept) == sorted(told["known"])
    assert kept["default_filter"] == "ACTIVE"
    assert kept["end_date"] == "inclusive"
    assert kept["expires_in_unit"] == "seconds"
    assert (told["changed"], told["contradicted"]) == ([], [])
    [(state, requests)] = query(
        stack, f"select state, requests from bms.step_run where dag_run_id = '{run}'"
    )
    assert state == "complete"
    assert requests < 80


def test_the_audit_reports_on_each_day(stack: Running, airflow: Airflow) -> None:
    last = datetime.now(ZoneInfo("Europe/Paris")).date() - timedelta(days=1)
    days = {"start_date": str(last - timedelta(days=6)), "end_date": str(last), "entities": [1]}
    ran(airflow, "invoice_extraction", **days)
    # Other modules may have created records that no sync has read.
    for dag in ("contact_sync", "consultant_sync", "employee_directory"):
        ran(airflow, dag)
    run = ran(airflow, "reconciliation", **days)
    found = airflow.result("reconciliation", run, "audit")
    assert found["states"] == {"reconciled": 7 + 3}
    words = query(stack, "select distinct resource, state from bms.reconciliation")
    lists = ("client_invoice", "consultant", "contact", "employee")
    assert sorted(words) == [(each, "reconciled") for each in lists]
    # Without days: those whose turn it is, within the requests that it may make.
    run = ran(airflow, "reconciliation")
    found = airflow.result("reconciliation", run, "audit")
    assert set(found["states"]) == {"reconciled"}
    assert found["requests"] <= 150


def test_nothing_was_created(stack: Running, created_before: int) -> None:
    assert query(stack, "select count(*) from bms.creation") == [(created_before,)]
