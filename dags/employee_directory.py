"""Employees of each entity, every day.

Mirrors the employees into `bms.employee`, every change as a version in `bms.employee_version`:
all of them, with those on standby and those who left marked as such. Leaving is a date
(`departure_date`), no deletion.

- **Details**: `directory` keeps what a directory may show. Birth, nationality, social security
  number, home address, private phones and e-mail, resident permit and emergency contacts are
  written nowhere at all. `full` keeps them in the schema `bms_private`, for the role
  `bms_private_reader` alone. `off` keeps what the list shows.
- **Gone**: an employee is gone when two readings of the list lack them and the detail answers
  404; `deleted` is true then, and nothing is removed.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import AssetAlias, CronTriggerTimetable, Param, dag, task

from bms_provider import policy

EMPLOYEES = AssetAlias("bms_employee")


@dag(
    schedule=CronTriggerTimetable("40 4 * * *", timezone=policy.TIME_ZONE),
    doc_md=__doc__,
    max_active_runs=1,
    is_paused_upon_creation=True,
    params={
        "entities": policy.ENTITIES,
        "employee_details": Param(
            None,
            type=["null", "string"],
            enum=[None, "off", "directory", "full"],
            title="Details",
            description="off: the list alone; directory: what may be shown; full: the rest too, in"
            " bms_private. Empty: the setting BMS_EMPLOYEE_DETAILS.",
        ),
        **policy.mirror("employee"),
    },
    **policy.dag_arguments("employees", "hr", within=timedelta(hours=2)),
)
def employee_directory() -> None:
    """Read, compare, load; an entity at a time."""

    @task
    def entities() -> list[int]:
        """Return the entities to read."""
        from bms_provider.tasks import mirror

        return mirror.entities()

    @task(**policy.SERVICE, outlets=[EMPLOYEES], map_index_template="entity {{ id_entity }}")
    def sync(id_entity: int) -> dict[str, object]:
        """Read an entity's lists and details, load what differs, mark who is gone."""
        from bms_provider.tasks import mirror

        return mirror.sync_employees(id_entity)

    sync.expand(id_entity=entities())


employee_directory()
