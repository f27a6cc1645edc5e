"""An SMTP server for tests: without TLS, with STARTTLS, or with TLS from the first byte."""

import asyncio
import base64
import email.policy
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.parser import BytesParser
from typing import Literal

Encryption = Literal["none", "starttls", "tls"]


class MailServer:
    """Takes every message and every login, and records what each client sent in plain text."""

    def __init__(self, encryption: Encryption, context: ssl.SSLContext | None) -> None:
        self.encryption = encryption
        self.context = context
        self.port = 0
        self.taken: list[EmailMessage] = []
        self.logins: list[tuple[str, str]] = []
        self.plain_text: list[bytes] = []
        """Lines received without TLS."""
        self.refused = "refused@"
        """Start of a recipient's address that it refuses."""

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._talk(reader, writer)
        except (ssl.SSLError, ConnectionError, asyncio.IncompleteReadError):
            """The client ended the connection, for example because of the certificate."""
        finally:
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        encrypted = self.encryption == "tls"
        writer.write(b"220 ready\r\n")
        while line := await reader.readline():
            if not encrypted:
                self.plain_text.append(line)
            verb, _, argument = line.decode().strip().partition(" ")
            match verb.upper():
                case "EHLO":
                    offered = [] if encrypted or self.encryption == "none" else ["STARTTLS"]
                    lines = ["here", *offered, "AUTH PLAIN"]
                    answer = "".join(f"250-{each}\r\n" for each in lines[:-1])
                    writer.write(f"{answer}250 {lines[-1]}\r\n".encode())
                case "STARTTLS":
                    assert self.context is not None
                    writer.write(b"220 go on\r\n")
                    await writer.start_tls(self.context)
                    encrypted = True
                case "AUTH":
                    _, user, password = base64.b64decode(argument.split()[1]).decode().split("\0")
                    self.logins.append((user, password))
                    writer.write(b"235 ok\r\n")
                case "DATA":
                    writer.write(b"354 go on\r\n")
                    content = await reader.readuntil(b"\r\n.\r\n")
                    parser = BytesParser(EmailMessage, policy=email.policy.default)
                    self.taken.append(parser.parsebytes(content.removesuffix(b".\r\n")))
                    writer.write(b"250 ok\r\n")
                case "QUIT":
                    writer.write(b"221 bye\r\n")
                    return
                case "RCPT" if self.refused in argument:
                    writer.write(b"550 unknown\r\n")
                case _:
                    writer.write(b"250 ok\r\n")


def body_of(mail: EmailMessage, kind: str = "html") -> str:
    """Return the body of a mail."""
    body = mail.get_body((kind,))
    assert body is not None
    return str(body.get_content())


@contextmanager
def mail_server(
    encryption: Encryption = "none", context: ssl.SSLContext | None = None
) -> Iterator[MailServer]:
    """Run a mail server on a free port of the loopback address."""
    server, loop = MailServer(encryption, context), asyncio.new_event_loop()
    ready, stopped = threading.Event(), asyncio.Event()
    # start_tls may report the client's refusal to the loop as well as to the coroutine.
    loop.set_exception_handler(lambda *_: None)

    async def serve() -> None:
        tls = context if encryption == "tls" else None
        listening = await asyncio.start_server(server.talk, "127.0.0.1", 0, ssl=tls)
        server.port = listening.sockets[0].getsockname()[1]
        ready.set()
        await stopped.wait()
        listening.close()
        await listening.wait_closed()
        clients = asyncio.all_tasks() - {asyncio.current_task()}
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join()
        loop.close()
