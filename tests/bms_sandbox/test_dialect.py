from dataclasses import fields
from typing import Any

import pytest

from bms_sandbox.dialect import Dialect, InvalidDialectError, describe, parse_options


def test_options_and_json_values_read_the_same() -> None:
    options = parse_options(
        [
            "expires_in_unit=minutes",
            "create-status=200",
            "one_live_token=true",
            "page_size_max=50",
            "token_lifetime=1.5",
            "granted_scopes=read:contact, write:contact",
            "base_path=tenant/api/",
        ]
    )
    content: dict[str, Any] = {
        "expires_in_unit": "minutes",
        "create_status": 200,
        "one_live_token": True,
        "page_size_max": 50,
        "token_lifetime": 1.5,
        "granted_scopes": ["read:contact", "write:contact"],
        "base_path": "/tenant/api",
    }
    assert Dialect().changed(options) == Dialect().changed(content)
    assert Dialect().changed(content).as_json() == Dialect().as_json() | content | {
        "granted_scopes": ("read:contact", "write:contact")
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("expires_in_unit", "hours"),
        ("create_status", 204),
        ("one_live_token", "perhaps"),
        ("page_size_max", -1),
        ("page_size_max", "many"),
        ("time_zone", "Europe/Nowhere"),
        ("no_such_field", "x"),
    ],
)
def test_a_refused_dialect_value_names_its_field(name: str, value: Any) -> None:
    with pytest.raises(InvalidDialectError, match=name):
        Dialect().changed({name: value})


def test_option_without_equals_sign_is_refused() -> None:
    with pytest.raises(InvalidDialectError, match="name=value"):
        parse_options(["nulls"])


def test_every_field_is_described_with_its_default() -> None:
    text = describe()
    for field in fields(Dialect):
        assert f"  {field.name} = " in text
        assert field.metadata["text"] in text
