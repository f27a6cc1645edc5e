"""The retry decision: what is repeated, what is given up, what is in doubt, and for how long."""

import time
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bms.endpoints import BY_NAME
from bms.errors import (
    BmsError,
    ConnectionFailed,
    Forbidden,
    InvalidRecords,
    MalformedResponse,
    MissingScope,
    NotFound,
    Redirected,
    Refused,
    ServiceUnavailable,
    Throttled,
    Timeout,
    TooLarge,
    Unauthorized,
)
from bms.retry import BASE, Ambiguous, Fail, Policy, Retry, backoff, decide, retry_after

E = BY_NAME["create_employee"]
THROTTLED = Throttled(E, "x", status=429, retry_after=None)
UNAVAILABLE = ServiceUnavailable(E, "x", status=503, retry_after=None)
NOT_SENT = ConnectionFailed(E, "x", sent=False)
LOST = ConnectionFailed(E, "x", sent=True)
UNSENT_TIMEOUT = Timeout(E, "x", sent=False)
TIMEOUT = Timeout(E, "x", sent=True)
MALFORMED = MalformedResponse(E, "x")
TOO_LARGE = TooLarge(E, "x")
REDIRECTED = Redirected(E, "x", status=302)
UNAUTHORIZED = Unauthorized(E, "x", status=401)
FINAL = [
    MissingScope(E, "write:employee", []),
    Refused(E, "x", status=422),
    Forbidden(E, "x", status=403),
    NotFound(E, "x", status=404),
    InvalidRecords(E, []),
]


def name(error: object) -> str:
    kind = type(error).__name__
    return kind if getattr(error, "sent", True) else f"{kind} before sending"


def asked(error: BmsError, *, idempotent: bool, attempt: int = 1, by_429: bool = False) -> Any:
    policy = Policy(attempts=3, backoff_cap=30.0, create_refused_by_429=by_429)
    return decide(error, idempotent=idempotent, attempt=attempt, policy=policy, jitter=0.0)


@pytest.mark.parametrize(
    "error",
    [THROTTLED, UNAVAILABLE, NOT_SENT, LOST, UNSENT_TIMEOUT, TIMEOUT, MALFORMED, UNAUTHORIZED],
    ids=name,
)
def test_a_read_is_repeated_up_to_its_attempts(error: BmsError) -> None:
    assert asked(error, idempotent=True, attempt=1) == Retry(BASE)
    assert asked(error, idempotent=True, attempt=2) == Retry(2 * BASE)
    assert asked(error, idempotent=True, attempt=3) == Fail()


@pytest.mark.parametrize("error", [*FINAL, REDIRECTED, TOO_LARGE], ids=name)
def test_a_read_that_was_answered_for_good_is_not_repeated(error: BmsError) -> None:
    assert asked(error, idempotent=True) == Fail()


@pytest.mark.parametrize("error", [NOT_SENT, UNSENT_TIMEOUT, UNAUTHORIZED], ids=name)
def test_a_create_that_was_never_sent_or_not_let_in_is_repeated(error: BmsError) -> None:
    assert asked(error, idempotent=False) == Retry(BASE)
    assert asked(error, idempotent=False, attempt=3) == Fail()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (THROTTLED, "throttled"),
        (UNAVAILABLE, "server error"),
        (LOST, "connection lost"),
        (TIMEOUT, "timeout"),
        (MALFORMED, "unreadable response"),
        (TOO_LARGE, "response too large"),
        (REDIRECTED, "redirected"),
    ],
    ids=name,
)
def test_a_create_that_may_have_happened_is_in_doubt_at_once(error: BmsError, reason: str) -> None:
    for attempt in (1, 3):
        assert asked(error, idempotent=False, attempt=attempt) == Ambiguous(reason)


@pytest.mark.parametrize("error", FINAL, ids=name)
def test_a_create_that_was_refused_is_neither_repeated_nor_in_doubt(error: BmsError) -> None:
    assert asked(error, idempotent=False) == Fail()


def test_a_throttled_create_is_repeated_only_where_the_settings_say_so() -> None:
    assert asked(THROTTLED, idempotent=False, by_429=True) == Retry(BASE)
    assert asked(THROTTLED, idempotent=False, by_429=True, attempt=3) == Fail()
    assert asked(UNAVAILABLE, idempotent=False, by_429=True) == Ambiguous("server error")


@pytest.mark.parametrize("kind", [Throttled, ServiceUnavailable])
def test_the_wait_that_the_service_names_is_kept(kind: type[BmsError]) -> None:
    error = kind(E, "x", status=503, retry_after=7.0)
    assert asked(error, idempotent=True) == Retry(7.0)
    assert asked(error, idempotent=True, attempt=2) == Retry(7.0)


@pytest.mark.parametrize(("jitter", "share"), [(0.0, 1.0), (0.5, 0.75), (0.9, 0.55)])
def test_chance_takes_away_up_to_half_of_a_wait(jitter: float, share: float) -> None:
    assert backoff(3, cap=30, requested=None, jitter=jitter) == 4 * BASE * share


jitters = st.floats(0, 1, exclude_max=True)


@given(st.integers(1, 10_000), st.floats(0.01, 3600), jitters)
def test_backoff_is_positive_and_never_over_its_cap(
    attempt: int, cap: float, jitter: float
) -> None:
    wait = backoff(attempt, cap=cap, requested=None, jitter=jitter)
    assert 0 < wait <= cap


@given(st.integers(1, 40), jitters)
def test_backoff_never_shrinks_from_try_to_try(attempt: int, jitter: float) -> None:
    first = backoff(attempt, cap=30, requested=None, jitter=jitter)
    assert backoff(attempt + 1, cap=30, requested=None, jitter=jitter) >= first


@given(st.floats(0, 1e9), st.floats(0.01, 3600), jitters)
def test_a_wait_that_was_asked_for_is_kept_up_to_the_cap(
    wanted: float, cap: float, jitter: float
) -> None:
    wait = backoff(1, cap=cap, requested=wanted, jitter=jitter)
    assert min(cap, wanted) <= wait <= min(cap, wanted + BASE)


NOW = datetime(2026, 3, 31, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("Tue, 31 Mar 2026 12:00:09 GMT", 9.0),
        ("Tue, 31 Mar 2026 14:00:09 +0200", 9.0),
        ("Tue, 31 Mar 2026 11:00:00 GMT", 0.0),
        ("Tuesday, 31-Mar-26 12:00:09 GMT", 9.0),
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("٣", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(
    value: str | None, seconds: float | None
) -> None:
    assert retry_after(value, now=NOW) == seconds


@pytest.mark.parametrize("value", ["Tue Mar 31 12:00:09 2026", "Tue, 31 Mar 2026 12:00:09 -0000"])
def test_an_http_date_without_a_zone_is_utc_wherever_the_worker_runs(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "America/New_York")
        time.tzset()
        assert retry_after(value, now=NOW) == 9.0
    time.tzset()


@given(st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001 -- made aware below
def test_any_http_date_is_read_back(moment: datetime) -> None:
    written = format_datetime(moment.replace(tzinfo=UTC, microsecond=0), usegmt=True)
    expected = max(0.0, moment.replace(tzinfo=UTC, microsecond=0).timestamp() - NOW)
    assert retry_after(written, now=NOW) == expected


@given(st.text())
def test_no_header_makes_it_fail(value: str) -> None:
    wait = retry_after(value, now=NOW)
    assert wait is None or wait >= 0
