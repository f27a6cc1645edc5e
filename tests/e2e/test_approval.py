"""An approval as its approver gets it: the mail, the request in Airflow, the plan on the board, the answer.

If BMS_PICTURES names a folder, the test saves the documentation's screenshots there.
"""

import html
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest
from playwright.sync_api import Page, expect

from stack.launcher import Running
from tests.e2e.airflow_api import Airflow, inbox_of, until
from tests.mail_server import MailServer, body_of, mail_server

pytestmark = pytest.mark.prove

DAG = "employee_onboarding"
UNPAUSED = (DAG,)
START = f"{datetime.now(UTC).year + 1}-01-04"
DROP = (
    "Matricule;Nom;Prénom;Entité;Date d'entrée\r\n"
    f"720001;Durand;Zoé;1;{START}\r\n"
    f"720002;;Sans nom;1;{START}\r\n"
    f"720003;Leroy;Aurélie;1;{START}\r\n"
    f"720004;Morel;Ève;1;{START}\r\n"
)
MAIL = """<!doctype html><html lang="fr"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<title>{subject}</title></head><body style="font: 15px/1.5 system-ui, sans-serif; margin: 24px; max-width: 76ch; overflow-wrap: anywhere">
<h1 style="font-size: 20px">{subject}</h1><p><small>{sender} → {to}</small></p><hr>{body}</body></html>"""
"""A mail program's view of a message."""


@pytest.fixture
def server(airflow: Airflow) -> Iterator[MailServer]:
    """A mail server of the test, connected to Airflow."""
    extra = '{"disable_ssl": true, "disable_tls": true, "from_email": "airflow@example.com"}'
    with mail_server() as found:
        address = {"conn_type": "smtp", "host": "127.0.0.1", "port": found.port, "extra": extra}
        airflow.call("POST", "/connections", {"connection_id": "bms_mail", **address})
        yield found
        airflow.call("DELETE", "/connections/bms_mail")


def view(mail: EmailMessage) -> str:
    heads = {"subject": mail["Subject"], "sender": mail["From"], "to": mail["To"]}
    return MAIL.format(
        body=body_of(mail), **{name: html.escape(text) for name, text in heads.items()}
    )


def test_the_approver_reads_figures_in_the_mail_and_rows_on_the_page_of_the_plan(
    stack: Running, airflow: Airflow, server: MailServer, page: Page, picture: Callable[[str], None]
) -> None:
    (inbox_of(stack) / "approval.csv").write_bytes(DROP.encode("cp1252"))
    run = airflow.trigger(DAG, path="approval.csv")

    def asked() -> bool:
        found = airflow.call("GET", f"/dags/{DAG}/dagRuns/{run}/hitlDetails")["hitl_details"]
        states = {each["task_instance"]["state"] for each in found}
        return "awaiting_input" in states and bool(server.taken)

    until(asked, lambda: airflow.why(DAG, run))
    (mail,) = server.taken
    page.set_viewport_size({"width": 800, "height": 380})
    page.set_content(view(mail))
    picture("approval-message")

    page.set_viewport_size({"width": 1280, "height": 520})
    request = f"/dags/{DAG}/runs/{run}/tasks/approve/required_actions"
    page.goto(request)
    link = page.get_by_role("link", name="Voir le plan")
    expect(link).to_be_visible()
    question = page.locator("body").inner_text()
    picture("approval-request")

    page.goto(str(link.get_attribute("href")))
    expect(page.get_by_role("heading", level=1)).to_contain_text("créer 3 salariés ?")
    plan = page.locator("main").inner_text()
    picture("approval-plan")

    page.goto(request)
    with page.expect_response(re.compile("hitlDetails$")) as answered:
        page.get_by_role("button", name="Approuver", exact=True).click()
    assert answered.value.ok, answered.value.text()
    airflow.succeed((DAG, run))
    assert airflow.result(DAG, run, "conclude")["created"] == 3
    assert mail["Subject"].endswith("créer 3 salariés\xa0?")
    for text in (body_of(mail), question):
        assert "3 salariés seront créés, 1 ligne est rejetée." in text
        assert not [name for name in ("Durand", "Leroy", "720001") if name in text]
    for text in (
        "À créer\xa0: 3",
        "Durand",
        "Leroy",
        "Morel",
        "Rejetées\xa0: 1",
        "Nom\xa0: Valeur",
    ):
        assert text in plan
