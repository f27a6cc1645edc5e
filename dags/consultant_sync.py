"""Mirrors the consultants of the CRM into the warehouse, every day.

Loads the consultants into `bms.consultant` and every change as a version into
`bms.consultant_version`. Reads and compares the list in the same way as `contact_sync`.

- **Deleted consultants**: the service does not flag them. A consultant that is missing from two
  readings of the list, and whose detail answers 404, gets `deleted = true`. Rows are never removed.
- **Partial runs**: a run with a type or a client leaves all other consultants unchanged.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import CronTriggerTimetable, Param, dag, task

from bms_provider import assets, policy
from bms_provider.operators.access import BmsCheckAccessOperator


@dag(
    schedule=CronTriggerTimetable("20 4 * * *", timezone=policy.TIME_ZONE),
    doc_md=policy.documentation(__doc__, "consultant_sync"),
    max_active_runs=1,
    allowed_run_types=policy.WITHOUT_WINDOW,
    is_paused_upon_creation=True,
    params={
        "type": Param(
            None,
            type=["null", "string"],
            title="Type",
            description="Code of the service. Reads only consultants of this type.",
        ),
        "id_client": Param(
            None,
            type=["null", "integer"],
            title="Client",
            description="Number of a client. Reads only the consultants of this client and leaves"
            " all others unchanged.",
        ),
        **policy.details_param("consultant", "profile, address, notes, free fields"),
        **policy.mirror_params("consultant"),
    },
    **policy.dag_arguments("consultants", "crm", deadline=timedelta(hours=2)),
)
def consultant_sync() -> None:
    """Read, compare, load."""

    @task(**policy.SERVICE, outlets=[assets.CONSULTANT])
    def sync() -> dict[str, object]:
        """Read the list and the details, load new and changed rows, mark missing rows as deleted."""
        from bms_provider.tasks import mirror

        return mirror.sync("consultant")

    check_access = BmsCheckAccessOperator(
        task_id="check_access",
        requires=["list_consultants", "read_consultant"],
        **policy.ONE_REQUEST,
    )
    check_access >> sync()


DAG = consultant_sync()
