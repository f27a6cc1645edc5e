"""A webhook and a mail server, for real; and settings that name half of one."""

import pytest

from bms_flows.channels import channels
from bms_flows.notice import Notice, NotTaken, to_each
from bms_flows.settings import BadSetting, Settings
from tests.listeners import mail_server, webhook

NOTICE = Notice(
    "Alarm: contact_sync (late)", ("Nothing since noon.", "Try first: look — née à midi")
)


def test_a_webhook_takes_the_text() -> None:
    with webhook() as found:
        to_each(channels(Settings(notice_webhook=found.url)))(NOTICE)
    assert found.texts == [NOTICE.text]


def test_a_mail_server_takes_title_and_lines() -> None:
    with mail_server() as server:
        settings = Settings(
            notice_smtp=f"smtp://127.0.0.1:{server.port}",
            notice_from="airflow@example.com",
            notice_to="ops@example.com, hr@example.com",
        )
        to_each(channels(settings))(NOTICE)
    (mail,) = server.taken
    assert mail["Subject"] == NOTICE.title
    assert mail["To"] == "ops@example.com, hr@example.com"
    assert mail.get_content().splitlines() == list(NOTICE.lines)


def test_one_channel_down_leaves_the_other(caplog: pytest.LogCaptureFixture) -> None:
    taken: list[Notice] = []

    def down(_: Notice) -> None:
        raise ConnectionError("https://chat.example.com/secret")

    to_each({"chat": down, "mail": taken.append})(NOTICE)
    assert taken == [NOTICE]
    assert "chat did not take" in caplog.text
    assert "secret" not in caplog.text
    with pytest.raises(NotTaken, match="chat: ConnectionError"):
        to_each({"chat": down})(NOTICE)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"notice_webhook": "chat.example.com/hook-secret"}, "BMS_NOTICE_WEBHOOK"),
        ({"notice_smtp": "mail.example.com"}, "BMS_NOTICE_SMTP"),
        ({"notice_smtp": "smtp://u:hook-secret@mail", "notice_to": "a@b"}, "BMS_NOTICE_FROM"),
    ],
)
def test_a_channel_half_named_is_refused_unquoted(given: dict[str, str], named: str) -> None:
    with pytest.raises(BadSetting, match=named) as refused:
        channels(Settings(**given))  # type: ignore[arg-type]  # texts, all of them
    assert "hook-secret" not in str(refused.value)


def test_addresses_stay_out_of_the_settings_repr() -> None:
    shown = repr(Settings(notice_webhook="https://x/hook-secret", notice_smtp="smtp://u:p-w@h"))
    assert "hook-secret" not in shown
    assert "p-w" not in shown
