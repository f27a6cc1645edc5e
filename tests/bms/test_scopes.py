"""Tests of granted scopes and the scope check."""

from typing import Any

import pytest

from bms.endpoints import BY_NAME, ENDPOINTS
from bms.errors import MissingScope
from bms.scopes import granted_scopes, require_scopes


@pytest.mark.parametrize(
    ("scope", "granted"),
    [
        (["read:contact", "write:contact"], {"read:contact", "write:contact"}),
        ("read:contact write:contact", {"read:contact", "write:contact"}),
        ("read:contact, write:contact", {"read:contact", "write:contact"}),
        (["read:contact write:contact"], {"read:contact", "write:contact"}),
        ([], None),
        ("", None),
        ("  ", None),
        (None, None),
        ({"read:contact": True}, None),
        ([1, None], None),
        (["api://bms/read:contact", "READ:EMPLOYEE", "openid"], None),
        # Errors, logs and XCom name the scopes: a service could put anything there.
        (["read:contact", "openid", "eyJ0b2tlbg", "\x1b[2J"], {"read:contact"}),
    ],
)
def test_every_shape_of_scopes(scope: Any, granted: set[str] | None) -> None:
    assert granted_scopes(scope) == granted


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if e.scope], ids=lambda e: e.name)
def test_each_endpoint_requires_its_scope(endpoint: Any) -> None:
    every = {e.scope for e in ENDPOINTS if e.scope}
    require_scopes([endpoint], {endpoint.scope})
    with pytest.raises(MissingScope) as caught:
        require_scopes([endpoint], every - {endpoint.scope})
    assert caught.value.needed == endpoint.scope
    assert not caught.value.retriable
    assert f"grant {endpoint.scope}" in str(caught.value)


def test_the_token_operation_requires_no_scope() -> None:
    require_scopes([BY_NAME["request_token"]], frozenset())


def test_one_error_names_every_scope_that_is_lacking() -> None:
    asked = [BY_NAME[name] for name in ("list_contacts", "read_employee", "create_contact")]
    lacking = [asked[0].scope, asked[2].scope]
    with pytest.raises(MissingScope) as caught:
        require_scopes(asked, {asked[1].scope or ""})
    assert caught.value.needed == ", ".join(filter(None, lacking))
