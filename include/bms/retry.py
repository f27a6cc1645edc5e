"""Whether a failed try is repeated, and after how long: a pure decision."""

from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from bms.errors import (
    BmsError,
    ConnectionFailed,
    MalformedResponse,
    Redirected,
    ServiceUnavailable,
    Throttled,
    Timeout,
    TooLarge,
    Unauthorized,
)

BASE: Final = 0.5
"""Seconds; the first backoff, doubled from try to try."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How far repeating may go."""

    attempts: int
    backoff_cap: float
    create_refused_by_429: bool


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after `delay` seconds."""

    delay: float


@dataclass(frozen=True, slots=True)
class Fail:
    """Raise the error as it is."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A create may have happened: raise `AmbiguousWrite` with this reason."""

    reason: str


Decision = Retry | Fail | Ambiguous

# After these a create that was sent is in doubt. Any other 4xx is a refusal, and a refused create
# was not executed: not shown by the interface, our assumption.
AMBIGUOUS_REASONS: Final[dict[type[BmsError], str]] = {
    Timeout: "no answer in time",
    ConnectionFailed: "connection lost",
    ServiceUnavailable: "server error",
    Throttled: "throttled",
    MalformedResponse: "unreadable answer",
    TooLarge: "answer too large",
    Redirected: "redirected",
}


def decide(
    error: BmsError, *, idempotent: bool, attempt: int, policy: Policy, chance: float
) -> Decision:
    """Decide on one failed try.

    `attempt` counts from 1, `chance` is uniform in [0, 1). A read is repeated for any retriable
    error; a create only when it surely was not executed; after that a create is in doubt, never
    repeated. Missing scopes and refusals are never repeated, but for a 401, each time with a new
    token: where a service keeps one live token per client, another task may have ended it.
    """
    if not idempotent and not surely_not_executed(error, policy):
        reason = AMBIGUOUS_REASONS.get(type(error))
        return Fail() if reason is None else Ambiguous(reason)
    if attempt >= policy.attempts or not error.retriable:
        return Fail()
    return Retry(backoff(attempt, cap=policy.backoff_cap, asked=asked_wait(error), chance=chance))


def surely_not_executed(error: BmsError, policy: Policy) -> bool:
    """Whether a request that failed so cannot have changed anything in the service."""
    if isinstance(error, ConnectionFailed | Timeout):
        return not error.sent
    return isinstance(error, Unauthorized) or (
        isinstance(error, Throttled) and policy.create_refused_by_429
    )


def backoff(attempt: int, *, cap: float, asked: float | None, chance: float) -> float:
    """Return the seconds to wait after try `attempt`: never more than `cap`.

    Doubles from try to try; `chance` takes away up to half, so that many clients do not come back
    at once. A wait the service asked for is kept, up to the cap, with a little chance on top.
    """
    if asked is not None:
        return min(cap, asked + BASE * chance)
    return min(cap, BASE * 2.0 ** min(attempt - 1, 60)) * (1 - chance / 2)


def asked_wait(error: BmsError) -> float | None:
    """Return the seconds the service asked to wait, if it did."""
    return error.retry_after if isinstance(error, Throttled | ServiceUnavailable) else None


def retry_after(value: str | None, *, now: float) -> float | None:
    """Return a Retry-After header as seconds from `now` (Unix time), or None if it says nothing usable.

    It may be seconds or an HTTP date; give `now` by the service's own clock where it tells it.
    """
    if value is None:
        return None
    text = value.strip()
    try:
        seconds = float(text) if text.isascii() and text.isdigit() else http_date(text) - now
    except ValueError:
        return None
    return max(0.0, seconds)


def http_date(value: str) -> float:
    """Return an HTTP date as Unix time, or raise `ValueError`."""
    moment = parsedate_to_datetime(value)
    # An obsolete form without a zone is UTC by RFC 9110.
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
