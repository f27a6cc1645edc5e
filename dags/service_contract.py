"""Probes the behaviour that the service's interface leaves open.

The probe sends only read requests. It determines the unit of `expires_in`, the largest page size, the response past
the last page, the order of lists, the default filter of employees, which date a range of invoices
filters and whether its last day is included, the format of errors, the time zone of times, codes, and
undocumented fields.

- **Findings**: `bms.contract` holds each finding and the day from which it applies. A question that
  the available data cannot answer stays open.
- **Alarms**: the DAG sends a message when a finding changes, or contradicts a setting; the message
  contains the value to set.
- **Cost**: about fifty requests; nothing is created.
"""

from datetime import timedelta

from airflow.sdk import CronTriggerTimetable, dag

from bms_provider import policy
from bms_provider.operators.flows.checks import BmsProbeContractOperator


@dag(
    schedule=CronTriggerTimetable("40 5 * * 1", timezone=policy.TIME_ZONE),
    doc_md=policy.documentation(__doc__, "service_contract"),
    max_active_runs=1,
    allowed_run_types=policy.WITHOUT_WINDOW,
    params={"entities": policy.ENTITIES},
    **policy.dag_arguments("audit", deadline=timedelta(hours=1)),
)
def service_contract() -> None:
    """Probe, compare with earlier findings, store."""
    # Each question depends on the previous response.
    BmsProbeContractOperator(task_id="probe", **policy.ONE_REQUEST)


DAG = service_contract()
