"""What a token's answer tells of its own life (interface, "Authentication"); pure."""

from collections.abc import Mapping
from typing import Any, Final

from bms.auth import claims, number
from bms.settings import SECONDS_PER_UNIT
from bms_flows.contract.finding import Finding, cannot_tell

NAME: Final = "expires_in_unit"
SETTING: Final = "expires_in_unit of the connection"
ROUNDING_S: Final = 2.0
"""Seconds by which a life may be off: claims are whole seconds, the answer took its time."""


def expires_in_unit(answer: Any, served_at: float | None, assumed: str) -> Finding:
    """Return the unit in which `expires_in` agrees with the token's own `exp`.

    A service may count from the token's issue or from its answer; where units disagree over
    which, or none fits, nobody can tell.
    """
    answer = answer if isinstance(answer, Mapping) else {}
    given, token = number(answer.get("expires_in")), answer.get("access_token")
    if given is None or given <= 0:
        return cannot_tell(NAME, "expires_in is no number above 0.", setting=SETTING)
    said = claims(token) if isinstance(token, str) else {}
    expires, issued = number(said.get("exp")), number(said.get("iat"))
    starts = [start for start in (issued, served_at) if start is not None]
    if expires is None or not starts:
        return cannot_tell(NAME, "the token holds no readable exp.", setting=SETTING)
    lives = [expires - start for start in starts]
    units = {
        unit
        for unit, seconds in SECONDS_PER_UNIT.items()
        for life in lives
        if abs(given * seconds - life) <= ROUNDING_S + seconds / 2
    }
    if len(units) != 1:
        why = "exp and expires_in agree in more than one unit, or in none."
        return cannot_tell(NAME, why, setting=SETTING)
    (unit,) = units
    return Finding(
        name=NAME,
        value=unit,
        told=f"expires_in is given in {unit}, by the token's own exp.",
        setting=SETTING,
        advice=None if unit == assumed else f"It says {assumed}: set expires_in_unit to {unit}.",
    )
