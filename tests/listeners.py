"""Real listeners for what is sent out: messages over HTTP, metrics over UDP."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Webhook:
    """What was posted so far: the moment and the text of each message."""

    url: str = ""
    taken: list[tuple[float, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    """Headers of each message."""
    visits: int = 0
    """GET requests received."""
    status: int = 200
    """Status of the next responses."""

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.taken]

    @property
    def titles(self) -> list[str]:
        return [text.splitlines()[0] for text in self.texts]


@contextmanager
def webhook(status: int = 200, location: str = "") -> Iterator[Webhook]:
    """Run a chat's webhook that answers with this status, a redirect with this location."""
    found = Webhook(status=status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.taken.append((time.time(), body["text"]))
            found.headers.append(dict(self.headers))
            self.send_response(found.status)
            if location:
                self.send_header("Location", location)
            self.end_headers()

        def do_GET(self) -> None:
            """Answer as a login page does; a followed redirect arrives here."""
            found.visits += 1
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    # The interval is the longest wait of `shutdown`.
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
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
