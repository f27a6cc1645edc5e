"""What the service does where its interface says nothing: asked every week, dated, told when it changes.

Asks the service, by reading alone, what its interface leaves open: the unit of `expires_in`, the
largest page, what is past the last one, the order of lists, the employees' default filter, which
date a range of invoices filters and whether its last day is in it, the shape of errors, how times
name their zone, codes, fields beyond those described.

- **Kept**: each finding in `bms.contract`, with the day since when it holds. What nobody can tell
  stays open rather than guessed.
- **Told**: a finding that changed, and a setting that says otherwise than the service does, with
  the value to set.
- **Nothing is created**: reads and tokens only, about fifty requests.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import CronTriggerTimetable, dag, task

from bms_provider import policy


@dag(
    schedule=CronTriggerTimetable("40 5 * * 1", timezone=policy.TIME_ZONE),
    doc_md=__doc__,
    max_active_runs=1,
    params={"entities": policy.ENTITIES},
    **policy.dag_arguments("audit", within=timedelta(hours=1)),
)
def service_contract() -> None:
    """Ask, judge, keep."""

    # One question at a time: the next depends on the answer.
    @task(**policy.SERVICE | {"pool_slots": 1})
    def probe() -> dict[str, object]:
        """Ask every question once; return what was told, what changed, what contradicts a setting."""
        from bms_provider.tasks import contract

        return contract.probe()

    probe()


service_contract()
