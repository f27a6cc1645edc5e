"""Faults over TCP: raw sockets where the connection itself is the point."""

import json
import socket
import struct
import time
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from bms_sandbox.serve import Sandbox
from tests.bms_sandbox.caller import Caller
from tests.support.patience import ever_longer

CONTACT = {"first_name": "Zoé", "last_name": "Noël", "email": "zoe@noel.example"}
LIST = "/v1/CRM/contacts?filter=ALL"


def raw(sandbox: Sandbox, token: str, path: str, body: Any = None, *, whole: bool = True) -> bytes:
    """Send one request by hand and return all that comes back until the end of the connection.

    whole: send the body too; otherwise its headers announce it and it never comes.
    """
    address = urlsplit(sandbox.url)
    content = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    ).encode()
    with socket.create_connection((address.hostname, address.port)) as peer:
        peer.sendall(head + (content if whole else b""))
        received = b""
        while piece := peer.recv(65536):
            received += piece
        return received


def emails(sandbox: Sandbox) -> list[str]:
    return [row["email"] for row in sandbox.rows("contacts")]


def test_reset_before_read_needs_no_body_and_executes_nothing(caller: Caller) -> None:
    sandbox = caller.sandbox
    sandbox.set_fault("reset_before_read", "create_contact", count=1)
    with pytest.raises(ConnectionResetError):
        raw(sandbox, caller.token, "/v1/CRM/contacts", CONTACT, whole=False)
    assert CONTACT["email"] not in emails(sandbox)
    assert sandbox.truth()["requests"]["create_contact"] == {"reset_before_read": 1}
    assert caller.post("/v1/CRM/contacts", CONTACT).status == 201


def test_reset_after_read_waits_for_the_body_and_executes_nothing(caller: Caller) -> None:
    sandbox = caller.sandbox
    sandbox.set_fault("reset_after_read", "create_contact", count=1)
    address = urlsplit(sandbox.url)
    body = json.dumps(CONTACT).encode()
    with socket.create_connection((address.hostname, address.port)) as peer:
        head = f"POST /v1/CRM/contacts HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        peer.sendall(head.encode() + body[:-1])
        peer.settimeout(0.2)
        with pytest.raises(TimeoutError):
            peer.recv(1)
        peer.settimeout(None)
        peer.sendall(body[-1:])
        with pytest.raises(ConnectionResetError):
            peer.recv(1)
    assert CONTACT["email"] not in emails(sandbox)
    assert sandbox.truth()["faults"] == {"reset_after_read": 1}


def test_a_lost_response_leaves_the_created_row(caller: Caller) -> None:
    sandbox = caller.sandbox
    sandbox.set_fault("commit_then_lose_reply", "create_*", count=1)
    with pytest.raises(ConnectionResetError):
        raw(sandbox, caller.token, "/v1/CRM/contacts", CONTACT)
    assert emails(sandbox).count(CONTACT["email"]) == 1
    truth = sandbox.truth()
    assert truth["requests"]["create_contact"] == {"reply_lost": 1}
    assert [made["email"] for made in truth["created"]["contacts"]] == [CONTACT["email"]]


def test_fault_of_a_commit_waits_for_a_creation_that_succeeds(caller: Caller) -> None:
    sandbox = caller.sandbox
    sandbox.set_fault("commit_then_500", count=1)
    assert caller.post("/v1/CRM/contacts", {"first_name": "Zoé"}).status == 422
    assert sandbox.truth()["faults"] == {}
    assert caller.post("/v1/CRM/contacts", CONTACT).status == 500
    assert emails(sandbox).count(CONTACT["email"]) == 1
    assert sandbox.truth()["faults"] == {"commit_then_500": 1}


def test_a_truncated_body_is_shorter_than_its_content_length(caller: Caller) -> None:
    caller.sandbox.set_fault("truncated_body", count=1)
    head, _, body = raw(caller.sandbox, caller.token, LIST).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    announced = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    assert len(body) == announced // 2 > 1000
    assert caller.get("/v1/CRM/contacts", filter="ALL").status == 200


def test_malformed_json_is_whole_for_http_and_broken_for_json(caller: Caller) -> None:
    caller.sandbox.set_fault("malformed_json", count=1)
    answer = caller.get("/v1/CRM/contacts", filter="ALL")
    assert answer.status == 200
    assert int(answer.headers["content-length"]) == len(answer.body)
    with pytest.raises(json.JSONDecodeError):
        answer.json()


@pytest.mark.parametrize("kind", ["slow_body", "latency"])
def test_a_delay_changes_only_the_duration(caller: Caller, kind: str) -> None:
    whole = caller.get("/v1/CRM/contacts", filter="ALL").body
    caller.sandbox.set_fault(kind, count=1, seconds=0.3)
    started = time.monotonic()
    assert caller.get("/v1/CRM/contacts", filter="ALL").body == whole
    assert time.monotonic() - started >= 0.3
    assert caller.sandbox.truth()["faults"] == {kind: 1}


