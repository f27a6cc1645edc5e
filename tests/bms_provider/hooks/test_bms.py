import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from airflow.models.connection import Connection as StoredConnection
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow.sdk._shared.secrets_masker import redact
from airflow.sdk.execution_time.context import set_current_context

from bms import errors
from bms.endpoints import BY_NAME, ENDPOINTS
from bms_provider.hooks import bms as hooks
from bms_provider.hooks.bms import BmsHook
from bms_provider.hooks.connection import BadConnection
from bms_sandbox.serve import Sandbox

SCOPES = sorted({endpoint.scope for endpoint in ENDPOINTS if endpoint.scope})


@pytest.mark.usefixtures("connected")
def test_a_connection_becomes_a_client() -> None:
    async def employees() -> int:
        async with BmsHook().client() as client:
            return len(await client.list_employees(id_entity=1, filter="ALL"))

    assert asyncio.run(employees()) == 40


@pytest.mark.usefixtures("connected")
def test_a_token_is_masked_before_its_first_use() -> None:
    """Whatever logs it afterwards shows stars."""
    seen: list[str] = []

    async def access() -> None:
        client = BmsHook().client()
        async with client:
            await client.access()
            token = (await client._calls._tokens.take()).value
            seen.append(redact(f"Bearer {token}"))

    asyncio.run(access())
    assert seen == ["Bearer ***"]


def test_entities_are_those_of_the_connection(connected: Any) -> None:
    connected(entities="1, 2")
    assert BmsHook().entities == [1, 2]


@pytest.mark.usefixtures("connected")
def test_a_test_says_what_is_granted(sandbox: Sandbox) -> None:
    said = BmsHook().test_connection()
    assert said == (
        True,
        f"Token received, for 3600 seconds. Granted: {', '.join(SCOPES)}. Missing: none.",
    )
    assert sandbox.truth()["requests"] == {"token": {"200": 1}}


@pytest.mark.usefixtures("connected")
def test_a_test_says_what_is_missing(sandbox: Sandbox) -> None:
    sandbox.set_dialect(granted_scopes=["read:contact", "other"])
    works, said = BmsHook().test_connection()
    missing = ", ".join(scope for scope in SCOPES if scope != "read:contact")
    assert works
    assert said.endswith(f"Granted: other, read:contact. Missing: {missing}.")


@pytest.mark.usefixtures("connected")
def test_a_service_that_names_no_scopes_is_said_so(sandbox: Sandbox) -> None:
    sandbox.set_dialect(scope_shape="empty")
    assert "does not say which scopes" in BmsHook().test_connection()[1]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("429", "Too many requests just now"),
        ("503", "The service itself fails"),
        ("malformed_json", "Is that the service? Look at host (Base URL) and its path"),
        ("reset_before_read", "Look at host (Base URL), its port"),
    ],
)
@pytest.mark.usefixtures("connected")
def test_a_failure_comes_with_its_remedy_after_one_try(
    sandbox: Sandbox, fault: str, said: str
) -> None:
    """The API server waits for the answer: nothing is repeated."""
    sandbox.set_fault(fault, operation="token")
    works, text = BmsHook().test_connection()
    assert not works
    assert said in text
    assert sandbox.truth()["faults"] == {fault: 1}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"password": "wrong-canary"}, "Look at login (Client ID)"),
        ({"host": "http://127.0.0.1:9"}, "Look at host (Base URL), its port"),
        ({"host": ""}, "host (Base URL) is empty"),
        ({"path": "/elsewhere"}, "Something answers there, but not the service"),
        ({"extra": {"entities": "canary"}}, "extra entities (Entities) takes numbers"),
    ],
    ids=["secret", "nobody there", "no host", "wrong path", "entities"],
)
def test_a_wrong_field_is_named_and_not_quoted(
    sandbox: Sandbox, connect: Any, fields: dict[str, Any], said: str
) -> None:
    given = {
        "host": sandbox.url + fields.pop("path", ""),
        "login": sandbox.credentials.client_id,
        "password": sandbox.credentials.secret,
        **fields,
    }
    application = {"application_id": sandbox.credentials.application_id}
    connect(**{**given, "extra": {**application, **given.get("extra", {})}})
    works, text = BmsHook().test_connection()
    assert not works
    assert said in text
    assert "canary" not in text


def test_a_file_of_tls_that_is_not_there_is_told(connect: Any, tmp_path: Path) -> None:
    connect(
        host="https://127.0.0.1:9",
        login="id",
        password="secret",
        extra={"application_id": "app", "cert": str(tmp_path / "absent.pem")},
    )
    said = "names no PEM file that can be used (No such file or directory)."
    told = (False, f"extra cert (Client certificate) {said}")
    assert BmsHook().test_connection() == told


