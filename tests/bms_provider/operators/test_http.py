"""The HTTP provider's operator and sensor on a connection of type bms."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from airflow.sdk import DAG

from bms.errors import Refused, TokenRefused
from bms_provider.hooks.http import BmsHttpHook
from bms_provider.operators.base import SERVICE_RETRIES
from bms_provider.operators.http import BmsHttpOperator, BmsHttpSensor, next_page
from bms_sandbox.serve import Sandbox

pytestmark = pytest.mark.usefixtures("connected")
CONTACTS = "/v1/CRM/contacts"


def ids(pages: Any) -> list[int]:
    return [row["id"] for page in pages for row in page.json()["data"]]


def listing(**changed: Any) -> Any:
    given: dict[str, Any] = {
        "task_id": "list",
        "endpoint": CONTACTS,
        "data": {"filter": "ALL", "page_size": 10},
        "response_filter": ids,
        "pagination_function": next_page,
    }
    return BmsHttpOperator(**(given | changed))


def test_all_pages_are_read_with_one_token(sandbox: Sandbox) -> None:
    assert len(listing().execute({})) == 25
    requests = sandbox.truth()["requests"]
    assert requests == {"token": {"200": 1}, "list_contacts": {"200": 3}}


def test_each_page_has_the_parameters_of_the_first(sandbox: Sandbox) -> None:
    freelances = [each for each in sandbox.rows("consultants") if each["type"] == "FREELANCE"]
    query = "type=FREELANCE&page_size=2"
    for given in ({"data": query}, {"endpoint": f"/v1/CRM/Consultants?{query}", "data": None}):
        found = listing(**{"endpoint": "/v1/CRM/Consultants"} | given).execute({})
        assert found == [each["id"] for each in freelances]
    assert len(freelances) > 2


def test_callables_may_take_the_context_as_those_of_the_http_provider() -> None:
    found = listing(response_filter=lambda pages, run_id: (run_id, len(ids(pages))))
    assert found.execute({"run_id": "r"}) == ("r", 25)
    given: dict[str, Any] = {"endpoint": CONTACTS, "request_params": {"filter": "ALL"}}
    sensor = BmsHttpSensor(task_id="w", response_check=lambda _, run_id: run_id == "r", **given)
    assert sensor.poke({"run_id": "r"}) is True
    refused = BmsHttpSensor(task_id="w", extra_options={"timeout": 1}, **given)
    with pytest.raises(ValueError, match="check_response as its only option"):
        refused.poke({})


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"method": "POST"}, "Use BmsCreateContactOperator"),
        ({"deferrable": True}, "the triggerer would hold the token"),
        ({"response_filter": None}, "choose what goes to XCom"),
        ({"log_response": True}, "personal data"),
    ],
)
def test_what_would_leak_or_repeat_is_refused_at_parse_time(
    changed: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        listing(**changed)


def test_a_sensor_waits_for_a_record(sandbox: Sandbox) -> None:
    number = sandbox.rows("contacts")[-1]["id"] + 1
    sensor = BmsHttpSensor(
        task_id="wait",
        endpoint=f"{CONTACTS}/{number}",
        response_check=lambda response: response.json()["active"],
    )
    assert sensor.poke({}) is False
    sandbox.insert("contacts", active=False)
    assert sensor.poke({}) is False
    sandbox.edit("contacts", number, active=True)
    assert sensor.poke({}) is True
    with pytest.raises(Refused):
        BmsHttpSensor(task_id="wrong", endpoint=f"{CONTACTS}/x").poke({})


@pytest.mark.parametrize("given", [{"method": "POST"}, {"deferrable": True}])
def test_a_sensor_refuses_the_same(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"only GET|triggerer"):
        BmsHttpSensor(task_id="wait", endpoint=CONTACTS, **given)


class Gateway(BaseHTTPRequestHandler):
    """A service that responds to each path with a status, a content type and a body."""

    shown: ClassVar[dict[str, tuple[int, str, bytes]]] = {}

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        status, kind, body = self.shown[self.path]
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()


@pytest.fixture
def gateway(connect: Any) -> Iterator[dict[str, tuple[int, str, bytes]]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Gateway) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        host = f"http://127.0.0.1:{server.server_port}"
        connect(host=host, login="id", password="secret-7f3a", extra={"application_id": "app"})
        token = b'{"access_token": "canary-token", "token_type": "Bearer", "expires_in": 60}'
        Gateway.shown = {"/v1/token": (200, "application/json", token)}
        yield Gateway.shown
        server.shutdown()


def test_a_response_has_the_charset_and_the_status_of_the_service(gateway: Any) -> None:
    gateway["/v1/export"] = 299, "text/csv; charset=iso-8859-1", "Zoë;Lefèvre".encode("latin-1")
    gateway["/v1/state"] = 200, "application/json", b"\xef\xbb\xbf" + '{"name": "Zoë"}'.encode()
    gateway["/v1/ended"] = 499, "text/plain", b""
    hook = BmsHttpHook()
    export = hook.run("/v1/export")
    assert (export.status_code, export.text) == (299, "Zoë;Lefèvre")
    assert hook.run("/v1/state").json() == {"name": "Zoë"}
    assert hook.run("/v1/ended", extra_options={"check_response": False}).status_code == 499


def test_a_sensor_does_not_wait_at_a_wrong_address(gateway: Any) -> None:
    """A token request that is not found is no record that is missing."""
    gateway["/v1/token"] = 404, "text/html", b"<html>"
    with pytest.raises(TokenRefused, match="check the base URL"):
        BmsHttpSensor(task_id="wait", endpoint=f"{CONTACTS}/1").poke({})


def test_a_parameter_may_have_several_values_or_none(gateway: Any) -> None:
    path = "/v1/deals?kind=A&kind=B&type=&open=true"
    gateway[path] = (200, "application/json", b"{}")
    typed = {"kind": ["A", "B"], "type": "", "open": True, "client": None}
    for endpoint, data in ((path, None), ("/v1/deals", typed), ("/v1/deals", path.split("?")[1])):
        assert BmsHttpHook().run(endpoint, data).url == path


def test_defaults_of_the_dag_apply() -> None:
    defaults = {"retry_policy": None, "do_xcom_push": False, "response_filter": ids}
    with DAG("d", schedule=None, default_args=defaults):
        given: dict[str, Any] = {"task_id": "a", "endpoint": CONTACTS}
        operator, sensor = BmsHttpOperator(**given), BmsHttpSensor(**given | {"task_id": "b"})
    assert operator.retry_policy is sensor.retry_policy is None
    with DAG("e", schedule=None, default_args={"do_xcom_push": False}):
        BmsHttpOperator(**given)
    with DAG("f", schedule=None, default_args={"response_filter": ids}):
        mapped: Any = BmsHttpOperator.partial(**given).expand(data=[{}])
    assert mapped.retry_policy is SERVICE_RETRIES
