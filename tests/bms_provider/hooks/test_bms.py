import asyncio
import json
import os
from typing import Any

import pytest
from airflow.models.connection import Connection as StoredConnection
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow.sdk._shared.secrets_masker import redact
from airflow.sdk.execution_time.context import set_current_context

from bms import errors
from bms.endpoints import BY_NAME, ENDPOINTS
from bms_provider.hooks import access
from bms_provider.hooks.bms import BmsHook
from bms_sandbox.serve import Sandbox
from tests.bms_provider.conftest import fields_of

SCOPES = sorted({endpoint.scope for endpoint in ENDPOINTS if endpoint.scope})
OTHER_SCOPES = [scope for scope in SCOPES if scope != "read:contact"]


@pytest.mark.usefixtures("connected")
def test_a_token_is_masked_before_its_first_use() -> None:
    seen: list[str] = []

    async def access() -> None:
        client = BmsHook().client()
        async with client:
            await client.access()
            token = (await client._tokens.take()).value
            seen.append(str(redact(f"Bearer {token}")))

    asyncio.run(access())
    assert seen == ["Bearer ***"]


@pytest.mark.parametrize(
    ("dialect", "report"),
    [
        ({}, f"valid for 3600 seconds. Granted: {', '.join(SCOPES)}. Missing: none."),
        (
            {"granted_scopes": ["read:contact", "other"]},
            f"Granted: read:contact. Missing: {', '.join(OTHER_SCOPES)}.",
        ),
        ({"scope_shape": "empty"}, "does not report which scopes"),
    ],
    ids=["all", "one", "unknown"],
)
@pytest.mark.usefixtures("connected")
def test_a_test_reports_scopes(sandbox: Sandbox, dialect: dict[str, Any], report: str) -> None:
    sandbox.set_dialect(**dialect)
    succeeded, text = BmsHook().test_connection()
    assert succeeded
    assert report in text
    assert sandbox.truth()["requests"] == {"token": {"200": 1}}


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        ("429", "The service limits the request rate. Try again later."),
        ("503", "The service is failing. Try again later."),
        ("malformed_json", "may not be the service. Check host (Base URL) and its path"),
        ("reset_before_read", "Check host (Base URL), its port"),
    ],
)
@pytest.mark.usefixtures("connected")
def test_a_failed_test_makes_one_attempt_and_advises_what_to_check(
    sandbox: Sandbox, fault: str, advice: str
) -> None:
    """The test occupies the API server, so nothing is retried."""
    sandbox.set_fault(fault, operation="token")
    succeeded, text = BmsHook().test_connection()
    assert not succeeded
    assert advice in text
    assert sandbox.truth()["faults"] == {fault: 1}


@pytest.mark.parametrize(
    ("fields", "advice"),
    [
        ({"password": "wrong-canary"}, "Check login (Client ID)"),
        ({"password": "canary\n"}, "password (Secret) begins or ends with a blank or line break."),
        ({"host": "http://127.0.0.1:9"}, "Check host (Base URL), its port"),
        ({"host": ""}, "host (Base URL) is empty"),
        ({"path": "/elsewhere"}, "A server responded, but not the service"),
        ({"path": "/v1"}, "refused (404); check the base URL, which ends before /v1"),
        ({"extra": {"entities": "canary"}}, "extra entities (Entities) takes numbers"),
        (
            {"host": "https://127.0.0.1:9", "extra": {"cert": "/canary.pem"}},
            "extra cert (Client certificate) names no usable PEM file",
        ),
    ],
    ids=[
        *(
            "secret",
            "line break",
            "no server",
            "no host",
            "wrong path",
            "path with /v1",
            "entities",
        ),
        "certificate",
    ],
)
def test_a_failed_test_names_the_wrong_field_and_quotes_no_value(
    sandbox: Sandbox, connect: Any, fields: dict[str, Any], advice: str
) -> None:
    given = fields_of(sandbox, **fields.get("extra", {}))
    path = fields.get("path", "")
    changed = {name: fields[name] for name in fields.keys() - {"extra", "path"}}
    connect(**given | {"host": f"{sandbox.url}{path}"} | changed)
    succeeded, text = BmsHook().test_connection()
    assert not succeeded
    assert advice in text
    assert "canary" not in text


def test_a_test_of_a_missing_connection_names_its_variable() -> None:
    granted, text = BmsHook("bms_missing").test_connection()
    assert not granted
    assert "Set AIRFLOW_CONN_BMS_MISSING." in text