@pytest.mark.parametrize("status", [429, 503])
def test_refusals_have_the_retry_after_of_the_dialect(caller: Caller, status: int) -> None:
    sandbox = caller.sandbox
    said = {}
    for form in ("seconds", "date", "absent"):
        sandbox.set_dialect(retry_after=form)
        sandbox.set_fault(str(status), "list_employees", count=1, retry_after=200)
        answer = caller.get("/v1/HR/employees", id_entity=1)
        assert answer.status == status
        said[form] = answer.headers.get("retry-after")
    assert said["seconds"] == "200"
    wait = parsedate_to_datetime(str(said["date"])).timestamp() - time.time()
    assert 100 < wait <= 201
    assert said["absent"] is None
    assert caller.get("/v1/HR/employees", id_entity=1).status == 200


def test_commit_lag_and_list_lag_end_with_time(caller: Caller) -> None:
    sandbox = caller.sandbox
    sandbox.set_fault("commit_lag", "create_contact", count=1, seconds=5)
    sandbox.set_fault("list_lag", "create_contact", count=1, seconds=5)
    number = caller.post("/v1/CRM/contacts", CONTACT).json()["id"]

    def seen() -> tuple[bool, bool]:
        read = caller.get(f"/v1/CRM/contacts/{number}").status == 200
        page = caller.get("/v1/CRM/contacts", filter="ALL", page_size=1000).json()["data"]
        return read, number in [row["id"] for row in page]

    assert seen() == (False, False)
    states = []
    for _ in range(25):
        sandbox.advance(0.4)
        states.append(seen())
    assert states[0] == (False, False)
    assert (True, False) in states
    assert states[-1] == (True, True)
    assert sandbox.truth()["faults"] == {"commit_lag": 1, "list_lag": 1}


def test_with_detail_lag_a_listed_row_has_no_detail_yet(caller: Caller) -> None:
    sandbox = caller.sandbox
    sandbox.set_fault("detail_lag", "create_contact", count=1, seconds=5)
    number = caller.post("/v1/CRM/contacts", CONTACT).json()["id"]
    page = caller.get("/v1/CRM/contacts", filter="ALL", page_size=1000).json()["data"]
    assert number in [row["id"] for row in page]
    assert caller.get(f"/v1/CRM/contacts/{number}").status == 404
    sandbox.advance(5)
    assert caller.get(f"/v1/CRM/contacts/{number}").status == 200


@pytest.mark.parametrize("order", ["id", "id_desc", "name", "modified_on"])
def test_page_shifts_repeat_or_skip_a_row(caller: Caller, order: str) -> None:
    sandbox = caller.sandbox
    sandbox.set_dialect(list_order=order)

    def read() -> list[int]:
        pages = (
            caller.get("/v1/CRM/contacts", filter="ALL", page_number=n, page_size=50).json()
            for n in range(1, 7)
        )
        return [row["id"] for page in pages for row in page["data"]]

    still = read()
    assert len(set(still)) == len(still) == 250
    sandbox.set_fault("page_insert", "list_contacts", count=1)
    repeated = read()
    assert len(repeated) - len(set(repeated)) == 1
    sandbox.clear_faults()
    whole = set(read())
    sandbox.set_fault("page_delete", "list_contacts", count=1)
    skipped = set(read())
    assert len(skipped) == len(whole) - 1
    now = {row["id"] for row in sandbox.rows("contacts")}
    assert len(now - skipped) == 1, "one row that still exists was never served"
    assert sandbox.truth()["faults"] == {"page_insert": 1, "page_delete": 1}


def test_a_rate_limit_refuses_excess_requests(caller: Caller) -> None:
    caller.sandbox.set_dialect(rate_limit=0.001)
    assert [caller.get("/v1/CRM/contacts/1001").status for _ in range(3)] == [200, 429, 429]


def test_a_rate_limit_can_apply_to_single_operations(caller: Caller) -> None:
    sandbox = caller.sandbox
    sandbox.set_fault("rate_limit", "create_*", per_second=5, retry_after=3)
    assert [caller.post("/v1/CRM/contacts", CONTACT).status for _ in range(5)] == [201] * 5
    sandbox.clear_faults()
    sandbox.set_fault("rate_limit", "create_*", per_second=0.001, retry_after=3)
    answers = [caller.post("/v1/CRM/contacts", CONTACT) for _ in range(4)]
    assert [answer.status for answer in answers] == [201, 429, 429, 429]
    assert emails(sandbox).count(CONTACT["email"]) == 6
    assert {a.headers["retry-after"] for a in answers[1:]} == {"3"}
    assert sandbox.truth()["faults"]["rate_limit"] >= 3
    assert all(caller.get("/v1/CRM/contacts/1001").status == 200 for _ in range(20))


@pytest.mark.parametrize("status", [None, 403, 405])
def test_read_only_periods_refuse_only_creates(caller: Caller, status: int | None) -> None:
    sandbox = caller.sandbox
    sandbox.set_fault("read_only", status=status, lasts=3600)
    assert caller.get("/v1/CRM/contacts/1001").status == 200
    assert caller.post("/v1/CRM/contacts", CONTACT).status == (status or 503)
    assert CONTACT["email"] not in emails(sandbox)
    sandbox.clear_faults()
    sandbox.set_fault("read_only", status=status, lasts=0.1)
    while caller.post("/v1/CRM/contacts", CONTACT).status != 201:
        pass


