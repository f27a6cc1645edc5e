"""The pages of a run and of a drop: every step is reached, and no link leads nowhere."""

import re

import pytest
from sqlalchemy import Engine, text

from bms_provider.board.queries.pages import MAX_STEPS
from tests.bms_provider.board.conftest import Visit

RUN = "/flows/employee_onboarding/runs/manual__1"


def enter(warehouse: Engine, step: str, entity: int | None = None, many: int = 1) -> None:
    """Enter steps of a run, a second apart."""
    with warehouse.begin() as connection:
        connection.execute(
            text("""insert into bms.step_run (flow, dag_run_id, step, id_entity, state, started_at, finished_at)
                select 'employee_onboarding', 'manual__1', :step, :entity, 'complete',
                    now() + n * interval '1 s', now() + n * interval '1 s'
                from generate_series(1, :many) as n"""),
            {"step": step, "entity": entity, "many": many},
        )


def drop(warehouse: Engine, state: str, run: str, *, started: bool = False) -> int:
    """Enter a drop."""
    with warehouse.begin() as connection:
        return int(
            connection.scalar(
                text("""insert into bms.dropped_file (resource, path, size, stamp, state, dag_run_id,
                    expires_at, entered_at, started_at, finished_at)
                    values ('employee', :run, 9, '1', :state, :run, now(), now(),
                    case when :started then now() end, now()) returning id"""),
                {"state": state, "run": run, "started": started},
            )
        )


@pytest.mark.parametrize(
    ("step", "entity", "place"),
    [
        ("plan", None, "/tasks/plan"),
        ("decide", None, "/tasks/plan"),
        ("enter", None, ""),
        ("create_12", None, "/tasks/create/mapped/12"),
        ("conclude", None, "/tasks/conclude"),
        ("extract", 3, "/tasks/extract/mapped"),
    ],
)
def test_a_step_leads_to_the_task_that_did_it(
    visit: Visit, warehouse: Engine, step: str, entity: int | None, place: str
) -> None:
    """Where two tasks may have, to their run."""
    enter(warehouse, step, entity)
    page = visit("viewer").get(f"/bms{RUN}").text
    (found,) = re.findall(r'href="([^"]+)" target="_top">Tasks? and logs?', page)
    assert found == f"/airflow/dags/employee_onboarding/runs/manual__1{place}"


@pytest.mark.parametrize(
    ("state", "run", "started", "airflow_s", "the_board_s"),
    [
        ("waiting", "waiting 5e1c", False, False, False),
        ("withdrawn", "waiting 5e1c", False, False, False),
        ("withdrawn", "manual__1", True, True, True),
        ("repeated", "manual__2", True, True, False),
        ("applied", "manual__1", True, True, True),
    ],
)
def test_a_drop_leads_to_the_run_that_took_it(
    visit: Visit,
    warehouse: Engine,
    state: str,
    run: str,
    started: bool,
    airflow_s: bool,
    the_board_s: bool,
) -> None:
    """One that nobody took has none; the board knows a run by its steps."""
    enter(warehouse, "plan")
    client = visit("viewer")
    page = client.get(f"/bms/drops/{drop(warehouse, state, run, started=started)}").text
    assert ("Run in Airflow" in page) is airflow_s
    assert ("Run on the board" in page) is the_board_s
    for place in re.findall(r'href="/airflow(/bms/flows/[^"]+)', page):
        assert client.get(place).status_code == 200


def test_of_a_long_run_every_step_is_reached_and_the_page_says_how_many_there_are(
    visit: Visit, warehouse: Engine
) -> None:
    enter(warehouse, "create_1", many=MAX_STEPS + 1)
    client = visit("viewer")
    page = client.get(f"/bms{RUN}").text
    assert page.count("<section id=") == MAX_STEPS
    assert f"The newest {MAX_STEPS} of {MAX_STEPS + 1} steps." in page
    with warehouse.connect() as connection:
        oldest = connection.scalar(text("select min(id) from bms.step_run"))
    assert f'id="step-{oldest}"' not in page
    place = client.get(f"/bms/steps/{oldest}").headers["Location"]
    assert place.endswith(f"#step-{oldest}")
    page = client.get(place.removeprefix("/airflow")).text
    assert page.count("<section id=") == MAX_STEPS
    assert page.index(f'id="step-{oldest}"') == page.index('id="step-')


def test_a_run_shown_whole_says_nothing_of_it(visit: Visit, warehouse: Engine) -> None:
    enter(warehouse, "create_1", many=2)
    assert " of 2 steps" not in visit("viewer").get(f"/bms{RUN}").text
