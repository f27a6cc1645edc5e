"""Assets of the tables that the flows load. Other DAGs run after a load with ``schedule=[CONTACT]``.

Each complete, whole load is an event of the table's asset, also if it changed nothing, so that a DAG
that waits for several assets runs. The event's ``extra`` has:

- ``changed``: whether rows changed that no earlier event reported. These include the rows of an
  interrupted attempt, of a part of a list, and of a load held for review, which have no event. If
  the record of an event is lost, the next event reports its changes again;
- ``changed_by``: the step runs that changed these rows, the values of their ``_step_run_id``;
- ``counts``: rows of this load by outcome (``rows_read``, ``inserted``, ``changed``, ``unchanged``, ``quarantined``,
  ``missing``);
- ``totals``: exact control totals of invoices by currency, as text;
- ``id_entity`` (None if the load covers all entities), ``days`` of invoices (``first/last``), and
  ``step_run_id``, the load in `bms.step_run`.
"""

from airflow.sdk import Asset

from bms_warehouse.resources import RESOURCES


def _table(name: str) -> Asset:
    # Airflow leaves a scheme with x- unchanged; any other scheme loads every provider with asset URIs.
    return Asset(f"bms_{name}", uri=f"x-bms://warehouse/{name}", group="bms")


BY_TABLE = {name: _table(name) for name in ("client_invoice", *(each.name for each in RESOURCES))}
"""Every asset by the name of its table."""

CLIENT_INVOICE = BY_TABLE["client_invoice"]
CONTACT = BY_TABLE["contact"]
CONSULTANT = BY_TABLE["consultant"]
EMPLOYEE = BY_TABLE["employee"]
