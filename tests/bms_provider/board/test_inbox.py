"""The pages of an inbox: upload, preview, corrections, submission; refused files, users and sites."""

import errno
import io
import os
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from html import unescape
from pathlib import Path
from threading import Barrier
from typing import Any
from urllib.parse import quote

import openpyxl
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text
from upath import UPath

from bms_flows.onboarding.inbox import uploads
from bms_flows.onboarding.reading.sheet import Limits
from bms_flows.runtime import storage
from bms_flows.runtime.fork_server import CallLimits, ForkServer
from bms_provider.board import inbox
from bms_provider.board.inbox import READER
from tests.bms_provider.board.conftest import Visit
from tests.support import workbooks
from tests.support.sql import execute, fetch, scalar

INBOX = "/bms/flows/employee_onboarding/inbox"
OURS = {"X-BMS-Board": "1", "Sec-Fetch-Site": "same-origin"}
START = f"{datetime.now(UTC).year + 1}-01-04"
HEADER = "Matricule;Nom;Prénom;Entité;Date d'entrée"
HEADER_ROW = '<row><c t="inlineStr"><is><t>Nom</t></is></c></row>'
ROWS = (f"710001;Dupont;Zoé;1;{START}", f"710002;;Léa;1;{START}", "710003;Roux;Max;1;31/02/2026")


@pytest.fixture
def hr(visit: Visit) -> TestClient:
    """The client of an HR user."""
    return visit("recruiter")


def upload(client: TestClient, content: bytes, name: str = "entrées.csv", **headers: str) -> Any:
    """Upload a file."""
    given = {**OURS, "X-File-Name": quote(name), **headers}
    return client.post(INBOX, content=content, headers=given)


def page_of(client: TestClient, content: bytes, name: str = "entrées.csv") -> str:
    """Upload a file; return the address of its preview, as the client asks for it."""
    answer = upload(client, content, name)
    assert answer.status_code == 200, answer.text
    page: str = answer.json()["page"]
    return page.removeprefix("/airflow")


def csv(*rows: str, header: str = HEADER) -> bytes:
    """Return a CSV."""
    return "".join(f"{row}\r\n" for row in (header, *rows)).encode("cp1252")


def post(client: TestClient, address: str, **content: Any) -> Any:
    """Post as the board's script does."""
    return client.post(address, json=content, headers=OURS)


def correct(client: TestClient, page: str, cells: Any, headers: Any = None) -> Any:
    """Correct the file that a page shows now."""
    digest = digest_of(client.get(page).text)
    return post(client, f"{page}/cells", cells=cells, headers=headers or {}, digest=digest)


def digest_of(page: str) -> str:
    """Return the digest of the shown file."""
    found = re.search(r'data-digest="(\w+)"', page)
    assert found
    return found[1]


def test_an_upload_that_is_submitted_from_two_tabs_at_once_is_one_drop(
    hr: TestClient, data_root: Path, warehouse: Engine
) -> None:
    page = page_of(hr, csv(ROWS[0]))
    digest, together = digest_of(hr.get(page).text), Barrier(4)

    def submit(_: int) -> int:
        together.wait()
        status: int = post(hr, f"{page}/submit", digest=digest).status_code
        return status

    with ThreadPoolExecutor(4) as tabs:
        assert sorted(tabs.map(submit, range(4))) == [200, 404, 404, 404]
    assert [*(data_root / "inbox/employees").glob("entr*")] == [
        data_root / "inbox/employees/entrées.csv"
    ]
    assert scalar(warehouse, "select count(*) from bms.dropped_file") == 1


def test_an_upload_is_corrected_and_submitted_as_an_ordinary_drop(
    hr: TestClient, data_root: Path, warehouse: Engine
) -> None:
    assert hr.get(INBOX).status_code == 200
    page = page_of(hr, csv(*ROWS))
    shown = hr.get(page).text
    assert "Nom, ligne 3" in shown
    assert 'value="31/02/2026" data-line="4" data-place="4"' in shown
    assert not (data_root / "inbox").exists()  # nothing is dropped yet

    cells = {"3": {"1": "Martin; née Roy"}, "4": {"4": START}}
    assert correct(hr, page, cells).status_code == 204
    shown = hr.get(page).text
    assert "aria-invalid" in shown  # a remark is no name
    cells = {"3": {"1": "Martin"}}
    assert correct(hr, page, cells).status_code == 204
    shown = hr.get(page).text
    assert "aria-invalid" not in shown

    assert post(hr, f"{page}/submit", digest="0" * 64).status_code == 409
    answer = post(hr, f"{page}/submit", digest=digest_of(shown))
    assert answer.json() == {"page": "/airflow/bms/drops/1"}
    dropped = data_root / "inbox/employees/entrées.csv"
    assert dropped.read_bytes() == csv(
        ROWS[0], f"710002;Martin;Léa;1;{START}", f"710003;Roux;Max;1;{START}"
    )
    [drop] = fetch(warehouse, "select path, state, submitted_by, dag_run_id from bms.dropped_file")
    assert drop[:3] == ("entrées.csv", "open", "recruiter")
    [original] = (data_root / "archive/employees").rglob("original-*")
    assert original.read_bytes() == csv(*ROWS)
    assert list((data_root / "uploads").rglob("*.*")) == []
    assert hr.get(page).status_code == 404


