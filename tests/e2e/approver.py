"""An approver at work: the mail, the request in Airflow, the plan on the board, the answer."""

import html
import re
from dataclasses import dataclass
from email.message import EmailMessage

from playwright.sync_api import Page, expect

from tests.e2e.airflow_api import Airflow, until
from tests.e2e.conftest import save_picture
from tests.mail_server import MailServer, body_of

DAG = "employee_onboarding"
MAIL = """<!doctype html><html lang="fr"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<title>{subject}</title></head><body style="font: 15px/1.5 system-ui, sans-serif; margin: 24px; max-width: 76ch; overflow-wrap: anywhere">
<h1 style="font-size: 20px">{subject}</h1><p><small>{sender} → {to}</small></p><hr>{body}</body></html>"""
"""A mail program's view of a message."""


@dataclass(frozen=True)
class Seen:
    """What the approver read before the answer."""

    subject: str
    mail: str
    question: str
    plan: str


def connect_mail(airflow: Airflow, server: MailServer) -> None:
    """Connect Airflow to a mail server of the test."""
    extra = '{"disable_ssl": true, "disable_tls": true, "from_email": "airflow@example.com"}'
    address = {"conn_type": "smtp", "host": "127.0.0.1", "port": server.port}
    airflow.call("POST", "/connections", {"connection_id": "bms_mail", **address, "extra": extra})


def approve(page: Page, airflow: Airflow, run: str, server: MailServer) -> Seen:
    """Wait for the request of a run, read the mail, the request and the plan, then approve."""

    def asked() -> bool:
        found = airflow.call("GET", f"/dags/{DAG}/dagRuns/{run}/hitlDetails")["hitl_details"]
        states = {each["task_instance"]["state"] for each in found}
        return "awaiting_input" in states and bool(server.taken)

    until(asked, lambda: airflow.why(DAG, run))
    (mail,) = server.taken
    page.set_viewport_size({"width": 800, "height": 380})
    page.set_content(_view(mail))
    save_picture(page, "approval-message")

    page.set_viewport_size({"width": 1280, "height": 520})
    request = f"/dags/{DAG}/runs/{run}/tasks/approve/required_actions"
    page.goto(request)
    link = page.get_by_role("link", name="Voir le plan")
    expect(link).to_be_visible()
    question = page.locator("body").inner_text()
    save_picture(page, "approval-request")

    page.goto(str(link.get_attribute("href")))
    expect(page.get_by_role("heading", level=1)).to_contain_text("créer 3 salariés ?")
    plan = page.locator("main").inner_text()
    save_picture(page, "approval-plan")

    page.goto(request)
    with page.expect_response(re.compile("hitlDetails$")) as answered:
        page.get_by_role("button", name="Approuver", exact=True).click()
    assert answered.value.ok, answered.value.text()
    page.set_viewport_size({"width": 1280, "height": 800})
    return Seen(mail["Subject"], body_of(mail), question, plan)


def _view(mail: EmailMessage) -> str:
    heads = {"subject": mail["Subject"], "sender": mail["From"], "to": mail["To"]}
    return MAIL.format(
        body=body_of(mail), **{name: html.escape(text) for name, text in heads.items()}
    )
