"""Connections through a pooler are refused, since sessions behind a pooler are shared."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from sqlalchemy import make_url

from bms_warehouse import database
from bms_warehouse.errors import PoolerFound
from tests.support.sql import scalar

Startup = Callable[[dict[str, str]], dict[str, str] | bytes]


def drop_options(given: dict[str, str]) -> dict[str, str]:
    """PgBouncer with `ignore_startup_parameters = options`."""
    return {name: value for name, value in given.items() if name != "options"}


RDS = "Feature not supported: RDS Proxy currently doesn\u2019t support command-line options."
SERVERS: dict[str, Startup] = {
    "PgBouncer": lambda _: b"C08P01\0Munsupported startup parameter: options",
    "PgBouncer that ignores options": drop_options,
    "PostgreSQL 13": lambda _: (
        b'C42704\0Munrecognized configuration parameter "idle_session_timeout"'
    ),
    "RDS Proxy": lambda _: f"C0A000\0M{RDS}".encode(),
}


def pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(65_536):
            sink.sendall(content)
        sink.shutdown(socket.SHUT_WR)


def serve(client: socket.socket, server_socket: str, startup: Startup) -> None:
    """Open a session with the parameters that `startup` returns, or refuse the client."""
    (length,) = struct.unpack("!I", client.recv(4, socket.MSG_WAITALL))
    message = client.recv(length - 4, socket.MSG_WAITALL)
    version, texts = message[:4], message[4:].decode().strip("\0").split("\0")
    sent = startup(dict(zip(texts[::2], texts[1::2], strict=True)))
    if isinstance(sent, bytes):
        fields = b"SFATAL\0" + sent + b"\0\0"
        client.sendall(b"E" + struct.pack("!I", len(fields) + 4) + fields)
        client.close()
        return
    parameters = b"".join(f"{name}\0{value}\0".encode() for name, value in sent.items()) + b"\0"
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(server_socket)
        server.sendall(struct.pack("!I", len(parameters) + 8) + version + parameters)
        answers = threading.Thread(target=pump, args=(server, client))
        answers.start()
        pump(client, server)
        answers.join()
    client.close()


@contextmanager
def proxy(uri: str, startup: Startup) -> Iterator[str]:
    """Serve the PostgreSQL of `uri` through a proxy; yield the URI of the proxy."""
    url = make_url(uri)
    address = f"{url.query['host']}/.s.PGSQL.{url.query.get('port', 5432)}"
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=serve, args=(client, address, startup)).start()

        threading.Thread(target=accept, daemon=True).start()
        options = {"sslmode": "disable", "gssencmode": "disable"}
        port = listener.getsockname()[1]
        through = url.set(host="127.0.0.1", port=port, query=options)
        yield through.render_as_string(hide_password=False)
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("server", ["PgBouncer", "PgBouncer that ignores options", "RDS Proxy"])
def test_a_pooler_is_refused_with_reason_and_remedy(warehouse_uri: str, server: str) -> None:
    with proxy(warehouse_uri, SERVERS[server]) as uri:
        engine = database.connect(uri)
        with pytest.raises(PoolerFound, match="advisory locks, temporary tables") as refused:
            engine.connect()
        engine.dispose()
    assert not refused.value.retriable
    assert "Connect to PostgreSQL itself" in str(refused.value)


def test_a_proxy_that_opens_a_session_for_each_client_is_accepted(warehouse_uri: str) -> None:
    """A load balancer or an SSH tunnel."""
    with proxy(warehouse_uri, lambda given: given) as uri:
        engine = database.connect(uri)
        assert scalar(engine, "show timezone") == "UTC"
        engine.dispose()


def test_options_of_the_address_are_kept(warehouse_uri: str) -> None:
    url = make_url(warehouse_uri).update_query_dict({"options": "-c statement_timeout=7s"})
    engine = database.connect(url.render_as_string(hide_password=False))
    assert scalar(engine, "show statement_timeout") == "7s"
    assert scalar(engine, "show timezone") == "UTC"
    engine.dispose()
