import json
from typing import Any

import pytest
from airflow.sdk import Connection
from hypothesis import example, given
from hypothesis import strategies as st

from bms.counters import Counters
from bms.settings import ClientSettings
from bms.transport import Transport
from bms_provider.hooks.connection import (
    FIELDS,
    BadConnection,
    client_settings,
    entity_list,
    given_extras,
    unknown_extras,
)
from bms_provider.provider_info import CONNECTION_FIELDS

CANARY = "canary-4f1a"


def connection(**fields: Any) -> Connection:
    given = {
        "host": "https://bms.example.com/api",
        "login": "client",
        "password": "secret",
        **fields,
    }
    extra = {"application_id": "app", **given.pop("extra", {})}
    return Connection(conn_id="bms_default", conn_type="bms", extra=json.dumps(extra), **given)


def read(**fields: Any) -> ClientSettings:
    given = connection(**fields)
    return client_settings(given, given_extras(given))


EVERY_FIELD = {
    "application_id": "another",
    "expires_in_unit": "minutes",
    "concurrency": 3,
    "timeout": 12.5,
    "page_size": 7,
    "time_zone": "Europe/London",
    "end_date_inclusive": False,
    "create_refused_by_429": True,
    "empty_list_404": True,
    "token_bearer_secret": "bearer",
    "verify": False,
    "cert": "/etc/client.pem",
    "proxies": {"https": "http://proxy.example:3128"},
}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@pytest.mark.parametrize("as_text", [False, True], ids=["as JSON", "as text"])
@pytest.mark.parametrize("name", EVERY_FIELD)
def test_each_field_of_the_form_reaches_the_client(name: str, as_text: bool) -> None:
    """The form and JSON give numbers and booleans, a URI gives text."""
    value = EVERY_FIELD[name]
    settings = read(extra={name: _as_text(value) if as_text else value})
    assert getattr(settings, name) == value
    assert getattr(settings, name) != getattr(read(), name)


def test_every_field_of_the_form_has_an_example_above() -> None:
    assert {*EVERY_FIELD, "entities", "base_url", "client_id", "secret"} == set(FIELDS)


def test_empty_fields_take_the_client_s_defaults() -> None:
    empty = {name: None if i % 2 else "" for i, name in enumerate(EVERY_FIELD)}
    assert read(extra={**empty, "application_id": "app"}) == ClientSettings(
        base_url="https://bms.example.com/api",
        client_id="client",
        application_id="app",
        secret="secret",
    )


@pytest.mark.parametrize(
    ("extra", "name", "value"),
    [
        ({"application_id": 12345}, "application_id", "12345"),
        ({"verify": "True"}, "verify", True),
        ({"verify": "/etc/ca.pem"}, "verify", "/etc/ca.pem"),
        ({"cert": ["/a.pem", "/b.pem"]}, "cert", ("/a.pem", "/b.pem")),
        ({"proxies": "http://p:3128"}, "proxies", "http://p:3128"),
        ({"page_size": 50.0}, "page_size", 50),
    ],
    ids=lambda value: str(value)[:40],
)
def test_other_spellings_of_a_value(extra: dict[str, Any], name: str, value: object) -> None:
    assert getattr(read(extra=extra), name) == value


