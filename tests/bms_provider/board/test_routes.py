"""Responses of the board: escaped text, report files, headers, errors, hostile requests."""

import hashlib
import re
import socket
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import Engine, text

from bms_flows import texts
from bms_flows.onboarding.planning.plan import Action
from bms_flows.runtime.notice import Links
from bms_flows.runtime.settings import FlowSettings
from bms_provider.board import files
from bms_provider.board import warehouse as board_warehouse
from bms_provider.board.page import settings
from bms_provider.board.warehouse import reading
from bms_warehouse.errors import WarehouseError
from tests.bms_provider.board.conftest import Visit
from tests.bms_provider.conftest import Connect
from tests.support.drops import add_drop, add_invalid_row, add_plan, add_row
from tests.support.sql import execute, scalar
from tests.support.steps import add_step

MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture
def poisoned(warehouse: Engine) -> None:
    """Store markup in every text column that holds external data."""
    with warehouse.begin() as connection:
        of_run: dict[str, Any] = {"dag_run_id": MARKUP, "reason": MARKUP, "details": {"drop": 1}}
        step = {"flow": "employee_onboarding", "step": "conclude", "state": "failed"}
        add_step(connection, **step, **of_run)
        ended = {"state": "applied", "report": MARKUP, "finished_at": datetime.now(UTC)}
        add_drop(connection, path=MARKUP, dag_run_id=MARKUP, **ended)
        decided = {"decided_by": MARKUP, "decided_at": datetime.now(UTC)}
        limits = [dict.fromkeys(("code", "found", "limit"), MARKUP)]
        plan = {"state": "approved", "counts": {"create": 1}, "breaches": limits}
        add_plan(connection, id=MARKUP, **plan, **decided)
        found = {"reason": MARKUP, "evidence": [MARKUP], "candidates": [MARKUP]}
        add_row(connection, "k", state="review", **found)
        invoices = {"resource": "client_invoice", "id_entity": 1, "field": MARKUP}
        add_invalid_row(connection, MARKUP, MARKUP, MARKUP, **invoices)
        for statement in (
            """insert into bms.client_invoice_missing_number values (1, :m, :m, current_date, now(), 1, :m, :m)""",
            """insert into bms.alarm (subject, code, detail, since, raised_at)
            values (:m, :m, :m, now(), now())""",
            """insert into bms.reconciliation (resource, id_entity, day, part, parts, state, reasons, found, pending,
                rows_compared, changed_meanwhile, rows, checked_at, step_run_id)
            values ('client_invoice', 1, current_date, 1, 1, 'not_reconciled', array[:m], '{}', '{}', 1, 0,
                '{}', now(), 1)""",
            """insert into bms.contract values (:m, now(), 'known', null, :m, :m, :m, now(), 1)""",
            """insert into bms.control_total values (1, 1, :m, 1, 1, 1, 1, 1)""",
        ):
            connection.execute(text(statement), {"m": MARKUP})


@pytest.mark.usefixtures("poisoned")
def test_text_is_never_html(visit: Visit) -> None:
    client = visit("user")
    run = f"/flows/employee_onboarding/runs/{quote(MARKUP, safe='')}"
    for page in ("/", "/flows/invoice_extraction", "/flows/service_contract", "/drops/1", run):
        answer = client.get(f"/bms{page}")
        assert answer.status_code == 200, page
        assert "&lt;img" in answer.text, page
        assert "<img" not in answer.text, page


def test_only_listed_report_files_are_served(visit: Visit, report: int) -> None:
    client = visit("user")
    for name in (
        "../../../secret.csv",
        "..%2f..%2f..%2fsecret.csv",
        "..%2Fdrops%2F1",
        "%2e%2e/%2e%2e/%2e%2e/secret.csv",
        "%2e%2e",
        "%00",
        "rejected.csv%00.txt",
        "other.csv",
    ):
        answer = client.get(f"/bms/drops/{report}/files/{name}")
        assert "Content-Disposition" not in answer.headers, name
        assert answer.status_code == 404, name


