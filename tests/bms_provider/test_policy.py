"""Retry policy of tasks, and numbers from the environment."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.sdk import RetryDecision
from psycopg.errors import DeadlockDetected, DiskFull, OperationalError

from bms.endpoints import BY_NAME
from bms.errors import NotFound, ServiceUnavailable, Throttled
from bms.retry import retry_after
from bms_flows.onboarding.sending.breaker import CreatesPaused
from bms_flows.onboarding.settings import OnboardingSettings
from bms_provider import policy
from bms_warehouse.errors import ConnectionLost, WarehouseError
from bms_warehouse.locks import Busy

HOUR = 3600
TASK = policy.dag_arguments()["default_args"]
ENDPOINT = BY_NAME["list_employees"]
UNAVAILABLE = ServiceUnavailable(ENDPOINT, "failed (503)", status=503, retry_after=None)


@pytest.mark.parametrize(
    ("error", "try_number", "action", "wait"),
    [
        (CreatesPaused(4000), 12, "retry", 4000),
        (CreatesPaused(), 12, "retry", None),
        (UNAVAILABLE, 12, "retry", None),
        (ConnectionLost(), 12, "retry", None),
        (WarehouseError(OperationalError("Connection refused")), 12, "retry", None),
        (WarehouseError(DiskFull()), 12, "retry", None),
        (WarehouseError(DeadlockDetected()), 4, "fail", None),
        (RuntimeError("a defect"), 3, "default", None),
        (RuntimeError("a defect"), 4, "fail", None),
        (NotFound(ENDPOINT, "not found (404)", status=404), 1, "fail", None),
    ],
)
def test_a_task_is_retried_for_hours_during_an_outage_only(
    error: Exception, try_number: int, action: str, wait: float | None
) -> None:
    decision: RetryDecision = TASK["retry_policy"].evaluate(error, try_number, 12)
    assert decision.action.value == action
    assert (decision.retry_delay and decision.retry_delay.total_seconds()) == wait


class StateStore(dict[str, Any]):
    """State of a task, which Airflow keeps between its tries."""

    set = dict.__setitem__


def decisions(*errors: Exception, first_try: int = 1, context: Any = None) -> list[str]:
    """Return the decisions after tries that failed with these errors, the first since a clear."""
    context = context or {"task_state_store": StateStore()}
    max_tries = first_try - 1 + TASK["retries"]
    evaluate = TASK["retry_policy"].evaluate
    return [
        evaluate(error, number, max_tries, context).action.value
        for number, error in enumerate(errors, first_try)
    ]


LOST = Busy("another run works on the rows")


def test_tries_during_an_outage_leave_the_retries_for_other_errors() -> None:
    assert decisions(*[UNAVAILABLE] * 5, *[LOST] * 4) == [*["retry"] * 8, "fail"]
    assert decisions(LOST, *[UNAVAILABLE] * 5, *[LOST] * 3) == [*["retry"] * 8, "fail"]


def test_a_cleared_task_has_all_its_retries_again() -> None:
    context: Any = {"task_state_store": StateStore()}
    decisions(*[UNAVAILABLE] * 3, *[LOST] * 4, context=context)
    again = decisions(*[LOST] * 3, UNAVAILABLE, LOST, first_try=8, context=context)
    assert again == [*["retry"] * 4, "fail"]


@pytest.mark.parametrize("wanted", ["31536000", "9" * 400, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_wait_of_years_that_a_gateway_requests_delays_the_retry_by_hours(wanted: str) -> None:
    """Airflow adds the delay to the end of the task, in the scheduler, where it must be a date."""
    wait = retry_after(wanted, now=time.time())
    error = Throttled(ENDPOINT, "throttled (429)", status=429, retry_after=wait)
    for decided in (policy.ServiceRetryPolicy(), TASK["retry_policy"]):
        delay = decided.evaluate(error, 1, 12).retry_delay
        assert delay is not None
        assert datetime.now(UTC) + delay <= datetime.now(UTC) + timedelta(hours=6)


def test_the_retries_of_a_task_outlast_an_outage_of_four_hours() -> None:
    a_try = (
        OnboardingSettings().outage_wait_s / 2
    )  # a try ends when the next probe would be too late
    first, most = (TASK[each].total_seconds() for each in ("retry_delay", "max_retry_delay"))
    retries = TASK["retries"]
    delays = (min(most, first * 2**n) for n in range(retries))
    assert retries * a_try + sum(delays) >= 4 * HOUR


def test_a_number_is_read_from_the_environment_or_takes_its_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BMS_TASK_SLOTS", "")
    assert policy.positive_number("BMS_TASK_SLOTS", 8) == 8
    monkeypatch.setenv("BMS_TASK_SLOTS", "4")
    assert policy.positive_number("BMS_TASK_SLOTS", 8) == 4


@pytest.mark.parametrize(
    ("given", "default", "accepted"),
    [
        *(
            (given, 8, "whole number")
            for given in ("four", "0", "0.5", "-1", "nan", "inf", "1000000")
        ),
        *((given, 72.0, "number") for given in ("1e12", "nan", "x")),
    ],
)
def test_an_invalid_number_raises_with_the_variable_and_the_accepted_values(
    given: str, default: float, accepted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_NUMBER", given)
    with pytest.raises(ValueError, match=f"BMS_NUMBER is '{given}'. Set it to a {accepted}"):
        policy.positive_number("BMS_NUMBER", default)


@pytest.mark.parametrize("given", ["Europe/Paris ", "Europe/Pariss", "Europe", " ", "/etc"])
def test_an_unknown_time_zone_raises_with_the_variable(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow's own error has only the value."""
    monkeypatch.setenv("BMS_TIME_ZONE", given)
    with pytest.raises(ValueError, match=f"BMS_TIME_ZONE is '{given}'. Set it to the name"):
        policy.time_zone()
