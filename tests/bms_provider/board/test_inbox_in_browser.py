"""The pages of an inbox in a browser: by mouse and by keyboard, accessible, on a phone, light and dark.

If BMS_PICTURES names a folder, pictures of each state are saved there.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Dialog, FilePayload, Page, Route, expect
from sqlalchemy import Engine, text

from tests.bms_provider.board.conftest import Visit
from tests.bms_provider.board.history import give_up
from tests.bms_provider.board.test_inbox import START, csv
from tests.support.drops import add_row
from tests.support.sql import execute, scalar
from tests.support.steps import add_step

BOARD = "https://board.example/airflow"
INBOX = f"{BOARD}/bms/flows/employee_onboarding/inbox"

pytestmark = pytest.mark.services

HEADER = "Matricule;Nomm;Prénom;Entité;Date d'entrée;E-mail professionnel;Adresse"
ROWS = [
    *(f"71000{n};Dupont;Zoé {'ABCDEFGH'[n]};1;{START};zoe{n}@exemple.fr;" for n in range(8)),
    f"710010;;Léa;1;{START};lea@exemple.fr;",
    '710011;Roux;Max;1;31/02/2027;max(at)exemple.fr;"12 rue Haute\nBât. B"',
    f"100001;Martin;Ève;1;{START};;",
    "710012;Martin;Ève;1;2020-01-06;;",
]


@pytest.fixture
def mirror(warehouse: Engine) -> None:
    """A mirror with an employee, read today."""
    add_step(warehouse, flow="employee_directory", id_entity=1)
    with warehouse.begin() as connection:
        connection.execute(
            text("""insert into bms.employee (guid_employee, id_employee, payroll_number, last_name,
                first_name, start_date, _entity, id_entity, deleted, _detailed, _standby, _former,
                _first_seen_at, _version, _changed_at, _step_run_id, _row_hash)
                values ('0a', 4711, '100001', 'Martin', 'Ève', '2020-01-06', 1, 1, false, true, false,
                false, now(), 1, now(), 1, '')""")
        )


def serve(page: Page, client: TestClient) -> None:
    """Answer the page's requests by the board."""

    def answer(route: Route) -> None:
        asked = route.request
        path = asked.url.removeprefix(BOARD)
        headers = {**asked.all_headers(), "host": "board.example"}
        found = client.request(asked.method, path, content=asked.post_data_buffer, headers=headers)
        route.fulfill(status=found.status_code, headers=dict(found.headers), body=found.content)

    page.route("**/*", answer)


@pytest.fixture
def opened(browser: Browser, visit: Visit) -> Iterator[Callable[[], Page]]:
    """Open a page of an HR user."""
    pages = []

    def opener() -> Page:
        page = browser.new_page(viewport={"width": 1180, "height": 800})
        page.set_default_timeout(20_000)
        expect.set_options(timeout=20_000)
        serve(page, visit("recruiter"))
        pages.append(page)
        return page

    yield opener
    for each in pages:
        each.close()


VIEWS: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1180), ("dark", 390))


def picture(page: Page, name: str) -> None:
    """Check a state for accessibility and width, light and on a dark phone; save its pictures."""
    for scheme, width in VIEWS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        found = Axe().run(page)
        assert found.violations_count == 0, (name, scheme, found.generate_report())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        if folder := os.environ.get("BMS_PICTURES"):
            page.screenshot(path=Path(folder) / f"{name}-{scheme}-{width}.png", full_page=True)


def payload(content: bytes) -> FilePayload:
    """Return a file to choose."""
    return {"name": "entrées de janvier.csv", "mimeType": "text/csv", "buffer": content}


