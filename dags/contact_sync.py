"""Mirrors the CRM contacts into the warehouse.

Loads the contacts into `bms.contact` and every change as a version into `bms.contact_version`.

- **Complete lists**: the run reads the list twice, with two page sizes. If contacts moved between
  pages, so that the two readings together may still miss some, the run is `unstable`: it loads what it
  read and marks no contact as deleted.
- **Few requests**: the run reads the details of new and changed contacts, and of a few others in
  rotation.
- **Deleted contacts**: `deleted` is true for each contact that the service flags, and for each contact that is missing from
  the list, after the detail confirms it. Rows are never removed. If unusually many contacts are
  missing at once, the run marks none and fails; check the service, then run again with `accept_gone`.
- **Partial runs**: a run that restricts the list leaves all other contacts unchanged.
"""

from airflow.sdk import CronTriggerTimetable, dag

from bms_provider import assets, mirrors, policy
from bms_provider.operators.access import BmsCheckAccessOperator
from bms_provider.operators.flows.loads import BmsSyncOperator


@dag(
    schedule=CronTriggerTimetable("5 * * * *", timezone=policy.TIME_ZONE),
    **mirrors.dag_arguments("contact_sync", __doc__),
)
def contact_sync() -> None:
    """Read, compare, load."""
    check_access = BmsCheckAccessOperator(
        task_id="check_access", requires=["list_contacts", "read_contact"], **policy.ONE_REQUEST
    )
    check_access >> BmsSyncOperator(
        task_id="sync", resource="contact", outlets=[assets.CONTACT], **policy.SERVICE
    )


DAG = contact_sync()