def test_a_report_file_that_is_deleted_after_it_was_listed_is_missing(
    visit: Visit, report: int, data_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = files.listed

    def then_deleted(*arguments: Any) -> Any:
        found = usual(*arguments)
        (data_root / "reports/employees/000001/rejected.csv").unlink()
        return found

    monkeypatch.setattr(files, "listed", then_deleted)
    answer = visit("user").get(f"/bms/drops/{report}/files/rejected.csv")
    assert answer.status_code == 404
    assert "The report has no file of this name. It may be past its retention." in answer.text


@pytest.fixture
def plan(report: int, warehouse: Engine, data_root: Path) -> str:
    """The page of a plan that waits for approval."""
    header = "_line;_action;Nom;Entité;_reason_fr;_reason_en;_candidates\n"
    rows = "2;create;Dupré;1;;;\n3;create;<b>;2;;;\n4;rejected;Côté;;Entité vide;Entity empty;\n"
    content = (header + rows).encode("utf-8-sig")
    file = data_root / "reports" / "employees" / "000001" / "plan-abababababab.csv"
    file.write_bytes(content)
    execute(warehouse, "update bms.dropped_file set state = 'open'")
    counts = dict.fromkeys(map(str, Action), 0) | {"create": 2, "rejected": 1}
    asked = {"id": "ab" * 32, "counts": counts, "asked_at": datetime.now(UTC)}
    because = [{"code": "rows_of_day", "found": "2", "limit": "1"}]
    digest = hashlib.sha256(content).hexdigest()
    add_plan(warehouse, **asked, asked_because=because, file_digest=digest)
    return f"/bms/drops/{report}/plans/abababababab"


@pytest.mark.parametrize("altered", [b"2;create;Martin\n", b"\xff\n;\n", b"_line;_action\n2\n"])
def test_the_rows_of_an_altered_plan_are_not_shown(
    visit: Visit, plan: str, data_root: Path, altered: bytes
) -> None:
    file = data_root / "reports" / "employees" / "000001" / "plan-abababababab.csv"
    file.write_bytes(altered)
    answer = visit("recruiter").get(plan)
    assert answer.status_code == 200
    assert "Le fichier du plan a été modifié" in answer.text
    assert "Martin" not in answer.text


def test_the_page_of_a_plan_has_the_question_and_each_row(
    visit: Visit, plan: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="bms_provider.board")
    page = visit("recruiter").get(plan).text
    assert "<h1>Dépôt 1\xa0: créer 2 salariés\xa0?</h1>" in page
    assert "<p>2 salariés seront créés, 1 ligne est rejetée.</p>" in page
    assert ">&lt;b&gt;</td>" in page
    # The reason precedes the columns of the file, which may be wider than the window.
    assert re.search(r"<th[^>]*>4</th><td[^>]*>[^<]*Entité vide", page)
    assert '<a href="/airflow/dags/employee_onboarding/runs/manual__1/required_actions"' in page
    assert "User recruiter reads plan abababababab of drop-1" in caplog.messages
    assert "Dupré" not in caplog.text


def test_a_plan_without_a_file_says_so(visit: Visit, plan: str, data_root: Path) -> None:
    (data_root / "reports" / "employees" / "000001" / "plan-abababababab.csv").unlink()
    answer = visit("recruiter").get(plan)
    assert answer.status_code == 200
    assert "a dépassé sa durée de conservation" in answer.text
    assert visit("recruiter").get(plan.replace("abab", "cdcd", 1)).status_code == 404


def test_a_link_below_the_data_root_is_not_followed(
    visit: Visit, report: int, warehouse: Engine, data_root: Path
) -> None:
    reports = data_root / "reports" / "employees"
    (reports / "000001" / "created.csv").symlink_to(data_root / "secret.csv")
    (reports / "linked").symlink_to(data_root, target_is_directory=True)
    client, page = visit("user"), f"/bms/drops/{report}"
    assert "created.csv" not in client.get(page).text
    assert client.get(f"{page}/files/created.csv").status_code == 404
    execute(warehouse, """update bms.dropped_file set report = 'reports/employees/linked'""")
    assert "secret.csv" not in client.get(page).text
    assert client.get(f"{page}/files/secret.csv").status_code == 404


def test_a_folder_outside_the_reports_is_not_served(
    visit: Visit, report: int, warehouse: Engine
) -> None:
    execute(warehouse, """update bms.dropped_file set report = 'reports/../'""")
    assert visit("user").get(f"/bms/drops/{report}/files/secret.csv").status_code == 404


def test_the_page_of_a_withdrawn_drop_shows_the_reason(
    visit: Visit, report: int, warehouse: Engine
) -> None:
    execute(warehouse, """update bms.dropped_file set state = 'withdrawn', reason = 'changed'""")
    page = visit("viewer").get(f"/bms/drops/{report}").text
    assert (
        "Le fichier a été modifié avant sa lecture\xa0; la nouvelle version est un autre dépôt."
        in page
    )
    assert "Voir le dépôt suivant du même fichier." in page
    execute(warehouse, "update bms.dropped_file set reason = 'of_another_version'")
    assert "of_another_version" in visit("viewer").get(f"/bms/drops/{report}").text


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "FR",
            [
                '<h1>Dépôt 1 <span class="badge warn"',
                "Des lignes restent à traiter",
                "<dt>Rejetées</dt><dd>1</dd>",
                ": rejeté</h2>",
                "2 salariés seront créés, 1 ligne est rejetée.",
                "2 créations sans approbation en un jour, la limite est 1",
                "corrigez-les dans Excel, dans le fichier «\xa0à corriger.xlsx\xa0»",
                ">à décider</td>",
                "Même nom et même date d&#39;entrée, sous un autre matricule.",
            ],
        ),
        (
            "EN",
            [
                '<h1>Drop 1 <span class="badge warn"',
                "Rows are unfinished",
                "<dt>Rejected</dt><dd>1</dd>",
                ": refused</h2>",
                "2 employees will be created, 1 row is rejected.",
                "2 creations without approval in one day, the limit is 1",
                "correct them in Excel, in the file “to correct.xlsx”",
                ">review</td>",
                "A record with another key has the same name and start date.",
            ],
        ),
    ],
)
def test_the_page_of_a_drop_is_in_the_language_of_its_inbox(
    visit: Visit,
    plan: str,
    warehouse: Engine,
    data_root: Path,
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    texts: list[str],
) -> None:
    (data_root / "reports/employees/000001/rejected.xlsx").touch()
    monkeypatch.setenv("BMS_INBOX_LANGUAGES", f'{{"employees": "{language}"}}')
    with warehouse.begin() as connection:
        for statement in (
            "update bms.dropped_file set state = 'not_applied'",
            """update bms.step_run set details = details || '{"rejected": 1}'""",
            "update bms.creation_plan set state = 'refused', decided_by = 'marc', decided_at = now()",
        ):
            connection.execute(text(statement))
        add_row(connection, "k", state="review", reason="same_person_other_key")
    page = visit("recruiter").get(plan.partition("/plans/")[0]).text
    assert [each for each in texts if each not in page] == []
    assert f'<html lang="{language.lower()}">' in page
    listed = visit("recruiter").get("/bms/flows/employee_onboarding").text
    unread = {"FR": "Aucune ligne n&#39;est lue", "EN": "No row was read"}[language]
    assert unread not in page
    execute(warehouse, """update bms.step_run set details = '{"drop": 1}'""")
    assert unread in visit("recruiter").get(plan.partition("/plans/")[0]).text
    assert f">{'Dépôt' if language == 'FR' else 'Drop'} 1</a>" in listed
    assert (">À décider</th>" in listed) is (language == "FR")
    assert f'<html lang="{language.lower()}">' in listed
    other = ("BMS board", "New employees", "Trends", "Values", "As of", "Last:", "Drop ")
    assert [each for each in other if each in page + listed] == (
        [] if language == "FR" else [*other]
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("rejected.csv", "text/csv"),
        ("receipt.json", "application/json"),
        ("rejected.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("page.html", "application/octet-stream"),
        # A file name cannot change the header.
        ('x"; filename=evil.html', "application/octet-stream"),
        ("a\u202eb.html", "application/octet-stream"),
    ],
)
def test_a_report_file_is_a_download(
    visit: Visit, report: int, data_root: Path, name: str, kind: str
) -> None:
    (data_root / "reports" / "employees" / "000001" / name).write_text("content")
    answer = visit("user").get(f"/bms/drops/{report}/files/{quote(name)}")
    assert answer.text == "content"
    disposition, _, known = answer.headers["Content-Disposition"].partition("; filename*=UTF-8''")
    assert re.fullmatch(r'attachment; filename="drop-1-[\w.-]+"', disposition)
    if re.fullmatch(r"\w+\.\w+", name):
        assert disposition == f'attachment; filename="drop-1-{name}"'
    assert known == (quote(name.replace("rejected", "à corriger")) if "rejected" in name else "")
    assert answer.headers["Content-Type"] == kind
    assert answer.headers["Content-Security-Policy"].startswith("sandbox")


