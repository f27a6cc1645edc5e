"""Reports of a load: metrics, OpenLineage datasets and the event of its asset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context

from bms.endpoints import BY_NAME
from bms_flows.runtime import step_log
from bms_provider import assets, flow_context, lineage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Table

    from bms_flows.runtime.context import FlowContext
    from bms_provider.hooks.bms import BmsHook

COUNTS = ("rows_read", "inserted", "changed", "unchanged", "quarantined", "missing")


def report(flow: FlowContext, hook: BmsHook, table: Table, manifest: Mapping[str, Any]) -> None:
    """Report a load of the service's list of the same name into a table."""
    flow_context.emit_rows(table.name, manifest)
    endpoint, url = BY_NAME[f"list_{table.name}s"], flow.warehouse.url
    lineage.report(endpoint, hook.settings.base_url, table, url, manifest)
    context = get_current_context()
    if manifest["state"] == "complete" and manifest["whole"]:
        with flow.warehouse.connect() as connection:
            changed_by = step_log.unreported(connection, manifest["step_run_id"])
        accessor = context["outlet_events"][assets.BY_TABLE[table.name]]
        accessor.extra = event(manifest, changed_by)
    else:
        # Airflow records an event for each outlet of a successful task, with or without extra.
        context["task"].outlets.clear()


def event_recorded(context: Mapping[str, Any]) -> None:
    """Record that the events of a task report changes; Airflow has recorded its success and events.

    If this fails, the next event reports the same changes again.
    """
    events = context["outlet_events"]
    reported = [each for asset in events for each in events[asset].extra.get("changed_by", ())]
    if reported:
        with flow_context.open_context() as flow, flow.warehouse.begin() as connection:
            step_log.mark_reported(connection, reported)


def event(manifest: Mapping[str, Any], changed_by: Sequence[int]) -> dict[str, Any]:
    """Return the extra of an asset's event, as `bms_provider.assets` describes it. Pure."""
    return {
        "step_run_id": manifest["step_run_id"],
        "id_entity": manifest["id_entity"],
        "days": manifest.get("days"),
        "changed": bool(changed_by),
        "changed_by": [*changed_by],
        "counts": {name: manifest[name] for name in COUNTS},
        "totals": manifest.get("totals", {}),
    }
