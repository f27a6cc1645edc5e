"""Run after each complete load of the contacts into the warehouse.

Needs the connection `bms_warehouse`, and the DAG `contact_sync`, whose asset triggers this DAG. Each
load is an event, also one that changed nothing, so that a DAG that waits for several assets runs.
"""

import logging
from typing import Any

from airflow.sdk import dag, task

from bms_provider.assets import CONTACT

log = logging.getLogger(__name__)


@task
def count_leads(triggering_asset_events: Any = None) -> int:
    """Count the leads that are not deleted, and log the loads that triggered the run."""
    from airflow.providers.postgres.hooks.postgres import PostgresHook  # noqa: PLC0415 - keeps parsing fast

    loads = [event.extra for event in (triggering_asset_events or {}).get(CONTACT, [])]
    log.info("loads: %s", loads)
    row: Any = PostgresHook("bms_warehouse").get_first(
        "select count(*) from bms.contact where is_lead and not deleted"
    )
    return int(row[0])


@dag(
    schedule=[CONTACT],
    is_paused_upon_creation=True,
    doc_md=__doc__,
    tags=["example", "bms"],
)
def example_bms_after_contacts() -> None:
    """Count."""
    count_leads()


example_bms_after_contacts()
