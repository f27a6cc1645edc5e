"""Tokens: what one says about its life, when the next is due, and that only one is fetched at a time.

Interface, section "Authentication". The scheme sent is always Bearer, whatever `token_type` says:
the interface declares an HTTP bearer scheme, other values are not shown (our assumption).
"""

import asyncio
import base64
import binascii
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from bms.decoding import UNREADABLE
from bms.errors import BmsError
from bms.scopes import granted_scopes

LEAD_SECONDS: Final = 60.0
LEAD_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """An access token; compared by identity, its value never shown.

    `asked_at` is the Unix time just before it was asked for, `life` its seconds from then;
    None where nothing readable tells its life, and then it is used until it is refused.
    """

    value: str = field(repr=False)
    scopes: frozenset[str] | None
    asked_at: float
    life: float | None

    @property
    def renew_at(self) -> float:
        """Unix time from which on the next is fetched: a tenth of the life or a minute ahead."""
        if self.life is None:
            return math.inf
        return self.asked_at + self.life - min(LEAD_SECONDS, LEAD_SHARE * self.life)

    def remaining(self, now: float) -> float | None:
        """Return the seconds left, or None when its life is unknown."""
        return None if self.life is None else max(0.0, self.asked_at + self.life - now)


def read_token(
    body: bytes, *, asked_at: float, served_at: float | None, seconds_per_unit: float
) -> Token | None:
    """Return the token of a token answer, or None if there is none that could be sent.

    `served_at` is the answer's own Date header, Unix time. A value that could not stand in a
    header is no token.
    """
    try:
        answer = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
    except UNREADABLE:
        return None
    value = answer.get("access_token") if isinstance(answer, dict) else None
    if not isinstance(value, str) or not value or not value.isascii() or not value.isprintable():
        return None
    life = life_by_claims(claims(value), asked_at=asked_at, served_at=served_at)
    if life is None:
        life = positive(number(answer.get("expires_in")), times=seconds_per_unit)
    return Token(
        value=value, scopes=granted_scopes(answer.get("scope")), asked_at=asked_at, life=life
    )


def claims(token: str) -> dict[str, Any]:
    """Return the claims of a JWT, unverified (its signature is the service's business), or {}."""
    parts = token.split(".")
    if len(parts) != 3:  # noqa: PLR2004 -- header, claims, signature
        return {}
    try:
        found = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, *UNREADABLE):
        return {}
    return found if isinstance(found, dict) else {}


def life_by_claims(
    claims: dict[str, Any], *, asked_at: float, served_at: float | None
) -> float | None:
    """Return the seconds a JWT lives by its `exp`, or None if it has none.

    Measured on the service's own clock, by the Date of its answer and by `iat`, so that a local
    clock that is wrong doesn't matter. The shorter of the two counts: a service that hands out a
    token it issued before has an old `iat`. The local clock is the last resort.
    """
    expires = number(claims.get("exp"))
    if expires is None:
        return None
    starts = [start for start in (served_at, number(claims.get("iat"))) if start is not None]
    lives = [life for start in starts if (life := positive(expires - start)) is not None]
    return min(lives, default=positive(expires - asked_at))


def number(value: Any) -> float | None:
    """Return a finite JSON number, or one written as a string, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def positive(value: float | None, *, times: float = 1.0) -> float | None:
    """Return a length of time, or None: a token that is already dead when it comes is not meant."""
    return value * times if value is not None and value > 0 else None


class Tokens:
    """Holds the current token and fetches the next, one fetch at a time however many wait.

    `fetch` asks the service and raises a `BmsError` if it gets none. The token stays in this
    object: it is neither stored nor shared between processes.
    """

    def __init__(
        self, fetch: Callable[[], Awaitable[Token]], *, clock: Callable[[], float]
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._held: Token | None = None
        self._lock = asyncio.Lock()
        self._fetches = 0
        self._failure: BmsError | None = None

    async def take(self, *, instead_of: Token | None = None) -> Token:
        """Return a live token, fetched if need be.

        With `instead_of`, a token that was refused: one that somebody else has renewed in the
        meantime will do. Those who waited for a fetch that failed share its failure.
        """
        fetches = self._fetches
        held = self._live(instead_of)
        if held is not None:
            return held
        async with self._lock:
            held = self._live(instead_of)
            if held is not None:
                return held
            if self._failure is not None and self._fetches > fetches:
                raise self._failure
            try:
                self._held, self._failure = await self._fetch(), None
            except BmsError as error:
                self._failure = error
                raise
            finally:
                self._fetches += 1
            return self._held

    def _live(self, instead_of: Token | None) -> Token | None:
        held = self._held
        if held is None or held is instead_of or self._clock() >= held.renew_at:
            return None
        return held
