"""Notices through Airflow's own notifiers, by the connections that are there."""

from collections.abc import Callable

import pytest

from bms_flows.notice import Notice, to_each
from bms_flows.settings import Settings
from bms_provider import notices
from tests.listeners import mail_server, webhook

NOTICE = Notice("Alarm: contact_sync (late)", ("Nothing since noon.", "Try first: look <here>."))
TO = Settings(notice_to="ops@example.com, hr@example.com")


def test_without_a_connection_there_is_no_channel() -> None:
    assert notices.channels(TO) == {}


def test_mail_needs_somebody_to_go_to(connect: Callable[..., None]) -> None:
    connect("bms_mail", conn_type="smtp", host="127.0.0.1")
    assert notices.channels(Settings()) == {}
    assert set(notices.channels(TO)) == {"bms_mail"}


def test_every_channel_that_has_a_connection_gets_the_notice(connect: Callable[..., None]) -> None:
    with webhook() as chat, mail_server() as server:
        connect("bms_webhook", conn_type="http", host=chat.url)
        extra = {"disable_ssl": True, "disable_tls": True, "from_email": "airflow@example.com"}
        connect("bms_mail", conn_type="smtp", host="127.0.0.1", port=server.port, extra=extra)
        to_each(notices.channels(TO))(NOTICE)
    assert chat.texts == [NOTICE.text]
    (mail,) = server.taken
    assert (mail["Subject"], mail["From"]) == (NOTICE.title, "airflow@example.com")
    assert mail["To"] == "ops@example.com, hr@example.com"
    body = mail.get_body(("html",))
    assert body is not None
    assert (
        body.get_content().strip()
        == "<pre>Nothing since noon.\nTry first: look &lt;here&gt;.</pre>"
    )


def test_a_run_s_address_is_this_airflow_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com/")
    page = notices.links(Settings()).run("contact_sync", "manual__1")
    assert page == "https://airflow.example.com/dags/contact_sync/runs/manual__1"