@pytest.mark.usefixtures("mirror")
def test_a_file_is_uploaded_corrected_and_submitted(
    opened: Callable[[], Page], warehouse: Engine, data_root: Path
) -> None:
    page = opened()
    page.goto(INBOX)
    picture(page, "inbox-1-empty")
    page.locator("input[type=file]").set_input_files(payload(csv(*ROWS, header=HEADER)))
    page.wait_for_url("**/inbox/*")
    picture(page, "inbox-2-column")
    submit = page.get_by_role("button", name="Envoyer le fichier")
    expect(submit).to_be_disabled()
    page.get_by_label("E-mail professionnel, ligne 11").fill("max@exemple.fr")
    page.get_by_role("button", name="Valider").click()
    expect(submit).to_be_enabled()
    email = page.get_by_label("E-mail professionnel, ligne 11")
    expect(email).to_have_value("max@exemple.fr")  # accepting a header checks corrected cells too
    picture(page, "inbox-3-faults")

    # By keyboard: the focus is on the first faulty cell.
    name = page.get_by_label("Nom, ligne 10", exact=True)
    expect(name).to_be_focused()
    page.keyboard.type("Bernard")
    page.get_by_label("Date d'entrée, ligne 11").fill(START)
    submit.click()
    expect(page.get_by_role("status")).to_have_text(
        "Vos corrections ne sont pas encore vérifiées : vérifiez-les d'abord.".replace(
            " :", "\xa0:"
        )
    )
    page.get_by_role("button", name="Vérifier les corrections").press("Enter")
    expect(page.locator("[aria-invalid]")).to_have_count(0)
    picture(page, "inbox-4-corrected")
    expect(submit).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/drops/*")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Dépôt 1")
    picture(page, "inbox-5-drop")
    assert scalar(warehouse, "select submitted_by from bms.dropped_file") == "recruiter"
    [dropped] = (data_root / "inbox/employees").glob("entr*")
    assert '"12 rue Haute\nBât. B"' in dropped.read_text("cp1252")


DRAG = """([at, ...files]) => {
    const data = new DataTransfer();
    for (const [name, content] of files) data.items.add(new File([content], name));
    const event = (kind) => new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
    return ["dragover", "drop"].map((kind) => document.querySelector(at).dispatchEvent(event(kind)));
}"""
"""Drag files to an element; returns whether the browser then opens them itself."""


def test_a_dragged_file_is_uploaded_and_no_other_one(opened: Callable[[], Page]) -> None:
    page, content = opened(), csv(ROWS[0], header=HEADER).decode("cp1252")
    page.goto(INBOX)
    assert page.evaluate(DRAG, [".dropzone", ["a.csv", content], ["b.csv", content]]) == [False] * 2
    expect(page.get_by_role("status")).to_contain_text("un seul fichier à la fois")
    page.evaluate(DRAG, [".dropzone", ["arrivées.csv", content]])
    page.wait_for_url("**/inbox/*")
    expect(page.get_by_role("heading", level=1)).to_have_text("arrivées.csv")
    assert page.evaluate(DRAG, ["h1", ["b.csv", content]]) == [False] * 2


def test_corrections_are_not_lost(opened: Callable[[], Page]) -> None:
    page, asked = opened(), list[str]()
    page.goto(INBOX)
    page.locator("input[type=file]").set_input_files(
        payload(csv(*ROWS, header=HEADER.replace("Nomm", "Nom")))
    )
    page.wait_for_url("**/inbox/*")
    page.get_by_label("Nom, ligne 10", exact=True).click()
    page.keyboard.type("Bernard")

    def leave(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.once("dialog", leave)
    page.reload()
    assert asked == ["beforeunload"]
    page.get_by_label("Nom, ligne 10", exact=True).fill("Bernard")
    # While the corrections are checked, nothing can be typed into cells that are shown anew then.
    checking = "document.querySelector('[data-check]').click(), document.querySelector('main section').inert"
    assert page.evaluate(checking) is True
    expect(page.get_by_role("status")).to_have_text("Vérifié.")
    assert page.evaluate("document.querySelectorAll('[inert]').length") == 0
    page.get_by_role("button", name="Abandonner").click()
    page.wait_for_url(INBOX)


@pytest.mark.usefixtures("report", "mirror")
def test_lines_are_decided_together_and_the_page_follows(
    opened: Callable[[], Page], warehouse: Engine
) -> None:
    page = opened()
    with warehouse.begin() as connection:
        connection.execute(text("update bms.dropped_file set state = 'open', finished_at = null"))
        connection.execute(
            text("""insert into bms.creation (resource, key, digest, drop_id, line, state, attempt,
                max_attempts, empty_lookups, reason, evidence, candidates, remote_id, entered_at, changed_at)
                select 'employee', 'k' || n, 'd', 1, n, case when n < 12 then 'created' when n < 14
                then 'sending' else 'review' end, 1, 5, 0, case when n > 13 then 'same_person_other_key' end,
                '[]', case when n > 13 then jsonb_build_array(replace('0a-' || n, '-15', '')) else '[]' end,
                case when n < 12 then 'r' || n end, now(), now() from generate_series(2, 16) as n""")
        )
    decided: list[Any] = []

    def trigger(route: Route) -> None:
        decided.append(route.request.post_data_json)
        route.fulfill(status=200, body="{}")

    page.route("**/api/v2/dags/employee_onboarding/dagRuns", trigger)
    page.goto(f"{BOARD}/bms/drops/1")
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "10")
    picture(page, "drop-1-progress")
    execute(
        warehouse,
        "update bms.creation set state = 'created', remote_id = id where state = 'sending'",
    )
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "12")
    page.get_by_role("checkbox", name="Ligne 14").check()
    page.get_by_role("checkbox", name="Ligne 16").check()
    picture(page, "drop-2-decisions")
    page.get_by_role("button", name="Créer les lignes choisies").dblclick()
    expect(page.get_by_role("status")).to_contain_text("Décision envoyée")
    execute(warehouse, "update bms.creation set state = 'created', remote_id = id where line = 14")
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "13")
    expect(page.get_by_role("status")).to_contain_text("Décision envoyée")
    page.get_by_role("button", name="C'est la fiche 4711").click()
    expect(page.get_by_role("status")).to_contain_text("Décision envoyée")
    assert decided == [
        {"logical_date": None, "conf": {"drop": 1, "line": "14, 16", "decision": "create"}},
        {"logical_date": None, "conf": {"drop": 1, "line": "15", "decision": "0a"}},
    ]
    give_up(warehouse, 15)
    status = page.get_by_role("status").first
    expect(status).to_have_text(re.compile(r"^Ligne 15 \(Abandonner, paul, .+\)$"))
    page.get_by_role("checkbox", name="Ligne 16").check()
    give_up(warehouse, 16)
    page.get_by_role("button", name="Créer les lignes choisies").click()
    said = re.compile(r"^Rien n'a été envoyé.*Ligne 16 \(Abandonner, paul, .+\)$")
    expect(status).to_have_text(said)
    assert len(decided) == 2
    picture(page, "drop-3-decided")
    with page.expect_download() as downloading:
        page.get_by_role("link", name="à corriger.csv").click()
    assert downloading.value.suggested_filename == "à corriger.csv"


