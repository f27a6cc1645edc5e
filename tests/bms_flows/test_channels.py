"""A webhook and a mail server, for real; and settings that name half of one."""

import asyncio
import email.policy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.parser import BytesParser

import pytest

from bms_flows.channels import channels
from bms_flows.notice import Notice, NotTaken, to_each
from bms_flows.settings import BadSetting, Settings
from tests.e2e.listeners import webhook

NOTICE = Notice(
    "Alarm: contact_sync (late)", ("Nothing since noon.", "Try first: look — née à midi")
)


class MailServer:
    """A mail server that takes everything, without TLS and without a login."""

    def __init__(self) -> None:
        self.taken: list[EmailMessage] = []
        self.port = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ready\r\n")
        while line := await reader.readline():
            verb = line.split()[0].upper()
            if verb == b"DATA":
                writer.write(b"354 go on\r\n")
                content = await reader.readuntil(b"\r\n.\r\n")
                parser = BytesParser(EmailMessage, policy=email.policy.default)
                self.taken.append(parser.parsebytes(content.removesuffix(b".\r\n")))
            writer.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
            if verb == b"QUIT":
                break
        writer.close()
        await writer.wait_closed()


@contextmanager
def mail_server() -> Iterator[MailServer]:
    server, loop, ready = MailServer(), asyncio.new_event_loop(), threading.Event()

    async def serve() -> None:
        listening = await asyncio.start_server(server.talk, "127.0.0.1", 0)
        server.port = listening.sockets[0].getsockname()[1]
        ready.set()
        await stopped.wait()
        listening.close()
        await listening.wait_closed()

    stopped = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join()
        loop.close()


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
