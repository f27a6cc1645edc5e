"""Pages of a run and a drop: their steps and links."""

import re
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, text

from bms_provider.board.queries.pages import MAX_STEPS
from tests.bms_provider.board.conftest import Visit
from tests.support.drops import add_drop
from tests.support.sql import scalar

RUN = "/flows/employee_onboarding/runs/manual__1"


def enter(warehouse: Engine, step: str, entity: int | None = None, many: int = 1) -> None:
    """Record steps of a run, one second apart."""
    with warehouse.begin() as connection:
        connection.execute(
            text("""insert into bms.step_run (flow, dag_run_id, step, id_entity, state, started_at, finished_at)
                select 'employee_onboarding', 'manual__1', :step, :entity, 'complete',
                    now() + n * interval '1 s', now() + n * interval '1 s'
                from generate_series(1, :many) as n"""),
            {"step": step, "entity": entity, "many": many},
        )


def drop(warehouse: Engine, state: str, run: str, *, started: bool = False) -> int:
    """Record a drop."""
    now = datetime.now(UTC)
    times = {"started_at": now if started else None, "finished_at": now}
    add_drop(warehouse, now, path=run, dag_run_id=run, state=state, **times)
    return int(scalar(warehouse, "select max(id) from bms.dropped_file"))


@pytest.mark.parametrize(
    ("step", "entity", "path"),
    [
        ("plan", None, "/tasks/plan"),
        ("decide", None, "/tasks/plan"),
        ("enter", None, ""),
        ("create_12", None, "/tasks/create/mapped/12"),
        ("conclude", None, "/tasks/conclude"),
        ("extract", 3, "/tasks/extract/mapped"),
    ],
)
def test_a_step_links_to_its_task(
    visit: Visit, warehouse: Engine, step: str, entity: int | None, path: str
) -> None:
    """A step that two tasks can record links to the run."""
    enter(warehouse, step, entity)
    page = visit("viewer").get(f"/bms{RUN}").text
    (found,) = re.findall(r'href="([^"]+)" target="_top">Tasks? and logs?', page)
    assert found == f"/airflow/dags/employee_onboarding/runs/manual__1{path}"


@pytest.mark.parametrize(
    ("state", "run", "started", "in_airflow", "on_board"),
    [
        ("waiting", "waiting 5e1c", False, False, False),
        ("withdrawn", "waiting 5e1c", False, False, False),
        ("withdrawn", "manual__1", True, True, True),
        ("repeated", "manual__2", True, True, False),
        ("applied", "manual__1", True, True, True),
    ],
)
def test_a_drop_links_to_the_run_that_claimed_it(
    visit: Visit,
    warehouse: Engine,
    state: str,
    run: str,
    started: bool,
    in_airflow: bool,
    on_board: bool,
) -> None:
    """An unclaimed drop has no link; the board has a page only for a run with steps."""
    enter(warehouse, "plan")
    client = visit("viewer")
    page = client.get(f"/bms/drops/{drop(warehouse, state, run, started=started)}").text
    assert ("Traitement dans Airflow" in page) is in_airflow
    assert ("Traitement sur le tableau de bord" in page) is on_board
    for address in re.findall(r'href="/airflow(/bms/flows/[^"]+)', page):
        assert client.get(address).status_code == 200


def test_every_step_of_a_long_run_is_reachable(visit: Visit, warehouse: Engine) -> None:
    enter(warehouse, "create_1", many=MAX_STEPS + 1)
    client = visit("viewer")
    page = client.get(f"/bms{RUN}").text
    assert page.count("<section id=") == MAX_STEPS
    assert f"The newest {MAX_STEPS} of {MAX_STEPS + 1} steps." in page
    with warehouse.connect() as connection:
        oldest = connection.scalar(text("select min(id) from bms.step_run"))
    assert f'id="step-{oldest}"' not in page
    address = client.get(f"/bms/steps/{oldest}").headers["Location"]
    assert address.endswith(f"#step-{oldest}")
    page = client.get(address.removeprefix("/airflow")).text
    assert page.count("<section id=") == MAX_STEPS
    assert page.index(f'id="step-{oldest}"') == page.index('id="step-')


def test_a_complete_list_of_steps_has_no_note(visit: Visit, warehouse: Engine) -> None:
    enter(warehouse, "create_1", many=2)
    assert " of 2 steps" not in visit("viewer").get(f"/bms{RUN}").text