@pytest.mark.parametrize(
    ("host", "port", "base_url"),
    [
        ("https://bms.example.com/api/", None, "https://bms.example.com/api/"),
        ("https://bms.example.com/api", 443, "https://bms.example.com:443/api"),
        ("https://bms.example.com:8443/api", 443, "https://bms.example.com:8443/api"),
        ("https://bms.example.com:8443", 8443, "https://bms.example.com:8443"),
        ("http://[::1]/Api", 8090, "http://[::1]:8090/Api"),
        ("2001:db8::7", 8443, "https://[2001:db8::7]:8443"),  # of bms://…@[2001:db8::7]:8443
        ("bms.example.com", 0, "https://bms.example.com"),
        (" http://127.0.0.1:8090 ", 0, "http://127.0.0.1:8090"),
    ],
)
def test_the_port_applies_only_if_the_url_has_none(
    host: str, port: int | None, base_url: str
) -> None:
    assert read(host=host, port=port).base_url == base_url


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"host": None}, "host (Base URL) is empty"),
        ({"host": f"https://h:{CANARY}/"}, "host (Base URL) takes a URL"),
        ({"host": f"https://u:{CANARY}@h/"}, "host (Base URL) must have no credentials"),
        ({"host": f"ftp://{CANARY}/"}, "host (Base URL) must be an absolute http or https URL"),
        ({"host": f"https://[{CANARY}/"}, "host (Base URL) takes a URL"),
        ({"login": ""}, "login (Client ID) is empty"),
        ({"password": None}, "password (Secret) is empty"),
        ({"schema": CANARY}, "schema is not used. Put the path into host (Base URL) instead"),
        ({"extra": {"application_id": None}}, "extra application_id (Application ID) is empty"),
        (
            {"extra": {"application_id": 1.5}},
            "extra application_id (Application ID) takes text, quoted in JSON",
        ),
        (
            {"extra": {"expires_in_unit": CANARY}},
            "extra expires_in_unit (Unit of expires_in) takes seconds or milliseconds or minutes",
        ),
        (
            {"extra": {"concurrency": CANARY}},
            "extra concurrency (Concurrency) takes a whole number from 1",
        ),
        ({"extra": {"concurrency": 0}}, "extra concurrency (Concurrency) must be at least 1"),
        ({"extra": {"page_size": 1.5}}, "extra page_size (Page size) takes a whole number from 1"),
        ({"extra": {"timeout": CANARY}}, "extra timeout (Timeout) takes a number above 0"),
        ({"extra": {"timeout": -1}}, "extra timeout (Timeout) must be more than 0"),
        (
            {"extra": {"time_zone": f"../{CANARY}"}},
            "extra time_zone (Time zone) takes the name of a time zone, for example Europe/Paris",
        ),
        (
            {"extra": {"end_date_inclusive": CANARY}},
            "extra end_date_inclusive (end_date is inclusive) takes true or false",
        ),
        ({"extra": {"verify": 3}}, "extra verify (Verify TLS) takes true, false or a path"),
        ({"extra": {"proxies": [CANARY]}}, "extra proxies (Proxies) takes a JSON object of text"),
        ({"extra": {"proxies": "{" + CANARY}}, "extra proxies (Proxies) takes a JSON object"),
        (
            {"extra": {"token_bearer_secret": f"{CANARY}\n"}},
            "extra token_bearer_secret (Bearer token for token requests) must be printable ASCII",
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_an_error_names_the_field_and_its_accepted_values_but_no_value(
    fields: dict[str, Any], text: str
) -> None:
    with pytest.raises(BadConnection) as raised:
        read(**fields)
    assert str(raised.value).startswith(f"Connection bms_default: {text}")
    assert CANARY not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


@pytest.mark.parametrize("extra", ["[1]", '"text"', '{"application_id": "canary'])
def test_extras_that_are_no_json_object_are_refused(extra: str) -> None:
    with pytest.raises(BadConnection, match="extra takes a JSON object"):
        given_extras(Connection(conn_id="c", conn_type="bms", extra=extra))


def test_unknown_extras_are_named_and_not_read() -> None:
    made = connection(extra={"verify_ssl": CANARY, "later": 1})
    assert unknown_extras(made) == "later, verify_ssl"
    assert given_extras(made) == {"application_id": "app"}
    retired = unknown_extras(connection(extra={"attempts": 3, "trust_env": False}))
    assert (
        retired
        == "attempts (6 attempts are a constant), trust_env (set NO_PROXY to the service's host)"
    )


@pytest.mark.parametrize(
    ("given", "entities"),
    [
        (None, []),
        ("", []),
        ("1, 2,5", [1, 2, 5]),
        ("7", [7]),
        (7, [7]),
        ([1, "2"], [1, 2]),
        ("3,", [3]),
    ],
    ids=repr,
)
def test_entities_may_be_text_a_number_or_a_list(given: object, entities: list[int]) -> None:
    assert entity_list(given) == entities


@pytest.mark.parametrize("given", [CANARY, "1;2", [None], {"a": 1}, [1.5], True, -1], ids=repr)
def test_other_values_of_entities_are_refused(given: object) -> None:
    with pytest.raises(BadConnection) as raised:
        entity_list(given)
    assert str(raised.value) == "extra entities (Entities) takes numbers, for example 1, 2, 5."


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(name=st.sampled_from(sorted(CONNECTION_FIELDS)), value=JUNK)
@example(name="entities", value="9" * 5_000)
@example(name="proxies", value='{"https": ' + "[" * 100_000)
@example(name="timeout", value="1e999")
def test_any_value_of_an_extra_is_read_or_refused_by_name(name: str, value: Any) -> None:
    made = connection(extra={"application_id": "app", name: value})
    try:
        extras = given_extras(made)
        client_settings(made, extras)
        entity_list(extras.get("entities"))
    except BadConnection as error:
        assert name in str(error)  # noqa: PT017 - the value may be valid


@given(
    host=st.text(max_size=30) | st.from_regex(r"https?://[a-z.:0-9\[\]@/%]{1,20}", fullmatch=True)
)
def test_any_host_is_read_or_refused(host: str) -> None:
    try:
        settings = read(host=host)
    except BadConnection as error:
        assert FIELDS["base_url"] in str(error)  # noqa: PT017 - the value may be valid
    else:
        Transport(settings, Counters())
