"""The HTTP provider's hook on a connection of type bms, against the sandbox."""

import logging
from typing import Any

import pytest

from bms.errors import MissingScope, NotFound, Refused
from bms_provider.hooks.http import BmsHttpHook, next_page
from bms_sandbox.serve import Sandbox

pytestmark = pytest.mark.usefixtures("connected")
CONTACTS = "/v1/CRM/contacts"
PLANTED = "planted.person@secret.example"


def test_any_path_is_requested_with_the_token_and_no_extra_as_a_header(
    sandbox: Sandbox, connected: Any
) -> None:
    connected(entities="1, 2", token_bearer_secret="bearer-canary")
    found = BmsHttpHook().run(CONTACTS, {"filter": "ALL", "page_size": 7})
    assert (found.status_code, len(found.json()["data"])) == (200, 7)
    assert found.url == f"{CONTACTS}?filter=ALL&page_size=7"
    assert BmsHttpHook().run(f"{CONTACTS}?filter=ALL&page_size=3").json()["total_pages"] == 9
    assert sandbox.truth()["requests"]["list_contacts"] == {"200": 2}


def test_an_expired_token_is_renewed(sandbox: Sandbox) -> None:
    hook = BmsHttpHook()
    hook.run(CONTACTS, {"filter": "ALL"})
    sandbox.revoke_tokens()
    assert hook.run(CONTACTS, {"filter": "ALL"}).status_code == 200
    assert sandbox.truth()["requests"]["list_contacts"] == {"200": 2, "401": 1}


def test_a_missing_scope_sends_nothing(sandbox: Sandbox) -> None:
    sandbox.set_dialect(granted_scopes=["read:employee"])
    with pytest.raises(MissingScope, match="needs the scope read:contact"):
        BmsHttpHook().run(f"{CONTACTS}/1001")
    assert "read_contact" not in sandbox.truth()["requests"]


def test_a_refusal_quotes_no_body_and_names_connection_host_and_fields(
    sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    asked = {"filter": PLANTED, "page_size": "many"}
    with pytest.raises(Refused) as refused:
        BmsHttpHook().run(CONTACTS, asked)
    assert "refused (422); the response names the fields filter, page_size" in str(refused.value)
    assert f"Connection bms_default, {sandbox.url}" in str(refused.value)
    assert PLANTED not in str(refused.value) + caplog.text
    shown = BmsHttpHook().run(CONTACTS, asked, extra_options={"check_response": False})
    assert shown.status_code == 422


def test_an_unknown_path_is_not_found() -> None:
    with pytest.raises(NotFound):
        BmsHttpHook().run("/v1/CRM/deals")


@pytest.mark.parametrize(
    "path", ["", "https://other.example/v1", "//other.example/v1", "v1/CRM", "/v1/{x}"]
)
def test_only_paths_below_the_base_url_are_requested(sandbox: Sandbox, path: str) -> None:
    with pytest.raises(ValueError, match="path begins with one /"):
        BmsHttpHook().run(path)
    assert sandbox.truth()["requests"] == {}


@pytest.mark.parametrize(
    ("method", "path", "text"),
    [
        ("POST", CONTACTS, "Use BmsCreateContactOperator"),
        ("post", "/v1/HR/employees", "Use BmsCreateEmployeeOperator"),
        ("DELETE", "/v1/CRM/contacts/1", "only GET is sent"),
    ],
)
def test_other_methods_are_refused(method: str, path: str, text: str) -> None:
    from bms_provider.hooks.http import check_get

    with pytest.raises(ValueError, match=text):
        check_get(method, path)
    with pytest.raises(ValueError, match="only GET"):
        BmsHttpHook(method=method)


@pytest.mark.parametrize("given", [{"headers": {"X": "1"}}, {"extra_options": {"verify": False}}])
def test_headers_and_options_are_the_connection_s(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="takes no headers, and check_response"):
        BmsHttpHook().run(CONTACTS, {"filter": "ALL"}, **given)
    with pytest.raises(NotImplementedError):
        BmsHttpHook().get_conn()


def test_the_next_page_follows_until_the_last() -> None:
    hook, asked = BmsHttpHook(), {"filter": "ALL", "page_size": 10}
    pages = [hook.run(CONTACTS, asked)]
    while more := next_page(pages[-1]):
        pages.append(hook.run(CONTACTS, asked | more["data"]))
    ids = [row["id"] for page in pages for row in page.json()["data"]]
    assert (len(pages), len({*ids})) == (3, 25)
