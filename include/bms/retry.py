"""Retry decisions: whether a failed request is repeated, and after how many seconds."""

from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from bms.errors import (
    BmsError,
    ConnectionFailed,
    Distress,
    MalformedResponse,
    NoResponse,
    Redirected,
    ServiceUnavailable,
    Throttled,
    Timeout,
    TooLarge,
    Unauthorized,
)
from bms.settings import ClientSettings

BASE: Final = 0.5
"""Seconds of the first backoff, which doubles with each attempt."""
LONGEST_WAIT: Final = 6 * 3600.0
"""Maximum of a Retry-After: gateways send years, and a retried task would wait for years."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Send the request again after `delay` seconds."""

    delay: float


@dataclass(frozen=True, slots=True)
class Fail:
    """Raise the error unchanged."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Raise `AmbiguousWrite` with this reason: the record may have been created."""

    reason: str


Decision = Retry | Fail | Ambiguous

SENT_ELSEWHERE: Final = frozenset({307, 308})
"""Redirects that ask for the same request elsewhere, so it was not executed; after the others it may have been."""

# Errors that leave the outcome of a create ambiguous. Any other 4xx is a refusal, and a refused
# create was not executed: not shown by the interface, our assumption.
AMBIGUOUS_REASONS: Final[dict[type[BmsError], str]] = {
    Timeout: "timeout",
    ConnectionFailed: "connection lost",
    ServiceUnavailable: "server error",
    Throttled: "throttled",
    MalformedResponse: "unreadable response",
    TooLarge: "response too large",
    Redirected: "redirected",
}


def decide(
    error: BmsError, *, idempotent: bool, attempt: int, settings: ClientSettings, jitter: float
) -> Decision:
    """Decide what follows a failed attempt.

    `attempt` counts from 1; `jitter` is uniform in [0, 1). A read is repeated after any retriable
    error. A create is repeated only if it was certainly not executed; otherwise its outcome is
    ambiguous. A 401 is repeated with a new token: where the service keeps one live token per
    client, another task may have ended the previous one.
    """
    if not idempotent and not certainly_not_executed(error, settings):
        reason = AMBIGUOUS_REASONS.get(type(error))
        return Fail() if reason is None else Ambiguous(reason)
    if attempt >= settings.attempts or not error.retriable:
        return Fail()
    wait = requested_wait(error)
    return Retry(backoff(attempt, cap=settings.backoff_cap, requested=wait, jitter=jitter))


def certainly_not_executed(error: BmsError, settings: ClientSettings) -> bool:
    """Return whether a request that failed with `error` cannot have changed the service."""
    if isinstance(error, NoResponse):
        return not error.sent
    return (
        isinstance(error, Unauthorized)
        or (isinstance(error, Throttled) and settings.create_refused_by_429)
        or (isinstance(error, Redirected) and error.status in SENT_ELSEWHERE)
    )


def backoff(attempt: int, *, cap: float, requested: float | None, jitter: float) -> float:
    """Return the seconds to wait after an attempt, at most `cap`.

    The wait doubles with each attempt; `jitter` takes off up to half, so that many clients do not
    return at once. A wait that the service requested is kept up to the cap, plus a little jitter.
    """
    if requested is not None:
        return min(cap, requested + BASE * jitter)
    return min(cap, BASE * 2.0 ** min(attempt - 1, 60)) * (1 - jitter / 2)


def requested_wait(error: BmsError) -> float | None:
    """Return the seconds that the service requested to wait, or None."""
    return error.retry_after if isinstance(error, Distress) else None


def retry_after(value: str | None, *, now: float) -> float | None:
    """Return a Retry-After header as seconds from `now`, or None if it is absent or unreadable.

    The header holds seconds or an HTTP date; a longer wait counts as `LONGEST_WAIT`. `now` is Unix
    time, by the service's clock if known.
    """
    if value is None:
        return None
    text = value.strip()
    try:
        seconds = float(text) if text.isascii() and text.isdigit() else http_date(text) - now
    except ValueError:
        return None
    return min(LONGEST_WAIT, max(0.0, seconds))


def http_date(value: str) -> float:
    """Return an HTTP date as Unix time, or raise `ValueError`."""
    moment = parsedate_to_datetime(value)
    # An obsolete form without a zone is UTC by RFC 9110.
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
