"""Mirrors the employees of each entity into the warehouse, every day.

Loads all employees into `bms.employee`, including those on standby and those who left, and every
change as a version into `bms.employee_version`. An employee who leaves gets a `departure_date` and is
not deleted.

- **Details**: `off` stores only the fields of the list. `directory` adds the fields that a company
  directory may show. Only `full` stores birth, nationality, social security number, home address,
  private phones and e-mail, resident permit and emergency contacts, in the schema `bms_private`, which
  only the role `bms_private_reader` can read.
- **Deleted employees**: an employee who is missing from two passes over the list, and whose detail
  is answered 404 or 410, gets `deleted = true`. Rows are never removed.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import CronTriggerTimetable, dag, task

from bms_provider import assets, policy
from bms_provider.operators.access import BmsCheckAccessOperator


@dag(
    schedule=CronTriggerTimetable("40 4 * * *", timezone=policy.TIME_ZONE),
    doc_md=policy.documentation(__doc__, "employee_directory"),
    max_active_runs=1,
    allowed_run_types=policy.WITHOUT_WINDOW,
    params={
        "entities": policy.ENTITIES,
        **policy.details_level_param("employee_details"),
        **policy.mirror_params("employee"),
    },
    **policy.dag_arguments("employees", "hr", deadline=timedelta(hours=2)),
)
def employee_directory() -> None:
    """Read, compare and load the employees of each entity."""

    @task
    def entities() -> list[int]:
        """Return the entities to read."""
        from bms_provider.tasks import mirror

        return mirror.entities()

    @task(**policy.LOAD, outlets=[assets.EMPLOYEE], map_index_template="entity {{ id_entity }}")
    def sync(id_entity: int) -> dict[str, object]:
        """Read the lists and details of an entity, load changes, mark missing rows as deleted."""
        from bms_provider.tasks import mirror

        return mirror.sync("employee", id_entity)

    check_access = BmsCheckAccessOperator(
        task_id="check_access", requires=["list_employees", "read_employee"], **policy.ONE_REQUEST
    )
    listed = entities()
    check_access >> listed
    sync.expand(id_entity=listed)


DAG = employee_directory()
