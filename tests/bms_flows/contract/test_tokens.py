"""Tests of the unit of `expires_in`."""

import base64
import json
from typing import Any

import pytest

from bms_flows.contract.tokens import expires_in_unit

NOW = 1_000_000.0


def token(**claims: Any) -> str:
    return f"a.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.c"


HOUR = token(iat=NOW, exp=NOW + 3600)


@pytest.mark.parametrize(
    ("expires_in", "access_token", "unit"),
    [
        (3600, HOUR, "seconds"),
        (60, HOUR, "minutes"),
        (3_600_000, HOUR, "milliseconds"),
        (1800, HOUR, None),
        (0, HOUR, None),
        ("soon", HOUR, None),
        (3600, "opaque", None),
        (3600, token(iat=NOW), None),
        (1, token(iat=NOW, exp=NOW + 1), None),
    ],
)
def test_the_unit_agrees_with_exp(expires_in: Any, access_token: str, unit: str | None) -> None:
    content = {"expires_in": expires_in, "access_token": access_token}
    finding = expires_in_unit(content, NOW, "seconds")
    assert finding.value == unit
    assert bool(finding.advice) is (unit not in (None, "seconds"))


def test_the_response_time_counts_for_a_token_issued_earlier() -> None:
    content = {"expires_in": 600, "access_token": HOUR}
    assert expires_in_unit(content, NOW + 3000, "seconds").value == "seconds"
