from datetime import UTC, datetime, timedelta

from bms_sandbox.clock import Clock

START = datetime(2026, 3, 31, 9, tzinfo=UTC)


def test_a_frozen_clock_moves_only_on_request() -> None:
    clock = Clock(START, frozen=True)
    assert clock.now() == clock.now() == START
    clock.advance(86_400)
    assert clock.now() == START + timedelta(days=1)


def test_a_running_clock_continues_from_its_set_time() -> None:
    clock = Clock(START)
    first = clock.now()
    assert START <= first < START + timedelta(minutes=1)
    assert clock.now() >= first


def test_naive_instant_means_utc_and_released_clock_runs() -> None:
    clock = Clock(frozen=True)
    clock.set(START.replace(tzinfo=None), frozen=False)
    assert clock.now() >= START
    assert not clock.frozen
