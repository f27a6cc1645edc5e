"""Client invoices, every day.

Reads the invoices of the asked days for each entity, keeps the answers as they came, and loads
them into `bms.client_invoice` with every change as a version.

- **Days**: just `start_date` to `end_date` (both inclusive) where the run gives them; else those
  of its data interval, else the last complete day, in the company's time zone. Beside these the
  last 35 days are read again, older days that hold an open invoice, at growing intervals, and days
  between that no run has read yet.
- **Checks**: days that look implausible are held for review, the others are published; the task
  fails and says which days, why and what to do. The other entities go on.
- **Entities**: those of the connection `bms_default` unless the run names some.
- **Again**: every run can be run again; what stands already is not written.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import CronDataIntervalTimetable, Param, dag, task

from bms_provider import policy


@dag(
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone=policy.TIME_ZONE),
    doc_md=__doc__,
    params={
        "entities": policy.ENTITIES,
        "start_date": policy.day("First day", "Read from this day on, it included."),
        "end_date": policy.day("Last day", "Read to this day, it included; else to yesterday."),
        "language": Param(
            None,
            type=["null", "string"],
            enum=[None, "EN", "FR"],
            values_display={"null": "As BMS_LANGUAGE says", "EN": "English", "FR": "French"},
            title="Language",
            description="Of the names of codes; the setting BMS_LANGUAGE by default.",
        ),
        "lookback_days": Param(
            None,
            type=["null", "integer"],
            minimum=0,
            title="Days to look back",
            description="Read again beside the asked days; BMS_LOOKBACK_DAYS by default. "
            "With a first day given, just the days given are read.",
        ),
        "accept_suspect": Param(
            False,
            type="boolean",
            title="Publish days held for review as they are",
            description="Of the entities, and of the days where given; nothing is read again.",
        ),
    },
    **policy.dag_arguments("invoices", "finance", within=timedelta(hours=2)),
)
def invoice_extraction() -> None:
    """Read, load, publish."""

    @task
    def plan() -> list[int]:
        """Share the days out: units of one entity, each for one task."""
        from bms_provider.tasks import invoices

        return invoices.plan()

    @task(**policy.SERVICE, map_index_template="{{ unit }}", outlets=[policy.INVOICES])
    def extract(position: int) -> dict[str, object]:
        """Read a unit's windows concurrently, keep the answers, load and publish them."""
        from bms_provider.tasks import invoices

        return invoices.extract(position)

    extract.expand(position=plan())


invoice_extraction()