def test_a_download_is_logged_without_the_name_of_the_dropped_file(
    visit: Visit, report: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="bms_provider.board")
    assert visit("recruiter").get(f"/bms/drops/{report}/files/rejected.csv").status_code == 200
    assert "User recruiter downloads rejected.csv of drop-1" in caplog.messages
    assert "Canari" not in caplog.text


def test_signing_in_leads_back_to_the_page(visit: Visit, report: int) -> None:
    answer = visit().get(f"/bms/drops/{report}")
    assert answer.status_code == 401
    back = quote(f"http://testserver/airflow/bms/drops/{report}", safe="")
    assert f'href="/airflow/api/v2/auth/login?next={back}"' in answer.text


def test_every_response_has_security_headers(visit: Visit) -> None:
    for name, page in product((None, "nobody", "viewer"), ("/", "/static/board.css", "/nothing")):
        headers = visit(name).get(f"/bms{page}").headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "private" in headers["Cache-Control"]


@pytest.mark.usefixtures("report")
def test_the_link_of_a_message_leads_to_its_code(visit: Visit) -> None:
    page = visit("viewer").get("/bms/runbook").text
    address = Links.of(FlowSettings()).section
    assert address("late") == "http://localhost:8080/bms/runbook#late"
    listed = re.findall(r'<dt id="([^"]+)"', page)
    assert len(listed) == len({*listed})
    codes = {*texts.SECTIONS, *texts.WAITING, *texts.WITHDRAWN}
    assert {code.lower() for code in codes} == {*listed}


