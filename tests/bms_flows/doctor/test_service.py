"""The doctor's reading of a service's clock, from servers that write unusual headers."""

import socket
import threading

import pytest

from bms.settings import ClientSettings
from bms_flows.doctor.finding import NotChecked
from bms_flows.doctor.service import clocks


def codes(reply: bytes) -> list[str]:
    """Return the findings from a server that answers one request with these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(reply)

        threading.Thread(target=answer, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        given = {"client_id": "c", "application_id": "a", "secret": "s", "trust_env": False}
        return [each.code for each in clocks(ClientSettings(base_url=url, **given))]  # type: ignore[arg-type]  # texts and a flag


@pytest.mark.parametrize("date", [b"", b"Date: soon\r\n"])
def test_a_clock_that_no_header_shows_is_not_checked(date: bytes) -> None:
    with pytest.raises(NotChecked):
        codes(b"HTTP/1.1 200 OK\r\n%b\r\n" % date)


def test_a_date_of_an_unknown_zone_is_read() -> None:
    assert codes(b"HTTP/1.1 200 OK\r\nDate: Fri, 27 Nov 2020 17:00:00 -0000\r\n\r\n") == [
        "clock_skew"
    ]


def test_a_server_of_another_protocol_has_no_clock() -> None:
    assert codes(b"no HTTP\r\n\r\n") == []
