"""The board in Airflow's UI in a browser: navigation, downloads, keyboard, accessibility, themes."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from stack.launcher import Running
from tests.e2e.airflow_api import Airflow, inbox_of, query

# The first test waits for the whole start.
pytestmark = pytest.mark.services

FLOWS = ("invoice_extraction", "employee_onboarding")
START = f"{datetime.now(UTC).year + 1}-01-04"
DROP = (
    "Matricule;Nom;Prénom;Entité;Date d'entrée\r\n"
    f"710001;Dupont;Zoé;1;{START}\r\n"
    f"710002;;Sans nom;1;{START}\r\n"
)


@pytest.fixture(scope="module")
def runs(stack: Running) -> dict[str, str]:
    """Concurrent runs, by DAG: one of invoices, one of a drop with a rejected row."""
    (inbox_of(stack) / "board.csv").write_bytes(DROP.encode("cp1252"))
    airflow = Airflow(stack)
    days = {"start_date": "2026-02-02", "end_date": "2026-02-06"}
    started = {
        "invoice_extraction": airflow.trigger("invoice_extraction", **days),
        "employee_onboarding": airflow.trigger("employee_onboarding", path="board.csv"),
    }
    for dag in FLOWS:
        airflow.pause(dag, paused=False)
    airflow.succeed(*started.items())
    for dag in FLOWS:
        airflow.pause(dag, paused=True)
    airflow.close()
    return started


@pytest.fixture
def drop(stack: Running, runs: dict[str, str]) -> int:
    """The drop's number."""
    run = runs["employee_onboarding"]
    [(number,)] = query(stack, "select id from bms.dropped_file where dag_run_id = %s", run)
    return int(number)


@pytest.fixture
def board(page: Page, runs: dict[str, str]) -> Iterator[Page]:
    """A page whose browser console must stay free of errors."""
    assert runs
    said: list[str] = []

    def hear(message: object) -> None:
        if getattr(message, "type", "error") == "error":
            said.append(str(getattr(message, "text", message)))

    page.on("console", hear)
    page.on("pageerror", hear)
    yield page
    page.remove_listener("console", hear)
    page.remove_listener("pageerror", hear)
    assert said == []


def test_the_navigation_leads_to_the_board_and_a_figure_to_airflow_s_run(
    board: Page, runs: dict[str, str]
) -> None:
    board.goto("/")
    board.get_by_role("link", name="BMS board").click()
    frame = board.frame_locator("iframe[title='BMS board']")
    # The first: a second table shows the requests to the service.
    row = frame.get_by_role("row").filter(has_text="Client invoices").first
    row.get_by_role("link", name="Client invoices").click()
    expect(frame.get_by_role("heading", level=1)).to_contain_text("Client invoices")
    loads = frame.get_by_role("group", name="Loads")
    run = quote(runs["invoice_extraction"], safe="")  # a scheduled run may have begun, too
    loads.get_by_role("rowheader").locator(f"a[href*='{run}']").click()
    expect(frame.get_by_role("heading", level=1)).to_have_text(runs["invoice_extraction"])
    frame.get_by_role("link", name="Run in Airflow").click()
    board.wait_for_url("**/dags/invoice_extraction/runs/*")
    expect(board.get_by_text("Success").first).to_be_visible()


def test_a_reject_file_is_downloaded_from_the_frame(board: Page, drop: int) -> None:
    board.goto(f"/plugin/bms/bms/drops/{drop}")
    frame = board.frame_locator("iframe[title='BMS board']")
    with board.expect_download() as downloading:
        frame.get_by_role("link", name="à corriger.csv").click()
    saved = downloading.value
    assert saved.suggested_filename == "à corriger.csv"
    content = Path(saved.path()).read_bytes().decode("cp1252")
    assert "710002" in content
    assert "710001" not in content


def test_the_board_works_by_keyboard(board: Page) -> None:
    board.goto("/bms/")
    board.keyboard.press("Tab")
    expect(board.get_by_role("link", name="Skip to content")).to_be_focused()
    board.keyboard.press("Enter")
    flow = board.get_by_role("link", name="Client invoices")
    for _ in range(12):
        board.keyboard.press("Tab")
        if flow.evaluate("link => link === document.activeElement"):
            break
    expect(flow).to_be_focused()
    assert flow.evaluate("link => getComputedStyle(link).outlineStyle") == "solid"
    board.keyboard.press("Enter")
    expect(board.get_by_role("heading", level=1)).to_contain_text("Client invoices")


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1280)])
def test_axe_finds_nothing_and_a_phone_is_wide_enough(
    board: Page,
    runs: dict[str, str],
    drop: int,
    scheme: Literal["light", "dark"],
    width: int,
) -> None:
    """Contrast, names, roles, landmarks: on every kind of page."""
    board.emulate_media(color_scheme=scheme)
    board.set_viewport_size({"width": width, "height": 800})
    for path in (
        "/",
        "/flows/invoice_extraction",
        "/flows/employee_onboarding",
        f"/flows/invoice_extraction/runs/{runs['invoice_extraction']}",
        f"/drops/{drop}",
        "/runbook",
    ):
        board.goto(f"/bms{path}")
        found = Axe().run(board)
        assert found.violations_count == 0, (path, found.generate_report())
        assert board.evaluate("document.documentElement.scrollWidth") <= width, path
        for cards in board.locator(".wide:has(> .flows, > .cards)").all():
            assert cards.evaluate("each => each.scrollWidth - each.clientWidth") == 0, path


def test_the_board_follows_airflow_s_own_theme(board: Page) -> None:
    board.goto("/bms/")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light = board.evaluate(background)
    board.evaluate("localStorage.setItem('theme', 'dark')")
    board.reload()
    dark = board.evaluate(background)
    board.evaluate("localStorage.removeItem('theme')")
    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(17, 17, 19)")