@pytest.mark.parametrize("status", [429, 502, 504])
def test_a_gateway_responds_while_the_service_still_creates(caller: Caller, status: int) -> None:
    sandbox = caller.sandbox
    gateway: dict[str, Any] = {
        "kind": "gateway",
        "operation": "create_*",
        "count": 1,
        "status": status,
    }
    sandbox.set_fault(**gateway, seconds=0.1, origin_seconds=3600)
    assert caller.post("/v1/CRM/contacts", CONTACT).status == status
    assert CONTACT["email"] not in emails(sandbox)
    assert sandbox.truth()["behind_gateway"] == 1
    sandbox.reset()
    sandbox.reset_counts()
    caller.login()
    sandbox.set_fault(**gateway, seconds=0, origin_seconds=0.1)
    assert caller.post("/v1/CRM/contacts", CONTACT).status == status
    while sandbox.truth()["behind_gateway"]:
        time.sleep(0.02)
    assert emails(sandbox).count(CONTACT["email"]) == 1
    assert sandbox.truth()["requests"]["create_contact"] == {str(status): 1}


def test_a_gateway_forwards_a_timely_response(caller: Caller) -> None:
    caller.sandbox.set_fault("gateway", seconds=3600, origin_seconds=0)
    assert caller.post("/v1/CRM/contacts", CONTACT).status == 201
    assert caller.post("/v1/CRM/contacts", {}).status == 422


def test_a_reset_cancels_requests_behind_the_gateway(caller: Caller) -> None:
    sandbox = caller.sandbox
    sandbox.set_fault("gateway", "create_*", seconds=0, origin_seconds=3600)
    assert caller.post("/v1/CRM/contacts", CONTACT).status == 504
    sandbox.reset()
    while sandbox.truth()["behind_gateway"]:
        time.sleep(0.02)
    assert CONTACT["email"] not in emails(sandbox)


def test_new_connections_can_be_delayed_without_delaying_open_ones(caller: Caller) -> None:
    address = urlsplit(caller.sandbox.url)
    request = f"GET /v1/CRM/contacts/1001 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {caller.token}\r\n\r\n"
    with socket.create_connection((address.hostname, address.port)) as before:
        before.sendall(request.encode())
        assert before.recv(15) == b"HTTP/1.1 200 OK"
        for delay in ever_longer(0.7):
            caller.sandbox.delay_connections(delay)
            started = time.monotonic()
            before.recv(65536)
            before.sendall(request.encode())
            assert before.recv(15) == b"HTTP/1.1 200 OK"
            answered = time.monotonic() - started
            with socket.create_connection((address.hostname, address.port)):
                connected = time.monotonic() - started
            if answered < delay:
                break
    assert answered < delay <= connected
    assert caller.get("/v1/CRM/contacts/1001").status == 200


def test_a_disconnected_client_is_not_an_error(caller: Caller) -> None:
    address = urlsplit(caller.sandbox.url)
    caller.sandbox.set_fault("slow_body", count=1, seconds=0.2)
    with socket.create_connection((address.hostname, address.port)) as peer:
        peer.sendall(
            f"GET {LIST} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {caller.token}\r\n\r\n".encode()
        )
        peer.recv(100)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert caller.get("/v1/CRM/contacts", filter="ALL").status == 200


def test_base_path_is_needed_once_it_is_set(caller: Caller) -> None:
    caller.sandbox.set_dialect(base_path="/tenant/api")
    assert caller.get("/v1/CRM/contacts/1001").status == 404
    caller.prefix = "/tenant/api"
    assert caller.get("/v1/CRM/contacts/1001").status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/CRM/consultants", 404),
        ("GET", "/v1/CRM/Contacts?filter=ALL", 404),
        ("GET", "/v1/crm/contacts?filter=ALL", 404),
        ("GET", "/v1/CRM/contacts/?filter=ALL", 404),
        ("GET", "/v1/token", 405),
        ("PUT", "/v1/CRM/contacts/1001", 405),
        ("DELETE", "/v1/CRM/contacts/1001", 405),
        ("GET", "/", 404),
    ],
)
def test_paths_and_methods_are_exact(caller: Caller, method: str, path: str, status: int) -> None:
    answer = caller.call(method, path)
    assert answer.status == status
    assert set(answer.json()) == {"code", "message", "errors"}


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/token", "POST"),
        ("/v1/HR/employees", "POST, GET"),
        ("/v1/CRM/contacts", "GET, POST"),
        ("/v1/CRM/contacts/1001", "GET"),
    ],
)
def test_an_unsupported_method_gets_the_allowed_methods(
    caller: Caller, path: str, methods: str
) -> None:
    assert caller.call("PATCH", path).headers["allow"] == methods
