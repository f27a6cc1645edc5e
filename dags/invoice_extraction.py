"""Loads client invoices into the warehouse.

Reads the invoices of each entity for the requested days, stores the raw responses, and loads the
invoices into `bms.client_invoice` with every change as a version.

- **Days**: `start_date` to `end_date` (both included) if given, else the data interval of the run, else
  the last complete day in the company's time zone. Without a first day, the run also reads the last
  35 days again (`BMS_LOOKBACK_DAYS`), older days with open invoices at growing intervals, and days that
  no run has read yet. A run of a backfill reads only its own day.
- **Checks**: implausible days are held for review and the other days are published. The task fails and
  names the held days, the reason and the next step. Other entities continue.
- **Entities**: the entities of the connection `bms_default`, unless the run specifies others.
- **Idempotent**: a repeated run writes only what changed.
"""

from datetime import timedelta

from airflow.sdk import CronDataIntervalTimetable, Param, dag

from bms_provider import assets, policy
from bms_provider.operators.access import BmsCheckAccessOperator
from bms_provider.operators.flows.loads import (
    BmsLoadClientInvoicesOperator,
    BmsPlanInvoicesOperator,
)


@dag(
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone=policy.TIME_ZONE),
    doc_md=policy.documentation(__doc__, "invoice_extraction"),
    params={
        "entities": policy.ENTITIES,
        "start_date": policy.date_param("First day", "First day to read."),
        "end_date": policy.date_param("Last day", "Last day to read. Empty: yesterday."),
        "language": policy.language_param("the code labels"),
        "lookback_days": Param(
            None,
            **policy.INTEGER | {"maximum": 36_500},
            title="Days to look back",
            description="Recent days to read again. Empty: BMS_LOOKBACK_DAYS. Ignored if a first day"
            " is given, and in a backfill.",
        ),
        "accept_suspect": Param(
            False,
            type="boolean",
            title="Publish held days",
            description="Publishes the days held for review, of the given entities and days if any."
            " Reads nothing again.",
        ),
    },
    **policy.dag_arguments("invoices", "finance", deadline=timedelta(hours=2)),
)
def invoice_extraction() -> None:
    """Plan, then read, check, load and publish."""
    check_access = BmsCheckAccessOperator(
        task_id="check_access", requires=["list_client_invoices"], **policy.ONE_REQUEST
    )
    plan = BmsPlanInvoicesOperator(task_id="plan")
    extract = BmsLoadClientInvoicesOperator.partial(
        task_id="extract",
        map_index_template="{{ unit }}",
        outlets=[assets.CLIENT_INVOICE],
        **policy.SERVICE,
    )
    check_access >> plan
    extract.expand(position=plan.output)


DAG = invoice_extraction()
