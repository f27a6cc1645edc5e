"""Mirrors the employees of each entity into the warehouse.

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

from airflow.sdk import CronTriggerTimetable, dag

from bms_provider import assets, mirrors, policy
from bms_provider.operators.access import BmsCheckAccessOperator
from bms_provider.operators.flows.loads import BmsListEntitiesOperator, BmsSyncOperator


@dag(
    schedule=CronTriggerTimetable("40 4 * * *", timezone=policy.TIME_ZONE),
    **mirrors.dag_arguments("employee_directory", __doc__),
)
def employee_directory() -> None:
    """Read, compare and load the employees of each entity."""
    check_access = BmsCheckAccessOperator(
        task_id="check_access", requires=["list_employees", "read_employee"], **policy.ONE_REQUEST
    )
    entities = BmsListEntitiesOperator(task_id="entities")
    sync = BmsSyncOperator.partial(
        task_id="sync",
        resource="employee",
        map_index_template="entity {{ task.id_entity }}",
        outlets=[assets.EMPLOYEE],
        **policy.SERVICE,
    )
    check_access >> entities
    sync.expand(id_entity=entities.output)


DAG = employee_directory()
