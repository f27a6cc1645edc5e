"""Mirrors each scheduled resource of `bms_warehouse.resources`, with its own Airflow DAG.

The task `check_access` requests a token; `sync` reads the list and the details, and loads the changes.
"""

from bms_flows.catalog import MIRRORS
from bms_provider import mirror_flow

for dag_id in MIRRORS:
    mirror_flow.mirror(dag_id)
