"""The HTTP provider's operator and sensor on a connection of type bms."""

from typing import Any

import pytest

from bms.errors import Refused
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