def test_a_correction_of_a_page_that_another_tab_changed_is_refused(hr: TestClient) -> None:
    """The columns after a removed one have other places now."""
    rows = f"x;{ROWS[1]}"
    page = page_of(hr, csv(rows, header=f"Nommm;{HEADER}"))
    digest = digest_of(hr.get(page).text)
    first = {"cells": {}, "headers": {"0": None}, "digest": digest}
    assert post(hr, f"{page}/cells", **first).status_code == 204
    late = {"cells": {"2": {"2": "Martin"}}, "headers": {}, "digest": digest}
    assert post(hr, f"{page}/cells", **late).status_code == 409
    assert 'value="Martin"' not in hr.get(page).text


def test_an_unknown_column_is_accepted_as_the_nearest_or_left_out(hr: TestClient) -> None:
    content = csv(
        f"710001;Dupont;Zoé;1;{START};x", header="Matricule;Nomm;Prénom;Entité;Date d'entrée;Taille"
    )
    page = page_of(hr, content)
    shown = hr.get(page).text
    assert re.search(r'<select data-column="1"><option value="Nom">', shown)
    assert '<button type="submit" class="primary" disabled>' in shown
    assert correct(hr, page, {}, {"1": "Nom", "5": None}).status_code == 204
    shown = hr.get(page).text
    assert "<select" not in shown
    assert '<button type="submit" class="primary">' in shown


def test_a_file_for_another_inbox_leads_there(hr: TestClient) -> None:
    content = csv("Roux;Max;max@client.example;Client SA", header="Nom;Prénom;E-mail;Société")
    shown = hr.get(page_of(hr, content)).text
    assert "fichier de contacts" not in shown  # these four are headers of employees, too
    content = csv("Roux;Max;0612345678;Achats", header="Nom;Prénom;Mobile;Fonction")
    shown = hr.get(page_of(hr, content)).text
    assert "Les en-têtes sont ceux d'un fichier de contacts." in unescape(shown)
    assert 'href="/airflow/bms/flows/contact_creation/inbox"' in shown
    assert "<select" not in shown
    assert '<button type="submit" class="primary" disabled>' in shown


MALFORMED = (
    *("", "{", "[]", "null", "{}", "[" * 100_000, '{"a":' * 100_000, "9" * 5000, "\ufeff{}"),
    *('{"cells": {}}', '{"digest": 1}', '{"digest": "\\ud800"}'),
)
CELLS = (
    *("[]", "1", "null", "NaN", '{"2": []}', '{"2": {"1": 1}}', '{"x": {"1": "a"}}'),
    *('{"0": {"1": "a"}}', '{"2": {"-1": "a"}}', '{"2": {"6": "a"}}', '{"2": {"400": "a"}}'),
    *('{"99999999999999999999999999": {"1": "a"}}', '{"2": {"1": "\\ud800"}}'),
)
HEADERS = ("[]", "null", '{"0": 1}', '{"0": {}}', '{"0": "\\udfff"}', '{"300": "a"}')


def test_a_malformed_request_is_refused_with_a_message(hr: TestClient) -> None:
    page, unread = page_of(hr, csv(*ROWS)), page_of(hr, b"PK\x03\x04", "a.xlsx")
    digest = digest_of(hr.get(page).text)
    told = f'"digest": "{digest}"}}'
    bodies = [
        *MALFORMED,
        *(f'{{"headers": {{}}, "cells": {each}, {told}' for each in CELLS),
        *(f'{{"cells": {{}}, "headers": {each}, {told}' for each in HEADERS),
    ]
    answers = [(f"{page}/cells", body.encode()) for body in (*bodies, f"{{{told}")]
    answers += [(f"{page}/submit", body.encode()) for body in MALFORMED]
    answers += [(f"{page}/{action}", b'{"digest": "\xff"}') for action in ("cells", "submit")]
    digest = digest_of(hr.get(unread).text)
    body = f'{{"cells": {{"1": {{"0": "a"}}}}, "headers": {{}}, "digest": "{digest}"}}'
    answers.append((f"{unread}/cells", body.encode()))
    for number in ("x", 0, 2**63):
        answers.append((f"/bms/drops/{number}/undo", b"["))
    given = {**OURS, "Content-Type": "application/json"}
    for address, content in answers:
        answer = hr.post(address, content=content, headers=given)
        assert 400 <= answer.status_code < 500, (address, content[:99])
        assert {*answer.json()["error"]} == {"FR", "EN"}, (address, content[:99])
    assert upload(hr, csv(*ROWS), **{"X-File-Name": "a" * 3000}).status_code == 422
    assert correct(hr, page, {}, {}).status_code == 204  # what changes nothing is well-formed
    assert hr.get(page).status_code == 200