def test_a_connection_that_is_not_there_is_told_and_nothing_raised() -> None:
    works, said = BmsHook("bms_nowhere").test_connection()
    assert (works, said) == (False, "The test itself failed (AirflowNotFoundException).")


def kinds(root: type[errors.BmsError]) -> set[type[errors.BmsError]]:
    return {root}.union(*map(kinds, root.__subclasses__()))


ONLY_WITH_A_TOKEN = {
    errors.BmsError,
    errors.MissingScope,
    errors.Unauthorized,
    errors.Refused,
    errors.Forbidden,
    errors.NotFound,
    errors.RangeRefused,
    errors.InvalidRecords,
    errors.AmbiguousWrite,
}
"""Errors that asking for a token can't meet."""


@pytest.mark.parametrize(
    "kind", sorted(kinds(errors.BmsError) - ONLY_WITH_A_TOKEN, key=str), ids=str
)
def test_every_error_of_asking_for_a_token_has_its_remedy(kind: type[errors.BmsError]) -> None:
    error = kind.__new__(kind)
    errors.BmsError.__init__(error, BY_NAME["request_token"], "text")
    assert hooks.remedy(error).endswith(".")


def test_the_button_s_own_way_through_a_uri_loses_nothing(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow's Test writes the form into an environment variable as a URI and reads it back."""
    extra = {
        "application_id": sandbox.credentials.application_id,
        "entities": "1, 2",
        "page_size": 50,
        "verify": "true",
        "proxies": {"https": "http://p:3128"},
    }
    stored = StoredConnection(
        conn_id="form",
        conn_type="bms",
        host=f"{sandbox.url}/",
        port=int(sandbox.url.rpartition(":")[2]),
        login=sandbox.credentials.client_id,
        password=sandbox.credentials.secret,
        extra=json.dumps(extra),
    )
    monkeypatch.setitem(os.environ, "AIRFLOW_CONN_FORM", stored.get_uri())
    hook = BmsHook("form")
    assert hook.test_connection()[0]
    assert (hook.entities, hook.settings.page_size) == ([1, 2], 50)
    assert hook.settings.proxies == extra["proxies"]


def test_a_bad_connection_is_a_value_error_that_is_not_retried(connect: Any) -> None:
    connect(host="http://127.0.0.1:9")
    with pytest.raises(BadConnection):
        BmsHook().client()


@pytest.mark.parametrize(
    ("pool", "slots", "concurrency"), [("bms_service", 2, 2), ("bms_service", 9, 5), ("own", 2, 5)]
)
def test_a_task_in_the_service_s_pool_has_no_more_requests_in_flight_than_slots(
    connected: Any, pool: str, slots: int, concurrency: int
) -> None:
    connected(concurrency=5)
    with DAG("d", schedule=None):
        task = EmptyOperator(task_id="task", pool=pool, pool_slots=slots)
    hook = BmsHook()
    with set_current_context({"task": task}):
        assert hook.settings.concurrency == concurrency
    assert hook.in_flight.pace.most == concurrency


@pytest.mark.usefixtures("connected")
def test_clients_of_one_hook_share_what_may_be_in_flight() -> None:
    hook = BmsHook()
    one, other = (each._calls._transport._in_flight for each in (hook.client(), hook.client()))
    assert one is other


PLAIN_TEXT = "host (Base URL) is http://"
UNVERIFIED = "extra verify (Verify TLS) is false"


@pytest.mark.parametrize(
    ("host", "extra", "warned"),
    [
        ("https://bms.example.com", {}, []),
        ("http://bms.example.com", {}, [PLAIN_TEXT]),
        ("http://192.168.1.7:8000", {}, [PLAIN_TEXT]),
        ("http://localhost.example.com", {}, [PLAIN_TEXT]),
        ("https://bms.example.com", {"verify": False}, [UNVERIFIED]),
        ("https://bms.example.com", {"verify": "false"}, [UNVERIFIED]),
        ("https://127.0.0.1:8000", {"verify": False}, [UNVERIFIED]),
        ("https://bms.example.com", {"verify": "/etc/ssl/own.pem"}, []),
        ("http://127.0.0.1:8000", {}, []),
        ("http://127.0.0.1:8000", {"verify": False}, []),
        ("http://localhost:8000", {}, []),
        ("http://sandbox.localhost:8000", {}, []),
        ("http://[::1]:8000", {}, []),
    ],
)
def test_a_connection_that_exposes_the_secret_is_warned_of_once(
    connect: Any, caplog: pytest.LogCaptureFixture, host: str, extra: Any, warned: list[str]
) -> None:
    connect(
        host=host, login="me", password="canary-1", extra={"application_id": "canary-2", **extra}
    )
    hook = BmsHook()
    for _ in range(2):
        hook.settings  # noqa: B018 - reading is what warns
    messages = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(messages) == len(warned)
    assert all(part in said for part, said in zip(warned, messages, strict=True))
    assert "canary" not in caplog.text
