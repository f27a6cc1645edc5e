"""Unit of `expires_in` in a token response (interface, "Authentication"); pure functions."""

from collections.abc import Mapping
from typing import Any, Final

from bms.auth import claims, number
from bms.settings import SECONDS_PER_UNIT
from bms_flows.contract.finding import ContractFinding, Question

UNIT: Final = Question("expires_in_unit", "expires_in_unit of the connection")
ROUNDING_S: Final = 2.0
"""Tolerance in seconds: claims are whole seconds, and the response took time."""


def expires_in_unit(content: Any, served_at: float | None, assumed: str) -> ContractFinding:
    """Return the unit in which `expires_in` agrees with the token's `exp`.

    A service may count from the token's issue or from its response. If several units fit, or
    none, the unit is undetermined.
    """
    content = content if isinstance(content, Mapping) else {}
    expires_in, token = number(content.get("expires_in")), content.get("access_token")
    if expires_in is None or expires_in <= 0:
        return UNIT.undetermined("expires_in is no number above 0.")
    of_token = claims(token) if isinstance(token, str) else {}
    expires, issued = number(of_token.get("exp")), number(of_token.get("iat"))
    starts = [start for start in (issued, served_at) if start is not None]
    if expires is None or not starts:
        return UNIT.undetermined("the token has no readable exp.")
    lives = [expires - start for start in starts]
    units = {
        unit
        for unit, seconds in SECONDS_PER_UNIT.items()
        for life in lives
        if abs(expires_in * seconds - life) <= ROUNDING_S + seconds / 2
    }
    if len(units) != 1:
        return UNIT.undetermined("exp and expires_in agree in several units, or in none.")
    (unit,) = units
    advice = None if unit == assumed else f"It is {assumed}: set expires_in_unit to {unit}."
    return UNIT.answered(unit, f"expires_in is in {unit}, according to the token's exp.", advice)
