"""Checks data freshness; sends alarms and recoveries.

The watchdog compares the age of each flow's last complete load in `bms.step_run` with the freshness target
of the flow. Therefore it also reports what no failed task shows: a paused DAG, a skipped run, a load
held for review. It sends one message when a problem starts and one when it ends, through the
connections `bms_webhook` and `bms_mail`.

It cannot report a dead scheduler, because then the watchdog does not run either. For this, run
`bms health --notify` from cron or in a container; both use the same alarms.
"""

from datetime import timedelta
from typing import Any

from airflow.sdk import CronTriggerTimetable, dag

from bms_provider import policy
from bms_provider.operators.flows.checks import (
    BmsWatchFreshnessOperator,
    BmsWatchPoolOperator,
)

# An alarm about the watchdog could not be sent by the watchdog; the next run starts in five minutes.
WATCHDOG_TASK: dict[str, Any] = {
    "retries": 1,
    "retry_delay": timedelta(seconds=30),
    "on_failure_callback": None,
}


@dag(
    schedule=CronTriggerTimetable("*/5 * * * *", timezone="UTC"),
    doc_md=policy.documentation(__doc__, "freshness_watchdog"),
    max_active_runs=1,
    allowed_run_types=policy.WITHOUT_WINDOW,
    **policy.dag_arguments("housekeeping", paused=False),
)
def freshness_watchdog() -> None:
    """Check freshness and the pool, send alarms and recoveries."""
    BmsWatchFreshnessOperator(task_id="watch", **WATCHDOG_TASK)
    BmsWatchPoolOperator(task_id="slots", **WATCHDOG_TASK)


DAG = freshness_watchdog()
