"""Tests of retry decisions and waits."""

import time
from dataclasses import replace
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
from bms.retry import (
    BASE,
    LONGEST_WAIT,
    Ambiguous,
    Fail,
    Retry,
    backoff,
    decide,
    retry_after,
)
from bms.settings import ClientSettings

SETTINGS = ClientSettings(
    base_url="https://bms.example", client_id="c", application_id="a", secret="s", attempts=3
)
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
SENT_ELSEWHERE = Redirected(E, "x", status=308)
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


def decision(error: BmsError, *, idempotent: bool, attempt: int = 1, by_429: bool = False) -> Any:
    settings = replace(SETTINGS, create_refused_by_429=by_429)
    return decide(error, idempotent=idempotent, attempt=attempt, settings=settings, jitter=0.0)


@pytest.mark.parametrize(
    "error",
    [THROTTLED, UNAVAILABLE, NOT_SENT, LOST, UNSENT_TIMEOUT, TIMEOUT, MALFORMED, UNAUTHORIZED],
    ids=name,
)
def test_a_read_is_retried_up_to_the_maximum_attempts(error: BmsError) -> None:
    assert decision(error, idempotent=True, attempt=1) == Retry(BASE)
    assert decision(error, idempotent=True, attempt=2) == Retry(2 * BASE)
    assert decision(error, idempotent=True, attempt=3) == Fail()


@pytest.mark.parametrize("error", [*FINAL, REDIRECTED, TOO_LARGE], ids=name)
def test_a_read_is_not_retried_after_a_final_error(error: BmsError) -> None:
    assert decision(error, idempotent=True) == Fail()


@pytest.mark.parametrize("error", [NOT_SENT, UNSENT_TIMEOUT, UNAUTHORIZED], ids=name)
def test_a_create_is_retried_if_it_was_not_sent_or_unauthorized(error: BmsError) -> None:
    assert decision(error, idempotent=False) == Retry(BASE)
    assert decision(error, idempotent=False, attempt=3) == Fail()


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
def test_a_create_that_may_have_been_executed_is_ambiguous(error: BmsError, reason: str) -> None:
    for attempt in (1, 3):
        assert decision(error, idempotent=False, attempt=attempt) == Ambiguous(reason)


@pytest.mark.parametrize("error", [*FINAL, SENT_ELSEWHERE], ids=name)
def test_a_refused_create_is_neither_retried_nor_ambiguous(error: BmsError) -> None:
    assert decision(error, idempotent=False) == Fail()


def test_a_throttled_create_is_retried_only_with_create_refused_by_429() -> None:
    assert decision(THROTTLED, idempotent=False, by_429=True) == Retry(BASE)
    assert decision(THROTTLED, idempotent=False, by_429=True, attempt=3) == Fail()
    assert decision(UNAVAILABLE, idempotent=False, by_429=True) == Ambiguous("server error")


@pytest.mark.parametrize("kind", [Throttled, ServiceUnavailable])
def test_the_wait_is_the_one_that_the_service_requests(
    kind: type[Throttled | ServiceUnavailable],
) -> None:
    error = kind(E, "x", status=503, retry_after=7.0)
    assert decision(error, idempotent=True) == Retry(7.0)
    assert decision(error, idempotent=True, attempt=2) == Retry(7.0)


@pytest.mark.parametrize(("jitter", "share"), [(0.0, 1.0), (0.5, 0.75), (0.9, 0.55)])
def test_jitter_takes_off_up_to_half_of_the_backoff(jitter: float, share: float) -> None:
    assert backoff(3, cap=30, requested=None, jitter=jitter) == 4 * BASE * share


jitters = st.floats(0, 1, exclude_max=True)


@given(st.integers(1, 10_000), st.floats(0.01, 3600), jitters)
def test_backoff_is_positive_and_within_its_cap(attempt: int, cap: float, jitter: float) -> None:
    wait = backoff(attempt, cap=cap, requested=None, jitter=jitter)
    assert 0 < wait <= cap


@given(st.integers(1, 40), jitters)
def test_backoff_never_decreases(attempt: int, jitter: float) -> None:
    first = backoff(attempt, cap=30, requested=None, jitter=jitter)
    assert backoff(attempt + 1, cap=30, requested=None, jitter=jitter) >= first


@given(st.floats(0, 1e9), st.floats(0.01, 3600), jitters)
def test_a_requested_wait_is_kept_up_to_the_cap(wanted: float, cap: float, jitter: float) -> None:
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
        ("31536000", 6 * 3600.0),
        ("9" * 400, 6 * 3600.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 6 * 3600.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, now=NOW) == seconds


@pytest.mark.parametrize("value", ["Tue Mar 31 12:00:09 2026", "Tue, 31 Mar 2026 12:00:09 -0000"])
def test_an_http_date_without_a_zone_is_utc_in_every_local_zone(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "America/New_York")
        time.tzset()
        assert retry_after(value, now=NOW) == 9.0
    time.tzset()


@given(st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001 - made aware below
def test_any_http_date_round_trips(moment: datetime) -> None:
    written = format_datetime(moment.replace(tzinfo=UTC, microsecond=0), usegmt=True)
    expected = max(0.0, moment.replace(tzinfo=UTC, microsecond=0).timestamp() - NOW)
    assert retry_after(written, now=NOW) == min(expected, LONGEST_WAIT)


@given(st.text())
def test_any_retry_after_header_is_parsed_without_an_error(value: str) -> None:
    wait = retry_after(value, now=NOW)
    assert wait is None or wait >= 0
