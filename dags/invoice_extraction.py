"""Client invoices, every day.

Reads the invoices of the asked days for each entity, keeps the answers as they came, and loads
them into `bms.client_invoice` with every change as a version.

- **Days**: `start_date` and `end_date` (both inclusive) of the run; else its data interval; else
  the last complete day, in the company's time zone.
- **Entities**: those of the connection `bms_default` unless the run names some.
- **Again**: every run can be run again; what stands already is not written.
"""

from __future__ import annotations

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
            title="Language",
            description="Of the names of codes; the setting BMS_LANGUAGE by default.",
        ),
    },
    **policy.dag_arguments("invoices", "finance"),
)
def invoice_extraction() -> None:
    """Read, load, publish."""

    @task
    def plan() -> list[int]:
        """Share the days out: units of one entity, each for one task."""
        from bms_provider.tasks import invoices  # noqa: PLC0415 - nothing heavy when parsed

        return invoices.plan()

    @task(map_index_template="{{ unit }}", outlets=[policy.INVOICES])
    def extract(place: int) -> dict[str, object]:
        """Read a unit's windows concurrently, keep the answers, load and publish them."""
        from bms_provider.tasks import invoices  # noqa: PLC0415

        return invoices.extract(place)

    extract.expand(place=plan())


invoice_extraction()