@pytest.mark.usefixtures("report", "mirror")
def test_the_undo_sheet_of_a_mistake_is_ticked_off_by_the_mirror(
    opened: Callable[[], Page], warehouse: Engine
) -> None:
    page = opened()
    for line, key, manager in ((2, "a", None), (3, "b", "a"), (4, "c", "a")):
        record = {"remote_id": f"0{key}", "remote_number": 4709 + line, "manager_key": manager}
        state = "adopted" if key == "c" else "created"
        add_row(warehouse, key, line=line, state=state, **record)
    page.goto(f"{BOARD}/bms/drops/1")
    page.get_by_role("button", name="Ouvrir la fiche d'annulation").click()
    rows = page.get_by_role("group", name="Dépôt fait par erreur").get_by_role("rowheader")
    expect(rows).to_have_text(["3", "2"])  # reports before their managers, nothing adopted
    picture(page, "undo-1-open")
    execute(warehouse, "update bms.employee set deleted = true, _removal_reason = 'missing'")
    page.reload()
    expect(page.get_by_text("supprimée, constaté le")).to_have_count(1)
    execute(warehouse, "delete from bms.creation where key = 'b'")
    page.reload()
    expect(page.get_by_text("Fiche close")).to_be_visible()
    picture(page, "undo-2-closed")


def test_a_refused_upload_is_explained(opened: Callable[[], Page]) -> None:
    page = opened()
    page.goto(INBOX)
    file = payload(b"a;b\n")
    page.locator("input[type=file]").set_input_files({**file, "name": "_modele.csv"})
    expect(page.get_by_role("status")).to_contain_text("Renommez le fichier.")
    picture(page, "inbox-6-refused")
    assert not page.locator("input[type=file]").input_value()  # the same file can be chosen again