@pytest.mark.parametrize(
    "given",
    ["bms://id:canary@https://h:443/?application_id=a", '{"conn_type": "bms", "user": "i"}'],
)
def test_a_test_of_an_unreadable_variable_names_its_form(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    """Airflow reports such a connection as missing."""
    monkeypatch.setenv("AIRFLOW_CONN_BMS_MISSING", given)
    granted, text = BmsHook("bms_missing").test_connection()
    assert not granted
    assert text.startswith("Airflow cannot read AIRFLOW_CONN_BMS_MISSING. Check its form: JSON")


@pytest.mark.usefixtures("sandbox")
def test_unknown_extras_are_ignored_with_a_warning(
    connected: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """In a rolling upgrade, older workers read a connection with extras of the newer version."""
    connected(verify_ssl="canary", later_setting=1, concurrency=3)
    hook = BmsHook()
    assert hook.settings.concurrency == 3
    assert hook.settings.concurrency == 3
    names = "later_setting, verify_ssl"
    warning = f"Connection bms_default: ignored unknown extras: {names}"
    assert [record.getMessage() for record in caplog.records] == [warning]
    assert hook.test_connection()[1].endswith(f" Ignored unknown extras: {names}.")


def test_secrets_among_the_extras_are_masked_when_they_are_read(connected: Any) -> None:
    """Airflow masks the password of a connection; it masks extras by their names when it parses them."""
    connected(token_bearer_secret="canary-bearer-5521")
    assert redact("a log line with canary-bearer-5521") != "a log line with ***"
    assert BmsHook().extras["token_bearer_secret"] == "canary-bearer-5521"
    assert redact("a log line with canary-bearer-5521") == "a log line with ***"


def kinds(root: type[errors.BmsError]) -> set[type[errors.BmsError]]:
    subclasses = [each for each in root.__subclasses__() if each.__module__ == errors.__name__]
    return {root}.union(*map(kinds, subclasses))


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
"""Errors that a token request cannot raise."""


@pytest.mark.parametrize(
    "kind", sorted(kinds(errors.BmsError) - ONLY_WITH_A_TOKEN, key=str), ids=str
)
def test_every_error_of_a_token_request_has_a_remedy(kind: type[errors.BmsError]) -> None:
    error = kind.__new__(kind)
    errors.BmsError.__init__(error, BY_NAME["request_token"], "text")
    assert access.remedy(error).endswith(".")


@pytest.mark.usefixtures("connected")
def test_access_names_scopes_and_expiry_and_never_the_token(sandbox: Sandbox) -> None:
    sandbox.set_dialect(granted_scopes=["read:contact"])
    found = BmsHook().access()
    assert found.scopes == frozenset({"read:contact"})
    assert found.missing("list_contacts", "read_employee") == ["read:employee"]
    assert found.missing() == OTHER_SCOPES
    assert found.expires_in_s == pytest.approx(3600, abs=60)
    assert "eyJ" not in repr(found)
    with pytest.raises(ValueError, match="no operation list_contact; it has request_token, "):
        found.missing("list_contact")


@pytest.mark.usefixtures("connected")
def test_an_error_in_a_task_names_connection_host_and_the_refused_fields(sandbox: Sandbox) -> None:
    with BmsHook().get_conn() as client, pytest.raises(errors.Refused) as refused:
        client.create_contact({"email": "canary@client.example"})
    text = str(refused.value)
    assert "refused (422); the response names the fields first_name, last_name" in text
    assert text.endswith(f". Connection bms_default, {sandbox.url}.")
    assert "canary" not in text


def test_an_error_without_a_connection_names_what_to_check_and_what_was_assumed(
    connect: Any,
) -> None:
    extra = {"application_id": "a", "attempts": 1}
    connect(host="127.0.0.1", port=9, login="client", password="secret", extra=extra)
    with BmsHook().get_conn() as client, pytest.raises(errors.ConnectionFailed) as failed:
        client.list_consultants().__next__()
    text = str(failed.value)
    assert "no connection" in text
    assert "Connection bms_default, https://127.0.0.1:9. Check host (Base URL), its port" in text
    assumed = "host (Base URL) names no scheme: https:// is assumed."
    assert text.endswith(assumed)
    with pytest.raises(errors.ConnectionFailed, match="Connection bms_default, https"):
        BmsHook().access()
    tested = BmsHook().test_connection()[1]
    assert tested.endswith(assumed)
    assert "bms_default" not in tested


def test_the_password_of_a_proxy_is_masked(connect: Any) -> None:
    proxies = {"https": "http://user:proxy%2Dpass-1@127.0.0.1:9", "http": "http://127.0.0.1:9"}
    connect(
        host="https://bms.example",
        login="client",
        password="secret",
        extra={"application_id": "a", "proxies": proxies},
    )
    assert BmsHook().settings.proxies == proxies
    shown = redact(f"cannot connect to {proxies['https']} (proxy-pass-1)")
    assert "pass-1" not in shown


def test_a_connection_survives_the_uri_of_airflow_s_test_button(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow's Test stores the form in an environment variable as a URI and parses it."""
    proxies = {"https": "http://p:3128"}
    fields = fields_of(sandbox, entities="1, 2", page_size=50, verify="true", proxies=proxies)
    port = int(sandbox.url.rpartition(":")[2])
    given = fields | {"host": f"{sandbox.url}/", "extra": json.dumps(fields["extra"])}
    stored = StoredConnection(conn_id="form", conn_type="bms", port=port, **given)
    monkeypatch.setitem(os.environ, "AIRFLOW_CONN_FORM", stored.get_uri())
    hook = BmsHook("form")
    assert hook.test_connection()[0]
    assert (hook.entities, hook.settings.page_size) == ([1, 2], 50)
    assert hook.settings.proxies == proxies


@pytest.mark.parametrize(
    ("pool", "slots", "concurrency"), [("bms_service", 2, 2), ("bms_service", 9, 5), ("own", 2, 5)]
)
def test_a_task_in_the_pool_has_at_most_one_request_in_flight_per_slot(
    connected: Any, pool: str, slots: int, concurrency: int
) -> None:
    connected(concurrency=5)
    with DAG("d", schedule=None):
        task = EmptyOperator(task_id="task", pool=pool, pool_slots=slots)
    hook = BmsHook()
    with set_current_context({"task": task}):
        assert hook.settings.concurrency == concurrency
    assert hook.limiter.maximum == concurrency


@pytest.mark.usefixtures("connected")
def test_clients_of_one_hook_share_the_limit_of_requests_in_flight() -> None:
    hook = BmsHook()
    one, other = (each._transport._limiter for each in (hook.client(), hook.client()))
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
def test_a_connection_that_exposes_the_secret_logs_one_warning(
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
    assert all(part in text for part, text in zip(warned, messages, strict=True))
    assert "canary" not in caplog.text
