"""Real listeners for what is sent out: messages over HTTP and SMTP, metrics over UDP."""

import asyncio
import email.policy
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Webhook:
    """What was posted so far: the moment and the text of each message."""

    url: str = ""
    taken: list[tuple[float, str]] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.taken]

    @property
    def titles(self) -> list[str]:
        return [text.splitlines()[0] for text in self.texts]


@contextmanager
def webhook() -> Iterator[Webhook]:
    """Listen as a chat's webhook does."""
    found = Webhook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.taken.append((time.time(), body["text"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}/hook"
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Statsd:
    """The datagrams received so far."""

    port: int
    lines: list[str] = field(default_factory=list)


@contextmanager
def statsd() -> Iterator[Statsd]:
    """Listen as a StatsD server does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        found = Statsd(sock.getsockname()[1])

        def receive() -> None:
            while line := sock.recv(65536):
                found.lines.extend(line.decode().splitlines())

        thread = threading.Thread(target=receive)
        thread.start()
        try:
            yield found
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", ("127.0.0.1", found.port))  # ends the thread
            thread.join()


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
