"""Mirrors the CRM consultants into the warehouse.

Loads the consultants into `bms.consultant` and every change as a version into `bms.consultant_version`.

- **Complete lists**: the run reads the list twice, with two page sizes. If consultants moved between
  pages, so that the two readings together may still miss some, the run is `unstable`: it loads what it
  read and marks no consultant as deleted.
- **Few requests**: the run reads the details of new and changed consultants, and of a few others in
  rotation.
- **Deleted consultants**: `deleted` is true for each consultant that is missing from
  the list, after the detail confirms it. Rows are never removed. If unusually many consultants are
  missing at once, the run marks none and fails; check the service, then run again with `accept_gone`.
- **Partial runs**: a run that restricts the list leaves all other consultants unchanged.
"""

from airflow.sdk import CronTriggerTimetable, dag

from bms_provider import assets, mirrors, policy
from bms_provider.operators.access import BmsCheckAccessOperator
from bms_provider.operators.flows.loads import BmsSyncOperator


@dag(
    schedule=CronTriggerTimetable("20 4 * * *", timezone=policy.TIME_ZONE),
    **mirrors.dag_arguments("consultant_sync", __doc__),
)
def consultant_sync() -> None:
    """Read, compare, load."""
    check_access = BmsCheckAccessOperator(
        task_id="check_access",
        requires=["list_consultants", "read_consultant"],
        **policy.ONE_REQUEST,
    )
    check_access >> BmsSyncOperator(
        task_id="sync", resource="consultant", outlets=[assets.CONSULTANT], **policy.SERVICE
    )


DAG = consultant_sync()
