"""Run after each complete load of the contacts into the warehouse.

Needs the connection `bms_warehouse`, and the DAG `contact_sync`, whose asset triggers this DAG.
"""

from __future__ import annotations

import logging
from typing import Any

from airflow.sdk import Asset, dag, task

log = logging.getLogger(__name__)

CONTACTS = Asset("bms_contact", uri="bms://warehouse/contact")


@task
def count_leads(triggering_asset_events: Any = None) -> int:
    """Count the leads that are not deleted; log the counts of the loads that triggered the run."""
    from airflow.providers.postgres.hooks.postgres import PostgresHook  # noqa: PLC0415 - keeps parsing fast

    for event in (triggering_asset_events or {}).get(CONTACTS, []):
        log.info("loaded: %s", event.extra)
    row: Any = PostgresHook("bms_warehouse").get_first(
        "select count(*) from bms.contact where is_lead and not deleted"
    )
    return int(row[0])


@dag(
    schedule=[CONTACTS],
    is_paused_upon_creation=True,
    doc_md=__doc__,
    tags=["example", "bms"],
)
def example_bms_after_contacts() -> None:
    """Count."""
    count_leads()


example_bms_after_contacts()