def test_a_missing_column_is_filled_in_on_the_page(hr: TestClient) -> None:
    page = page_of(hr, csv("710001;Zoé;1", header="Matricule;Prénom;Entité"))
    shown = hr.get(page).text
    [(name, date)] = [re.findall(r'data-place="(\d)" data-header="[^"]+" data-added', shown)]
    headers = {name: "Nom", date: "Date d'entrée"}
    cells = {"2": {name: "Dupont", date: START}}
    assert correct(hr, page, cells, headers).status_code == 204
    assert "aria-invalid" not in hr.get(page).text


def test_a_workbook_is_corrected_without_a_change_to_other_cells(
    hr: TestClient, data_root: Path
) -> None:
    rows = (
        ["Matricule", "Nom", "Prénom", "Entité", "Date d'entrée"],
        ["007", None, "Zoé", 1, date(2027, 1, 4)],
        ["008", "Roux", "Max", 1, date(2027, 1, 5)],
    )
    page = page_of(hr, workbooks.saved(workbooks.of_rows(rows)), "entrées.xlsx")
    correct(hr, page, {"2": {"1": "Dupont"}})
    shown = hr.get(page).text
    assert "aria-invalid" not in shown
    post(hr, f"{page}/submit", digest=digest_of(shown))
    stored = (data_root / "inbox/employees/entrées.xlsx").read_bytes()
    sheet: Any = openpyxl.load_workbook(io.BytesIO(stored)).active
    found: Any = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=2)]
    assert [row[:4] for row in found] == [["007", "Dupont", "Zoé", 1], ["008", "Roux", "Max", 1]]
    assert [row[4].date() for row in found] == [date(2027, 1, 4), date(2027, 1, 5)]


def test_a_request_of_another_site_changes_nothing(hr: TestClient, data_root: Path) -> None:
    page = page_of(hr, csv(*ROWS))
    sites = [{"Sec-Fetch-Site": site} for site in ("cross-site", "same-site", "none")]
    for headers in [{"X-BMS-Board": ""}, *sites]:
        assert upload(hr, csv(*ROWS), **headers).status_code == 403, headers
        for action in ("cells", "submit", "discard"):
            answer = hr.post(f"{page}/{action}", json={}, headers={**OURS, **headers})
            assert answer.status_code == 403, (headers, action)
    assert len(list((data_root / "uploads/employees").iterdir())) == 1
    assert hr.get(page).status_code == 200


def test_an_old_browser_sends_the_origin(hr: TestClient) -> None:
    given = {"X-BMS-Board": "1", "X-File-Name": "a.csv"}
    for origin, status in (("http://testserver", 200), ("http://evil.example", 403), ("null", 403)):
        answer = hr.post(INBOX, content=csv(*ROWS), headers={**given, "Origin": origin})
        assert answer.status_code == status, origin


def test_a_name_with_no_break_spaces_is_accepted(hr: TestClient) -> None:
    assert upload(hr, csv(*ROWS), "entrées\u00a0de janvier\u202f: lot 2.csv").status_code == 200


def test_a_session_that_ended_meanwhile_is_named(visit: Visit) -> None:
    answer = upload(visit(), csv(*ROWS))
    assert answer.status_code == 401
    assert "dans un autre onglet" in answer.json()["error"]["FR"]


def test_an_upload_belongs_to_its_user(visit: Visit, hr: TestClient) -> None:
    page = page_of(hr, csv(*ROWS))
    other = visit("user")
    assert other.get(page).status_code == 404
    assert post(other, f"{page}/submit", digest="").status_code == 404
    assert visit("clerk").get(page).status_code == 403
    assert visit().get(page).status_code == 401


