"""How many requests may be in flight, decided from what answers say."""

import pytest

from bms.pace import NOTABLE, RISE_AFTER, WARMING_UP, Pace

FAST = 0.05


def answers(pace: Pace, count: int, *, seconds: float = FAST, now: float = 0.0) -> None:
    for _ in range(count):
        pace.answered("list_contacts", 200, seconds, now)


def test_it_begins_at_the_most_and_a_steady_service_leaves_it_there() -> None:
    pace = Pace(16)
    answers(pace, 10_000)
    assert pace.limit == 16


@pytest.mark.parametrize("status", [429, 503])
def test_distress_halves_it_once_for_all_that_were_in_flight(status: int) -> None:
    pace = Pace(16)
    for _ in range(16):
        pace.answered("list_contacts", status, FAST, 0.0)
    assert pace.limit == 8
    pace.answered("list_contacts", status, FAST, 0.0)
    assert pace.limit == 4


def test_an_answer_that_never_came_is_distress() -> None:
    pace = Pace(8)
    pace.failed(0.0)
    assert pace.limit == 4


@pytest.mark.parametrize("status", [200, 404, 422, 500])
def test_other_statuses_are_none(status: int) -> None:
    pace = Pace(8)
    for _ in range(100):
        pace.answered("read_contact", status, FAST, 0.0)
    assert pace.limit == 8


def test_distress_without_end_leaves_one() -> None:
    pace = Pace(16)
    for _ in range(100):
        pace.failed(0.0)
    assert pace.limit == 1


def test_it_rises_by_one_after_each_quiet_while_and_no_further_than_the_most() -> None:
    pace = Pace(4)
    pace.failed(0.0)
    answers(pace, 100, now=0.9 * RISE_AFTER)
    assert pace.limit == 2
    answers(pace, 100, now=RISE_AFTER)
    assert pace.limit == 3
    answers(pace, 100, now=2 * RISE_AFTER)
    answers(pace, 100, now=9 * RISE_AFTER)
    assert pace.limit == 4


def test_rising_latency_cuts_it_and_no_further_than_a_quarter() -> None:
    pace = Pace(16)
    answers(pace, 1000)
    answers(pace, 100, seconds=5 * FAST + NOTABLE)
    assert pace.limit == 4


def test_a_few_milliseconds_are_nothing_notable() -> None:
    pace = Pace(16)
    answers(pace, 1000, seconds=0.002)
    answers(pace, 1000, seconds=0.05)
    assert pace.limit == 16


def test_one_slow_answer_is_none() -> None:
    pace = Pace(16)
    answers(pace, 1000)
    answers(pace, 1, seconds=0.5)
    answers(pace, 100)
    assert pace.limit == 16


def test_the_first_answers_say_nothing_of_what_is_usual() -> None:
    pace = Pace(16)
    answers(pace, 1, seconds=0.001)
    answers(pace, WARMING_UP - 1, seconds=0.5)
    assert pace.limit == 16


def test_a_service_that_stays_slow_gets_its_requests_again() -> None:
    pace = Pace(16)
    answers(pace, 1000)
    for second in range(180):
        answers(pace, 50, seconds=0.5, now=float(second))
    assert pace.limit == 16


def test_each_operation_has_a_latency_of_its_own() -> None:
    pace = Pace(16)
    for _ in range(1000):
        pace.answered("read_contact", 200, FAST, 0.0)
        pace.answered("list_client_invoices", 200, 20 * FAST, 0.0)
    assert pace.limit == 16


def test_a_service_of_a_given_capacity_is_found_and_kept_at_it() -> None:
    """A service that works on 6 requests at once and lets the others queue: latency tells."""
    pace, now, at_work = Pace(32), 0.0, []
    answers(pace, 100, seconds=0.1)  # while others left it alone
    for _ in range(3000):
        queued = max(1.0, pace.limit / 6)
        now += 0.1 * queued / pace.limit
        pace.answered("list_contacts", 200, 0.1 * queued, now)
        at_work.append(pace.limit)
    middle = sorted(at_work[200:1000])[400]
    assert 6 <= middle <= 16
