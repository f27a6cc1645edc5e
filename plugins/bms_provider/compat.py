"""Differences between the supported versions of Airflow; no other module depends on the version.

Airflow 3.2 has no retry policies. There, a task repeats every error up to `retries` times, and so
outlasts an outage of minutes instead of hours. No record is created twice: the ledger and
`AirflowFailException` prevent that in every version.
"""

from datetime import timedelta
from typing import Any

from airflow import __version__

__all__ = [
    "HAS_RETRY_POLICIES",
    "RetryDecision",
    "RetryPolicy",
    "deadline_interval",
    "metrics",
    "retry_arguments",
]

OLDEST = (3, 2)

if tuple(int(part) for part in __version__.split(".")[:2]) < OLDEST:
    raise ImportError(
        f"bms-airflow requires Airflow 3.2 or 3.3, and this is Airflow {__version__}."
        " Upgrade Airflow, or uninstall bms-airflow."
    )

try:
    from airflow.sdk import RetryDecision, RetryPolicy

    HAS_RETRY_POLICIES = True
except ImportError:  # Airflow 3.2
    HAS_RETRY_POLICIES = False

    class RetryPolicy:  # type: ignore[no-redef]
        """Stand-in for Airflow's class; nothing calls it."""

    RetryDecision = Any  # type: ignore[assignment,misc]


def retry_arguments(policy: RetryPolicy | None) -> dict[str, Any]:
    """Return the task argument for a retry policy; none where Airflow has no such argument."""
    return {"retry_policy": policy} if HAS_RETRY_POLICIES else {}


def deadline_interval(length: timedelta) -> Any:
    """Return a deadline's interval: in Airflow 3.3 as a number of seconds, which it also reads.

    Airflow 3.3.2 stores a timedelta as an object that it can't add up when a run is cleared: the request
    ends with an error 500 until the deadline has passed.
    """
    return length.total_seconds() if HAS_RETRY_POLICIES else length


def metrics() -> Any:
    """Return what holds Airflow's functions for metrics: `incr`, `gauge`, `timing`."""
    from airflow.sdk.observability import stats  # noqa: PLC0415 - keeps DAG parsing fast

    return stats if hasattr(stats, "incr") else stats.Stats  # Airflow 3.2: a class