def test_links_are_below_airflow_s_path(visit: Visit) -> None:
    """Airflow may be served below a path."""
    for page in ("/", "/drops/1", "/flows/invoice_extraction/runs/manual__1"):
        found = re.findall(r'(?:href|src)="([^"#]+)', visit("viewer").get(f"/bms{page}").text)
        assert found
        assert [each for each in found if not each.startswith("/airflow/")] == []


def test_no_page_has_inline_styles_or_scripts(visit: Visit) -> None:
    """The Content-Security-Policy would block them."""
    page = visit("viewer").get("/bms/").text
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?! src=)", page)


@pytest.mark.parametrize("host", ["/nowhere", "127.0.0.1"])
def test_an_unreachable_or_unresponsive_warehouse_is_reported(
    visit: Visit, connect: Connect, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """A firewall that drops packets neither accepts nor rejects a connection."""
    monkeypatch.setattr(board_warehouse, "CONNECT_TIMEOUT_S", 2)  # libpq's minimum
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = {"host": host, "port": silent.getsockname()[1]}
        connect("bms_warehouse", conn_type="postgres", login="x", schema="b", **address)
        answer = visit("viewer").get("/bms/")
    assert answer.status_code == 503
    assert "does not answer" in answer.text


def test_a_missing_warehouse_connection_is_reported(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = visit("viewer")
    monkeypatch.delenv("AIRFLOW_CONN_BMS_WAREHOUSE")
    answer = client.get("/bms/")
    assert answer.status_code == 503
    assert "Create the connection bms_warehouse, type postgres." in answer.text


@pytest.mark.parametrize(("user", "status"), [(None, 401), ("nobody", 403), ("viewer", 503)])
def test_an_invalid_setting_is_named_to_users_of_the_board_only(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, user: str | None, status: int
) -> None:
    monkeypatch.setenv("BMS_DROP_STABLE_MINUTES", "0")
    settings.cache_clear()
    answer = visit(user).get("/bms/")
    assert answer.status_code == status
    assert ("BMS_DROP_STABLE_MINUTES is" in answer.text) is (status == 503)
    assert "<h1>" in answer.text


def test_a_request_without_a_free_session_is_rejected_with_503(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_warehouse, "CONNECT_TIMEOUT_S", 1)
    client = visit("viewer")
    with ExitStack() as pages:
        for _ in range(6):
            pages.enter_context(reading())
        answer = client.get("/bms/")
    assert answer.status_code == 503
    assert "Reload the page in a moment." in answer.text
    assert client.get("/bms/").status_code == 200


def test_the_board_cannot_write_to_the_warehouse(visit: Visit) -> None:
    assert visit("viewer").get("/bms/").status_code == 200
    with reading() as connection, pytest.raises(WarehouseError, match="ReadOnlySqlTransaction"):
        connection.execute(text("delete from bms.step_run"))


def test_the_health_page_equals_the_health_command(visit: Visit, warehouse: Engine) -> None:
    from bms_flows.monitoring import health
    from bms_flows.runtime.settings import FlowSettings

    health_page = visit("viewer").get("/bms/health").json()
    with warehouse.connect() as connection:
        expected = health.report(connection, FlowSettings.from_environment())
    assert {**health_page, "at": ""} == {**expected, "at": ""}


@pytest.mark.usefixtures("report")
def test_an_invalid_number_is_not_found(visit: Visit) -> None:
    """The error page does not quote the request."""
    client = visit("user")
    run = "flows/invoice_extraction/runs/manual__1?step="
    for path, number in product(
        ("steps/", "drops/", run), ("0", "-1", "99999999999999999999", "asked-this")
    ):
        answer = client.get(f"/bms/{path}{number}")
        assert answer.status_code == 404, (path, number)
        assert "Page not found." in answer.text
        assert "asked-this" not in answer.text
    assert visit().get("/bms/steps/asked-this").status_code == 401


HOSTILE = (
    "x' or '1'='1",
    "'; drop table bms.step_run; --",
    "%00",
    "a%00b",
    "%ff%fe",
    "../../../etc/passwd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%5c..%5cwin.ini",
    "a%0d%0aSet-Cookie:%20x=1",
    "%F0%9F%92%A9",
    "x" * 8_000,
    "{{7*7}}",
    "%25s",
)
"""Hostile segments of an address."""


@pytest.mark.usefixtures("report")
def test_a_hostile_address_is_not_found(visit: Visit, warehouse: Engine) -> None:
    client = visit("user")
    for path, part in product(
        (
            "/flows/{}",
            "/flows/invoice_extraction/runs/{}",
            "/steps/{}",
            "/steps/2/files/{}",
            "/drops/{}",
            "/drops/1/files/{}",
            "/static/{}",
            "/{}",
        ),
        HOSTILE,
    ):
        answer = client.get(f"/bms{path.format(part)}")
        assert answer.status_code == 404, (path, part[:40])
        assert "Set-Cookie" not in answer.headers
        assert "root:" not in answer.text
    assert scalar(warehouse, "select count(*) from bms.step_run")


@pytest.mark.parametrize("who", [None, "nobody", "viewer", "user"])
def test_writing_methods_and_cross_site_requests_are_rejected(
    visit: Visit, report: int, who: str | None
) -> None:
    client = visit(who)
    elsewhere = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    paths = ("/", "/health", f"/drops/{report}", f"/drops/{report}/files/rejected.csv")
    for path, method in product(paths, ("POST", "PUT", "PATCH", "DELETE", "OPTIONS")):
        answer = client.request(method, f"/bms{path}", headers=elsewhere)
        assert answer.status_code in {401, 403, 405}, path
        read = client.get(f"/bms{path}", headers=elsewhere)
        for each in (answer, read):
            assert not [name for name in each.headers if name.startswith("access-control-")]
