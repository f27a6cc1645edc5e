"""Reports of a load: metrics, OpenLineage datasets and the event of its asset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context

from bms.endpoints import BY_NAME
from bms_provider import assets, flow_context, lineage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Table

    from bms_flows.runtime.context import FlowContext
    from bms_provider.hooks.bms import BmsHook

COUNTS = ("rows_read", "inserted", "changed", "unchanged", "quarantined", "missing")
CHANGES = ("inserted", "changed", "missing")
"""Counts of the rows that differ after the load."""


def report(flow: FlowContext, hook: BmsHook, table: Table, manifest: Mapping[str, Any]) -> None:
    """Report a load of the service's list of the same name into a table."""
    flow_context.emit_rows(table.name, manifest)
    endpoint, url = BY_NAME[f"list_{table.name}s"], flow.warehouse.url
    lineage.report(endpoint, hook.settings.base_url, table, url, manifest)
    context = get_current_context()
    if manifest["state"] == "complete" and manifest["whole"]:
        context["outlet_events"][assets.BY_TABLE[table.name]].extra = event(manifest)
    else:
        # Airflow records an event for each outlet of a successful task, with or without extra.
        context["task"].outlets.clear()


def event(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the extra of an asset's event, as `bms_provider.assets` describes it. Pure."""
    return {
        "step_run_id": manifest["step_run_id"],
        "id_entity": manifest["id_entity"],
        "days": manifest.get("days"),
        "changed": any(manifest[name] for name in CHANGES),
        "counts": {name: manifest[name] for name in COUNTS},
        "totals": manifest.get("totals", {}),
    }
