"""Messages through Airflow's connections of types http and smtp."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.notice import Links, NotDelivered, Notice, broadcast
from bms_flows.runtime.settings import FlowSettings
from bms_provider import flow_context, notices
from tests.certificates import server_context
from tests.listeners import webhook
from tests.mail_server import Encryption, MailServer, body_of, mail_server

NOTICE = Notice("Alarm: contact_sync (late)", ("Nothing since noon.", "Try first: look <here>."))
TO = FlowSettings(notice_to="ops@example.com, hr@example.com")


def test_a_channel_requires_a_connection_and_mail_a_recipient(
    connect: Callable[..., None],
) -> None:
    assert notices.configured(TO) == {}
    connect("bms_mail", conn_type="smtp", host="127.0.0.1")
    assert notices.configured(FlowSettings()) == {}
    assert set(notices.configured(TO)) == {"bms_mail"}


def test_every_channel_that_has_a_connection_gets_the_notice(connect: Callable[..., None]) -> None:
    with webhook() as chat, mail_server() as server:
        connect("bms_webhook", conn_type="http", host=chat.url)
        extra = {"disable_ssl": True, "disable_tls": True, "from_email": "airflow@example.com"}
        connect("bms_mail", conn_type="smtp", host="127.0.0.1", port=server.port, extra=extra)
        broadcast(notices.configured(TO))(NOTICE)
    assert chat.texts == [NOTICE.text]
    (mail,) = server.taken
    assert (mail["Subject"], mail["From"]) == (NOTICE.title, "airflow@example.com")
    assert mail["To"] == "ops@example.com, hr@example.com"
    assert body_of(mail).splitlines() == [
        "<p>Nothing since noon.</p>",
        "<p>Try first: look &lt;here&gt;.</p>",
    ]


def test_addresses_in_a_mail_are_links(connect: Callable[..., None]) -> None:
    with mail_server() as server:
        extra = {"disable_ssl": True, "disable_tls": True, "from_email": "airflow@example.com"}
        connect("bms_mail", conn_type="smtp", host="127.0.0.1", port=server.port, extra=extra)
        page = "https://airflow.example.com/bms/drops/1?a=1&b=<i>"
        notices.send(Notice("Plan", (f"Plan: {page}",)), TO, "hr@example.com")
    (mail,) = server.taken
    shown = "https://airflow.example.com/bms/drops/1?a=1&amp;b=&lt;i&gt;"
    assert body_of(mail).strip() == f'<p>Plan: <a href="{shown}">{shown}</a></p>'


def test_requests_go_to_the_approvers_of_the_inbox_or_to_those_of_alarms(
    connect: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert notices.to_approvers(OnboardingSettings(), "employees") is None
    monkeypatch.setenv("BMS_APPROVAL_NOTICES", '{"employees": "rh_chat"}')
    with webhook() as alarms_chat, webhook() as hr_chat:
        connect("bms_webhook", conn_type="http", host=alarms_chat.url)
        connect("rh_chat", conn_type="http", host=hr_chat.url)
        for inbox in ("employees", "contacts"):
            send = notices.to_approvers(OnboardingSettings.from_environment(), inbox)
            assert send is not None
            send(Notice(inbox, ()))
    assert (hr_chat.texts, alarms_chat.texts) == (["employees\n"], ["contacts\n"])


def test_a_link_to_a_run_leads_to_this_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com/")
    page = Links.of(flow_context.flow_settings()).run("contact_sync", "manual__1")
    assert page == "https://airflow.example.com/dags/contact_sync/runs/manual__1"


def send(caplog: pytest.LogCaptureFixture) -> str:
    """Send the message and return the error; check that the log does not contain the password."""
    try:
        broadcast(notices.configured(TO))(NOTICE)
    except NotDelivered as error:
        return str(error)
    finally:
        assert "pass-word-1" not in caplog.text
    return ""


STARTTLS = {"disable_ssl": True}
TLS = {"disable_tls": True}
PLAIN_TEXT = {"disable_ssl": True, "disable_tls": True}


@pytest.fixture
def mail_connection(connect: Callable[..., None]) -> Callable[..., None]:
    def preset(server: MailServer, **extra: Any) -> None:
        connect(
            "bms_mail",
            conn_type="smtp",
            host="127.0.0.1",
            port=server.port,
            login="user",
            password="pass-word-1",
            extra={"from_email": "airflow@example.com", "retry_limit": 0, **extra},
        )

    return preset


@pytest.mark.parametrize(("extra", "encryption"), [(STARTTLS, "starttls"), (TLS, "tls")])
def test_mail_and_password_go_through_tls_with_a_trusted_certificate(
    extra: dict[str, Any],
    encryption: Encryption,
    certificate: Path,
    mail_connection: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with mail_server(encryption, server_context(certificate)) as server:
        mail_connection(server, **extra)
        assert send(caplog) == ""
    assert server.logins == [("user", "pass-word-1")]
    commands = [line.split()[0].upper() for line in server.plain_text]
    assert commands in ([], [b"EHLO", b"STARTTLS"])


@pytest.mark.parametrize(("extra", "encryption"), [(STARTTLS, "starttls"), (TLS, "tls")])
def test_a_mail_server_with_an_unknown_certificate_gets_neither_password_nor_mail(
    extra: dict[str, Any],
    encryption: Encryption,
    certificate: Path,
    mail_connection: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with mail_server(encryption, server_context(certificate)) as server:
        mail_connection(server, **extra)
        assert send(caplog) == "bms_mail: SSLCertVerificationError"
    assert (server.logins, server.taken) == ([], [])


@pytest.mark.parametrize(
    "extra",
    [
        {"disable_ssl": "false", "disable_tls": "false"},
        {"disable_ssl": True, "disable_tls": "no"},
        {"disable_ssl": 1, "disable_tls": True},
    ],
)
def test_only_true_allows_mail_without_tls(
    extra: dict[str, Any], mail_connection: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """A connection's URI has texts only, also the text "false"."""
    with mail_server() as server:
        mail_connection(server, **extra)
        assert "disable_ssl and disable_tls" in send(caplog)
    assert (server.logins, server.taken, server.plain_text) == ([], [], [])


