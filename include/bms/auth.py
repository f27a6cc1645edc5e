"""Access tokens: parsing, lifetime and single-flight renewal.

Interface, section "Authentication". The client always sends the scheme Bearer, whatever
`token_type` is: the interface declares an HTTP bearer scheme and shows no other value of
`token_type` (our assumption).
"""

import asyncio
import base64
import binascii
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from bms.errors import BmsError
from bms.json_content import BYTE_ORDER_MARK, UNREADABLE
from bms.scopes import granted_scopes

RENEWAL_LEAD_S: Final = 60.0
RENEWAL_LEAD_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """An access token, compared by identity; its repr does not show the value.

    `requested_at` is the Unix time of the request, `life` the seconds from then. A token of
    unknown life (None) is used until the service refuses it.
    """

    value: str = field(repr=False)
    scopes: frozenset[str] | None
    requested_at: float
    life: float | None

    @property
    def renew_at(self) -> float:
        """Unix time of the renewal: a tenth of the life before its end, at most a minute."""
        if self.life is None:
            return math.inf
        return self.requested_at + self.life - min(RENEWAL_LEAD_S, RENEWAL_LEAD_SHARE * self.life)

    def remaining(self, now: float) -> float | None:
        """Return the remaining seconds, or None if the life is unknown."""
        return None if self.life is None else max(0.0, self.requested_at + self.life - now)


def read_token(
    body: bytes, *, requested_at: float, served_at: float | None, seconds_per_unit: float
) -> Token | None:
    """Return the token of a token response, or None if there is no usable token.

    `served_at` is the response's Date header as Unix time. A value that an HTTP header cannot
    carry is no token.
    """
    try:
        content = msgspec.json.decode(body.removeprefix(BYTE_ORDER_MARK))
    except UNREADABLE:
        return None
    value = content.get("access_token") if isinstance(content, dict) else None
    if not isinstance(value, str) or not value or not value.isascii() or not value.isprintable():
        return None
    life = life_by_claims(claims(value), requested_at=requested_at, served_at=served_at)
    if life is None:
        life = positive(number(content.get("expires_in")), times=seconds_per_unit)
    return Token(
        value=value,
        scopes=granted_scopes(content.get("scope")),
        requested_at=requested_at,
        life=life,
    )


def claims(token: str) -> dict[str, Any]:
    """Return the claims of a JWT without verifying it, {} for any other token."""
    parts = token.split(".")
    if len(parts) != 3:  # noqa: PLR2004 -- header, claims, signature
        return {}
    try:
        found = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, *UNREADABLE):
        return {}
    return found if isinstance(found, dict) else {}


def life_by_claims(
    claims: dict[str, Any], *, requested_at: float, served_at: float | None
) -> float | None:
    """Return the seconds until the `exp` of a JWT, or None without one.

    Counts from the response's Date header and from `iat`, both by the service's clock, so that a
    wrong local clock has no effect, and returns the shorter life: a token that the service issued
    earlier has an old `iat`. Uses the local clock only without both.
    """
    expires = number(claims.get("exp"))
    if expires is None:
        return None
    starts = [start for start in (served_at, number(claims.get("iat"))) if start is not None]
    lives = [life for start in starts if (life := positive(expires - start)) is not None]
    return min(lives, default=positive(expires - requested_at))


def number(value: Any) -> float | None:
    """Return a finite number from a JSON number or string, None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def positive(value: float | None, *, times: float = 1.0) -> float | None:
    """Return a positive duration times a factor, else None: no service issues expired tokens."""
    return value * times if value is not None and value > 0 else None


class Tokens:
    """Holds the current token and renews it; concurrent callers share one renewal.

    `fetch` requests a token from the service and raises a `BmsError` on failure. The token stays
    in this object: it is neither stored nor shared between processes.
    """

    def __init__(
        self, fetch: Callable[[], Awaitable[Token]], *, clock: Callable[[], float]
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._current: Token | None = None
        self._lock = asyncio.Lock()
        self._fetches = 0
        self._failure: BmsError | None = None

    def hold(self, token: Token) -> None:
        """Use this token from now on."""
        self._current = token

    async def take(self, *, instead_of: Token | None = None) -> Token:
        """Return a valid token, fetched if necessary.

        `instead_of` is a refused token: another caller's renewal of it is used as well. Callers
        that waited for a failed fetch share its error.
        """
        fetches = self._fetches
        token = self._valid(instead_of)
        if token is not None:
            return token
        async with self._lock:
            token = self._valid(instead_of)
            if token is not None:
                return token
            if self._failure is not None and self._fetches > fetches:
                raise self._failure
            self._failure = None  # a cancelled fetch leaves none
            try:
                self._current = await self._fetch()
            except BmsError as error:
                self._failure = error
                raise
            finally:
                self._fetches += 1
            return self._current

    def _valid(self, refused: Token | None) -> Token | None:
        token = self._current
        if token is None or token is refused or self._clock() >= token.renew_at:
            return None
        return token