@pytest.mark.parametrize(
    "name", ["", "..", "a/b.csv", "_modele.csv", ".csv", "a.csv.part", "a\n.csv", "a" * 300]
)
def test_no_file_can_have_such_a_name(hr: TestClient, data_root: Path, name: str) -> None:
    answer = upload(hr, csv(*ROWS), name)
    assert answer.status_code == 422
    assert "Renommez le fichier" in answer.json()["error"]["FR"]
    assert not (data_root / "uploads").exists()


def test_a_file_beyond_the_limit_is_not_stored(hr: TestClient, data_root: Path) -> None:
    assert upload(hr, b"a" * (Limits().bytes + 1)).status_code == 413
    assert list((data_root / "uploads").rglob("*.*")) == []


def test_a_hostile_file_ends_its_own_process_only(
    hr: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "READER", ForkServer(READER.function, CallLimits(cpu_s=1)))
    rows = ("<row>" + "<c/>" * 240 + "</row>") * 100_000
    hostile = workbooks.workbook(f"<sheetData>{HEADER_ROW}{rows}</sheetData>")
    answer = hr.get(page_of(hr, hostile, "classeur.xlsx"), headers={"Accept-Language": "fr"})
    assert answer.status_code == 422
    assert "Copiez les lignes dans un classeur neuf" in answer.text
    assert hr.get(page_of(hr, csv(*ROWS))).status_code == 200
    inbox.READER.close()


def test_old_and_surplus_uploads_make_room(hr: TestClient, data_root: Path) -> None:
    pages = [page_of(hr, csv(*ROWS)) for _ in range(uploads.MOST + 1)]
    assert [hr.get(page).status_code for page in (pages[0], pages[1])] == [404, 200]
    assert len(list((data_root / "uploads/employees").iterdir())) == uploads.MOST
    page_before = pages[-1]
    assert post(hr, f"{page_before}/discard").json() == {"page": f"/airflow{INBOX}"}
    assert hr.get(page_before).status_code == 404


def test_requests_that_remove_the_same_old_upload_at_once_do_not_fail(data_root: Path) -> None:
    with ThreadPoolExecutor(4) as requests:
        for _ in range(100):
            old = uploads.begin(UPath(data_root), "employees", "a.csv", "recruiter")
            storage.save_private(old.target, b"a")
            assert [*requests.map(lambda each: each.remove(), [old] * 4)] == [None] * 4
            assert not old.folder.exists()


def test_an_undo_sheet_of_a_thousand_rows_lists_all_and_closes(
    hr: TestClient, report: int, warehouse: Engine
) -> None:
    with warehouse.begin() as connection:
        connection.execute(
            text("""insert into bms.creation (resource, key, digest, drop_id, line, state, attempt,
                max_attempts, empty_lookups, evidence, candidates, remote_id, remote_number, manager_key,
                entered_at, changed_at) select 'employee', 'k' || n, 'd', 1, n, 'created', 1, 5, 0, '[]',
                '[]', 'r' || n, n, 'k' || (n - 1), now(), now() from generate_series(2, 1001) as n""")
        )
        connection.execute(
            text("""insert into bms.employee (guid_employee, id_employee, _entity, deleted, _detailed,
                _standby, _former, _first_seen_at, _version, _changed_at, _step_run_id, _row_hash)
                select 'r' || n, n, 1, false, true, false, false, now(), 1, now(), 1, ''
                from generate_series(2, 1001) as n""")
        )
    page = f"/bms/drops/{report}"
    assert hr.post(f"{page}/undo", json={}).status_code == 403  # not by the board's script
    assert post(hr, f"{page}/undo").status_code == 200
    lines = re.findall(r'data-name="Ligne">(\d+)<', hr.get(page).text)
    assert lines == [str(n) for n in range(1001, 1, -1)]  # each row's manager is the row above
    execute(warehouse, "update bms.employee set deleted = true, _removal_reason = 'missing'")
    shown = hr.get(page).text
    assert "Fiche close" in shown
    assert shown.count("supprimée, constaté le") == 1000


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EHOSTDOWN])
def test_a_full_disk_or_a_refused_data_root_or_a_failed_share_is_named(
    hr: TestClient, data_root: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = page_of(hr, csv(*ROWS))
    before = sorted(data_root.rglob("*"))

    def refuse(*_: Any, **__: Any) -> int:
        raise OSError(code, os.strerror(code), str(data_root / "Dupont.csv"))

    monkeypatch.setattr(os, "open", refuse)  # the tests may run as root, whom no mode refuses
    answers = [upload(hr, csv(*ROWS)), post(hr, f"{page}/cells", cells={}, headers={})]
    monkeypatch.undo()
    for answer in answers:
        assert (answer.status_code, [*answer.json()["error"]]) == (503, ["FR", "EN"])
        assert "Dupont" not in answer.text
    assert {*before} <= {*data_root.rglob("*")}
