"""The tasks of a drop, one after the other: what they leave in `bms.run`, and what they refuse."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.execution_time.context import set_current_context
from sqlalchemy import Engine, make_url, text

from bms_provider.tasks import creation

NOBODY_ASKED = {"approved": None, "who": None}
DROP = "Matricule;Nom;Prénom;Entité;Date d'entrée\r\n810001;Dupré;Zoé;1;2027-01-04\r\n"


@pytest.fixture(autouse=True)
def connected(
    connected: Callable[..., None],
    connect: Callable[..., None],
    warehouse_uri: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = make_url(warehouse_uri)
    host = url.query.get("host", url.host)
    connected()
    connect(
        "bms_warehouse", conn_type="postgres", host=host, login=url.username, schema=url.database
    )
    monkeypatch.setenv("BMS_APPROVAL", "never")


@pytest.fixture
def dropped(data_root: Path) -> str:
    """A file in the inbox of employees; its name."""
    folder = data_root / "inbox" / "employees"
    folder.mkdir(parents=True)
    (folder / "août.csv").write_bytes(DROP.encode("cp1252"))
    return "août.csv"


@contextmanager
def run(**params: Any) -> Iterator[Mapping[str, Any]]:
    """A run of employee_onboarding by hand, as its tasks see it."""
    dag_run = SimpleNamespace(
        dag_id="employee_onboarding", run_id="manual__1", triggering_user_name=None
    )
    task = SimpleNamespace(pool="default_pool", pool_slots=1)
    context: Any = {"dag_run": dag_run, "params": params, "task": task}
    with set_current_context(context):
        yield context


def test_each_step_puts_on_record_how_the_service_answered_it(
    warehouse: Engine, dropped: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="bms_provider.tasks.creation")
    with run(path=dropped):
        proposed = creation.plan("employee")
        entered = creation.enter("employee", proposed, NOBODY_ASKED)
        applied = [creation.apply("employee", entered, chunk) for chunk in entered["chunks"]]
        concluded = creation.conclude("employee", entered)
    assert applied == [{"created": 1}]
    assert concluded["created"] == 1
    planned, created, ended = [line for line in caplog.messages if line.startswith("drop 1")]
    assert planned.startswith("drop 1, plan ")
    assert created == "drop 1, chunk 0: 1 created"
    assert ended.startswith("drop 1: 1 created, 0 adopted, ")
    assert "Dupré" not in caplog.text
    with warehouse.connect() as connection:
        steps = connection.execute(
            text("""select step, state, requests > 0 and token_fetches = 1, latency_p95_ms > 0
                from bms.run order by id""")
        ).all()
    assert steps == [
        (step, "complete", True, True) for step in ("plan", "enter", "create_0", "conclude")
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give the name of a file in the inbox, or a drop's number"),
        ({"path": "avril.csv"}, "no such file in the inbox; give its name as it lies there"),
        ({"drop": 77}, "there is no drop 77"),
        ({"path": "../août.csv"}, "give the file's name, or its path, inside the inbox"),
        ({"path": "août.csv", "line": 2}, "give a line, .* and a decision on it"),
        ({"path": "août.csv", "decision": "create"}, "give a line, .* and a decision on it"),
        ({"path": "août.csv", "line": 2, "decision": "create"}, "line 2 .* is not waiting"),
    ],
)
@pytest.mark.usefixtures("dropped", "warehouse")
def test_a_run_for_nothing_says_what_to_give_and_is_not_tried_again(
    given: dict[str, Any], said: str
) -> None:
    with run(**given), pytest.raises((LookupError, ValueError), match=said) as raised:
        creation.plan("employee")
    assert not getattr(raised.value, "retriable", True)
