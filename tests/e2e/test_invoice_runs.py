"""Days that each kind of run reads, with a real scheduler, command line and warehouse."""

import json
import subprocess
import sys
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from stack.launcher import Running
from tests.e2e.airflow_api import DONE, Airflow, query, until

DAG = "invoice_extraction"
UNPAUSED = (DAG,)
PARIS = ZoneInfo("Europe/Paris")

pytestmark = pytest.mark.prove


def command(stack: Running, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 - Airflow's own command line
        [sys.executable, "-m", "airflow", *arguments],
        env=dict(stack.environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def windows(stack: Running, airflow: Airflow) -> dict[str, list[str]]:
    """The days that each kind of run read, by the entity of the run; the runs are concurrent."""
    known = set(airflow.runs(DAG))
    airflow.trigger(DAG, "2026-03-10T05:00:00Z", entities=[11], lookback_days=0)
    airflow.trigger(DAG, None, entities=[12], lookback_days=0)
    airflow.trigger(DAG, None, entities=[13], start_date="2026-02-01", end_date="2026-02-28")
    conf = json.dumps({"entities": [14], "lookback_days": 0})
    command(stack, "dags", "trigger", DAG, "--conf", conf)
    conf = json.dumps({"entities": [15], "lookback_days": 0})
    # A day's run is named by its midnight, the company's; a bare date would mean UTC's.
    days = ("--from-date", "2026-03-02T00:00:00+01:00", "--to-date", "2026-03-04T00:00:00+01:00")
    command(stack, "backfill", "create", "--dag-id", DAG, *days, "--dag-run-conf", conf)
    airflow.trigger(DAG, None, entities=[16])

    def states() -> dict[str, str]:
        return {run: state for run, state in airflow.runs(DAG).items() if run not in known}

    def ended() -> bool:
        return len(states()) >= 8 and set(states().values()) <= DONE

    until(ended, states)
    assert set(states().values()) == {"success"}, states()
    rows = query(
        stack,
        "select id_entity, details->'windows' from bms.step_run where step = 'extract'"
        " and state = 'complete' and id_entity between 11 and 16 order by window_start",
    )
    found: dict[str, list[str]] = {}
    for entity, read in rows:
        found.setdefault(str(entity), []).extend(read)
    return found


def test_a_backfill_reads_each_of_its_days(windows: dict[str, list[str]]) -> None:
    assert windows["15"] == [f"2026-03-0{day}/2026-03-0{day}" for day in (2, 3, 4)]


def test_the_days_of_the_other_runs(windows: dict[str, list[str]]) -> None:
    last = datetime.now(PARIS).date() - timedelta(days=1)
    expected = {
        "11": "2026-03-09/2026-03-09",  # the last whole day before the logical date
        "12": f"{last}/{last}",  # without a logical date
        "13": "2026-02-01/2026-02-28",  # the given days only
        "14": f"{last}/{last}",  # from the command line
        "16": f"{last - timedelta(days=34)}/{last}",  # by default
    }
    assert {entity: windows[entity] for entity in expected} == {
        entity: [window] for entity, window in expected.items()
    }