def test_a_connection_may_allow_mail_without_tls_and_the_log_warns(
    mail_connection: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    with mail_server() as server:
        mail_connection(server, **PLAIN_TEXT)
        assert send(caplog) == ""
    assert len(server.taken) == 1
    assert "bms_mail sends the password and messages in plain text" in caplog.text


def test_a_connection_may_skip_the_certificate_and_the_log_warns(
    certificate: Path, mail_connection: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    with mail_server("starttls", server_context(certificate)) as server:
        mail_connection(server, **STARTTLS, ssl_context="none")
        assert send(caplog) == ""
    assert "bms_mail does not check the mail server's certificate" in caplog.text


@pytest.mark.parametrize(
    ("status", "extra"),
    [
        *((status, {}) for status in (301, 302, 303, 307, 308)),
        (302, {"allow_redirects": True}),
        (302, {"check_response": False}),
    ],
)
def test_a_redirect_of_a_webhook_is_not_a_delivery(
    status: int,
    extra: dict[str, Any],
    connect: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with webhook() as elsewhere, webhook(status, f"{elsewhere.url}-secret") as found:
        connect("bms_webhook", conn_type="http", host=found.url, extra=extra)
        refused = send(caplog)
    assert refused == f"bms_webhook: responded with {status}, a redirect, which is not followed"
    assert (elsewhere.taken, elsewhere.visits) == ([], 0)
    assert "secret" not in caplog.text


def test_the_address_of_a_webhook_that_does_not_answer_is_not_logged(
    connect: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = "http://127.0.0.1:9/services/T0SECRET?key=K0SECRET"
    connect("bms_webhook", conn_type="http", host=address)
    assert send(caplog) == "bms_webhook: URLError"
    assert "SECRET" not in caplog.text + "".join(capsys.readouterr())


def test_a_webhook_gets_the_login_and_the_headers_of_its_connection(
    connect: Callable[..., None],
) -> None:
    with webhook() as found:
        host, port = found.url.removeprefix("http://").split("/")[0].split(":")
        extra = {"X-Token": "t", "timeout": 3}
        connect(
            "bms_webhook",
            conn_type="http",
            host=host,
            port=int(port),
            login="u",
            password="p",
            extra=extra,
        )
        broadcast(notices.configured(TO))(NOTICE)
    (headers,) = found.headers
    assert (headers["Authorization"], headers["X-Token"]) == ("Basic dTpw", "t")
    assert "timeout" not in headers
