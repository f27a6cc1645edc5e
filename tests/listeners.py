"""Real listeners for what is sent out: messages over HTTP, metrics over UDP."""

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
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
            found.taken.append((time.time(), body.get("text") or json.dumps(body)))
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


BUCKETS = (0.01, 0.1, 1.0, 10.0, 300.0)


class StatsdBridge:
    """Shows received StatsD metrics to Prometheus, under the names that the StatsD exporter uses."""

    def __init__(self) -> None:
        self.ttl = 60.0
        """Seconds after which metrics that are no longer sent disappear."""
        self._values: dict[tuple[str, str, str], float] = {}
        self._received: dict[str, float] = {}

    def take(self, datagram: str) -> None:
        """Add metrics of the form `name,tag=value:number|kind`."""
        for line in datagram.splitlines():
            tagged, _, sample = line.partition(":")
            value, kind, *_ = sample.split("|")
            name, *tags = tagged.split(",")
            name = re.sub(r"\W", "_", name)
            labels = [f'{key}="{text}"' for key, _, text in (tag.partition("=") for tag in tags)]
            match kind:
                case "c":
                    self._add("counter", name, labels, float(value))
                case "g":
                    change = value[0] in "+-"
                    self._add("gauge", name, labels, float(value), replace=not change)
                case "ms":
                    seconds = float(value) / 1000
                    for bound in BUCKETS:
                        bucket = [*labels, f'le="{bound}"']
                        self._add("histogram", f"{name}_bucket", bucket, float(seconds <= bound))
                    self._add("histogram", f"{name}_bucket", [*labels, 'le="+Inf"'], 1.0)
                    self._add("histogram", f"{name}_sum", labels, seconds)
                    self._add("histogram", f"{name}_count", labels, 1.0)

    def _add(
        self, kind: str, name: str, labels: list[str], value: float, *, replace: bool = False
    ) -> None:
        at = (kind, name, ",".join(labels))
        self._received[name + ",".join(labels)] = time.monotonic()
        self._values[at] = value + (0.0 if replace else self._values.get(at, 0.0))

    def exposition(self) -> str:
        """Return the metrics in Prometheus's text format."""
        lines, typed = [], set[str]()
        since = time.monotonic() - self.ttl
        for (kind, name, labels), value in sorted(self._values.copy().items()):
            if self._received[name + labels] < since:
                continue
            base = re.sub("_(bucket|sum|count)$", "", name) if kind == "histogram" else name
            if base not in typed:
                typed.add(base)
                lines.append(f"# TYPE {base} {kind}")
            lines.append(f"{name}{{{labels}}} {value}")
        return "\n".join(lines) + "\n"


@dataclass
class Statsd:
    """The datagrams received so far."""

    port: int
    lines: list[str] = field(default_factory=list)
    bridge: StatsdBridge = field(default_factory=StatsdBridge)

    @property
    def variables(self) -> dict[str, str]:
        """Airflow's settings that send metrics here."""
        given = {
            "ON": "True",
            "HOST": "127.0.0.1",
            "PORT": f"{self.port}",
            "INFLUXDB_ENABLED": "True",
        }
        return {f"AIRFLOW__METRICS__STATSD_{name}": value for name, value in given.items()}


@contextmanager
def statsd() -> Iterator[Statsd]:
    """Listen as a StatsD server does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        found = Statsd(sock.getsockname()[1])

        def receive() -> None:
            while line := sock.recv(65536):
                found.lines.extend(line.decode().splitlines())
                found.bridge.take(line.decode())

        thread = threading.Thread(target=receive)
        thread.start()
        try:
            yield found
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", ("127.0.0.1", found.port))  # ends the thread
            thread.join()


@contextmanager
def metrics_page(page: Callable[[], str]) -> Iterator[str]:
    """Serve a page of metrics; yields its address, host and port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
