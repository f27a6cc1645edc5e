"""Webhook and mail channels against real servers, and incomplete settings."""

from pathlib import Path

import pytest

from bms_flows.monitoring.channels import channels
from bms_flows.runtime.notice import NotDelivered, Notice, broadcast
from bms_flows.runtime.settings import FlowSettings, InvalidSetting
from tests.certificates import self_signed, server_context
from tests.listeners import webhook
from tests.mail_server import Encryption, MailServer, mail_server

NOTICE = Notice(
    "Alarm: contact_sync (late)", ("Nothing since noon.", "Try first: look — née à midi")
)


def test_a_mail_server_receives_title_and_lines(caplog: pytest.LogCaptureFixture) -> None:
    with mail_server() as server:
        settings = FlowSettings(
            notice_smtp=f"smtp://127.0.0.1:{server.port}?tls=off",
            notice_from="airflow@example.com",
            notice_to="ops@example.com, refused@example.com",
        )
        broadcast(channels(settings))(NOTICE)
    (mail,) = server.taken
    assert mail["Subject"] == NOTICE.title
    assert mail["To"] == "ops@example.com, refused@example.com"
    assert caplog.messages == ["The mail server refused 1 of the recipients: check their addresses"]
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content().splitlines() == list(NOTICE.lines)


def mail_settings(server: MailServer, scheme: str = "smtp", query: str = "") -> FlowSettings:
    return FlowSettings(
        notice_smtp=f"{scheme}://user:pass%2Fword@127.0.0.1:{server.port}{query}",
        notice_from="airflow@example.com",
        notice_to="ops@example.com",
    )


@pytest.mark.parametrize(("scheme", "encryption"), [("smtp", "starttls"), ("smtps", "tls")])
def test_mail_and_password_go_through_tls_with_a_trusted_certificate(
    scheme: str, encryption: Encryption, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with mail_server(encryption, server_context(certificate)) as server:
        broadcast(channels(mail_settings(server, scheme)))(NOTICE)
    assert server.logins == [("user", "pass/word")]
    assert [mail["Subject"] for mail in server.taken] == [NOTICE.title]
    commands = [line.split()[0].upper() for line in server.plain_text]
    assert commands in ([], [b"EHLO", b"STARTTLS"])


@pytest.mark.parametrize(("scheme", "encryption"), [("smtp", "starttls"), ("smtps", "tls")])
@pytest.mark.parametrize("fault", ["unknown issuer", "other host"])
def test_a_mail_server_with_a_wrong_certificate_gets_neither_password_nor_mail(
    scheme: str, encryption: Encryption, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = self_signed(
        tmp_path / "mail.pem", "127.0.0.2" if fault == "other host" else "127.0.0.1"
    )
    if fault == "other host":
        monkeypatch.setenv("SSL_CERT_FILE", str(shown))
    with (
        mail_server(encryption, server_context(shown)) as server,
        pytest.raises(NotDelivered, match="mail: SSLCertVerificationError"),
    ):
        broadcast(channels(mail_settings(server, scheme)))(NOTICE)
    assert (server.logins, server.taken) == ([], [])


def test_a_mail_server_without_tls_gets_neither_password_nor_mail() -> None:
    with mail_server() as server, pytest.raises(NotDelivered, match="offers no STARTTLS"):
        broadcast(channels(mail_settings(server)))(NOTICE)
    assert (server.logins, server.taken) == ([], [])


@pytest.mark.parametrize("query", ["?tls=no", "?tls=off&verify=off", "?starttls=off"])
def test_an_unknown_option_of_the_mail_server_is_refused(query: str) -> None:
    given = FlowSettings(notice_smtp=f"smtp://h{query}", notice_to="a@b", notice_from="a@b")
    with pytest.raises(InvalidSetting, match="tls=off"):
        channels(given)


@pytest.mark.parametrize("status", [304, 400, 404, 500])
def test_an_error_of_the_webhook_is_no_delivery(status: int) -> None:
    with webhook(status) as found, pytest.raises(NotDelivered, match=f"responded with {status}"):
        broadcast(channels(FlowSettings(notice_webhook=found.url)))(NOTICE)


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_any_2xx_of_the_webhook_is_a_delivery(status: int) -> None:
    with webhook(status) as found:
        broadcast(channels(FlowSettings(notice_webhook=found.url)))(NOTICE)
    assert found.texts == [NOTICE.text]


def test_an_unavailable_channel_does_not_affect_the_other(caplog: pytest.LogCaptureFixture) -> None:
    taken: list[Notice] = []

    def down(_: Notice) -> None:
        raise ConnectionError("https://chat.example.com/secret")

    broadcast({"chat": down, "mail": taken.append})(NOTICE)
    assert taken == [NOTICE]
    assert "chat did not deliver" in caplog.text
    assert "secret" not in caplog.text
    with pytest.raises(NotDelivered, match="chat: ConnectionError"):
        broadcast({"chat": down})(NOTICE)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        *(
            ({"notice_webhook": url}, "BMS_NOTICE_WEBHOOK")
            for url in ("chat.example.com/hook-secret", "https://[hook-secret", "https:hook-secret")
        ),
        ({"notice_smtp": "mail.example.com"}, "BMS_NOTICE_SMTP"),
        *(
            ({"notice_smtp": f"smtp://user:{password}@host:587"}, "password percent-encoded")
            for password in ("pa/ss", "12/34", "p[w", "p#w", "p?w")
        ),
        ({"notice_smtp": "smtp://host:99999"}, "BMS_NOTICE_SMTP"),
        ({"notice_smtp": "smtp://u:hook-secret@mail", "notice_to": "a@b"}, "BMS_NOTICE_FROM"),
    ],
)
def test_an_incomplete_channel_is_refused_without_quoting_its_value(
    given: dict[str, str], named: str
) -> None:
    with pytest.raises(InvalidSetting, match=named) as refused:
        channels(FlowSettings(**given))  # type: ignore[arg-type]  # texts, all of them
    assert "hook-secret" not in str(refused.value)
