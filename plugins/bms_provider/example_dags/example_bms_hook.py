"""Read the service in a `@task`, with the hook.

Needs the connection `bms_default`. Logs numbers only: names and addresses are personal data.
"""

import logging
from collections import Counter
from typing import Any

from airflow.sdk import CronDataIntervalTimetable, dag, task

log = logging.getLogger(__name__)


# [START hook]
@task
def total_by_status(data_interval_start: Any = None, data_interval_end: Any = None) -> None:
    """Log the exact total of the invoices by status and currency."""
    from bms_provider.hooks.bms import BmsHook  # noqa: PLC0415 - keeps parsing the DAG fast

    days = {"start_date": data_interval_start.date(), "end_date": data_interval_end.date()}
    invoices = BmsHook().get_df("client_invoices", id_entity=1, **days)
    by_status = invoices.groupby(["status", "currency"], observed=True, dropna=False)
    log.info(by_status["total_incl_vat"].sum())


# [END hook]


@task(multiple_outputs=False)
def count_contacts_by_origin() -> dict[str, int]:
    """Count the active contacts by origin, with the client."""
    from bms_provider.hooks.bms import BmsHook  # noqa: PLC0415 - keeps parsing the DAG fast

    with BmsHook().get_conn() as client:
        return Counter(
            contact.origin or "unknown" for contact in client.list_contacts(filter="ACTIVE")
        )


@task
async def count_consultants() -> int:
    """Count the consultants, with the asynchronous client of an `async def` task."""
    from bms.paging import all_pages  # noqa: PLC0415 - keeps parsing the DAG fast
    from bms_provider.hooks.bms import BmsHook  # noqa: PLC0415

    async with BmsHook().aclient() as client:
        pages = all_pages(lambda number: client.list_consultants(page_number=number))
        return sum([len(page) async for page in pages])


@dag(
    schedule=CronDataIntervalTimetable("0 6 * * 1", timezone="Europe/Paris"),
    is_paused_upon_creation=True,
    doc_md=__doc__,
    tags=["example", "bms"],
)
def example_bms_hook() -> None:
    """Run the three tasks."""
    total_by_status()
    count_contacts_by_origin()
    count_consultants()


example_bms_hook()
