"""Reports of a load: metrics, OpenLineage datasets and asset events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, get_current_context

from bms.endpoints import BY_NAME
from bms_provider import flow_context, lineage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Table

    from bms_flows.runtime.context import FlowContext
    from bms_provider.hooks.bms import BmsHook


def report(
    flow: FlowContext,
    hook: BmsHook,
    table: Table,
    manifest: Mapping[str, Any],
    id_entity: int | None = None,
) -> None:
    """Report a load of the service's list of the same name into a table."""
    flow_context.emit_rows(table.name, manifest)
    endpoint, url = BY_NAME[f"list_{table.name}s"], flow.warehouse.url
    lineage.report(endpoint, hook.settings.base_url, table, url, manifest)
    parts = [table.name] if id_entity is None else [table.name, str(id_entity)]
    asset = Asset(f"bms_{'_'.join(parts)}", uri=f"bms://warehouse/{'/'.join(parts)}")
    context = get_current_context()
    for alias in context["task"].outlets:
        context["outlet_events"][alias].add(asset, extra=dict(manifest))
