"""Every five minutes: is each flow as fresh as it promises? Raises alarms, tells them, and their end.

It reads the age of the last complete load of every flow from `bms.run`, so that it rings where
nothing ran at all: a paused DAG, a skipped run, an answer that was kept back as suspect. One trouble
is one message, its end another, through the connections `bms_webhook` and `bms_mail`.

What it can't see is that it doesn't run itself: for a dead scheduler there is
`python -m bms_flows.monitoring.health --notify`, from cron or a container, which shares its alarms.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import CronTriggerTimetable, dag, task

from bms_provider import policy


@dag(
    schedule=CronTriggerTimetable("*/5 * * * *", timezone="UTC"),
    doc_md=__doc__,
    max_active_runs=1,
    is_paused_upon_creation=False,
    **policy.dag_arguments("housekeeping"),
)
def freshness_watchdog() -> None:
    """Look, raise, tell."""

    # The next run is five minutes away, and an alarm on the one who raises alarms is heard by nobody.
    @task(retries=1, retry_delay=timedelta(seconds=30), on_failure_callback=None)
    def watch() -> dict[str, str]:
        """Look at every promise; return each flow's state."""
        from bms_provider.tasks import watch

        return watch.watch()

    @task(retries=1, retry_delay=timedelta(seconds=30), on_failure_callback=None)
    def slots() -> bool:
        """Look whether tasks wait for a pool that is missing; return whether some do."""
        from bms_provider.tasks import slots

        return slots.watch()

    watch()
    slots()


freshness_watchdog()
