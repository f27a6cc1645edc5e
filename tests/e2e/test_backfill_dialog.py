"""A backfill of three days from Airflow's dialog, in a browser in the time zone of Paris."""

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from stack.launcher import Running
from tests.e2e.airflow_api import DONE, Airflow, query, until
from tests.e2e.conftest import sign_in

DAG = "invoice_extraction"
FIRST, LAST = "2026/04/13", "2026/04/15"
DAYS = ("2026-04-13", "2026-04-14", "2026-04-15")

pytestmark = [pytest.mark.prove, pytest.mark.services]


@pytest.fixture
def page(browser: Browser, stack: Running) -> Iterator[Page]:
    """A signed-in page; Airflow shows and accepts times in the browser's time zone."""
    context = browser.new_context(
        base_url=stack.url, timezone_id="Europe/Paris", viewport={"width": 1280, "height": 1500}
    )
    yield sign_in(context, stack.user, stack.password)
    context.close()


def pick(page: Page, box: Locator, day: str) -> None:
    """Open a date field, enter the day, close the field."""
    box.click()
    field = page.get_by_placeholder("YYYY/MM/DD")
    field.fill(day)
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)


def log_of(airflow: Airflow, run: str) -> str:
    """Return the log of the first extraction of a run."""
    path = f"/dags/{DAG}/dagRuns/{quote(run)}/taskInstances/extract/logs/1?map_index=0"
    return "\n".join(line["event"] for line in airflow.call("GET", path)["content"])


def test_each_run_of_a_backfill_from_the_dialog_reads_its_own_day(
    page: Page, stack: Running, airflow: Airflow, picture: Callable[[str], None]
) -> None:
    known = set(airflow.runs(DAG))  # the dialog unpauses the DAG, which may start a scheduled run
    page.goto(f"/dags/{DAG}")
    page.get_by_role("button", name="Trigger Dag").click()
    form = page.get_by_role("dialog")
    form.get_by_text("Backfill", exact=True).click()
    dates = form.get_by_test_id("datetime-input")
    pick(page, dates.first, FIRST)
    pick(page, dates.last, LAST)
    expect(form.get_by_text("3 runs will be triggered.")).to_be_visible()
    form.get_by_text("Override parameters on existing runs").click()
    form.locator("[name=element_lookback_days]").fill("0")
    picture("backfill")
    with page.expect_response(re.compile(r"/api/v2/backfills$")) as asked:
        form.get_by_role("button", name="Run Backfill").click()
    assert asked.value.ok, asked.value.text()

    def states() -> dict[str, str]:
        new = {run: state for run, state in airflow.runs(DAG).items() if run not in known}
        return {run: state for run, state in new.items() if run.startswith("backfill")}

    until(lambda: len(states()) >= 3 and set(states().values()) <= DONE, states)
    assert set(states().values()) == {"success"}, states()
    read = query(
        stack,
        "select dag_run_id, id_entity, details->'windows' from bms.step_run"
        " where step = 'extract' and state = 'complete' and dag_run_id = any(%s)"
        " order by window_start, id_entity",
        list(states()),
    )
    assert [(entity, windows) for _, entity, windows in read] == [
        (entity, [f"{day}/{day}"]) for day in DAYS for entity in (1, 2)
    ]
    assert len({run for run, *_ in read}) == len(DAYS), "one run for each day"
    airflow.pause(DAG, paused=True)
    said = log_of(airflow, read[0][0])
    assert re.search(
        rf"entity 1, {DAYS[0]}/{DAYS[0]}: complete; 1 days, \d+ requests, \d+ rows", said
    )
