"""Tasks of contact_sync, consultant_sync and employee_directory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, get_current_context

from bms.counters import Counters
from bms.endpoints import BY_NAME
from bms_flows.mirror import run as sync
from bms_flows.mirror.consultants import CONSULTANTS, consultants
from bms_flows.mirror.contacts import CONTACTS, contacts
from bms_flows.mirror.employees import EMPLOYEES, employees
from bms_flows.mirror.resource import Asked
from bms_flows.runtime.settings import FlowSettings
from bms_provider import flow_context, lineage
from bms_provider.hooks.bms import BmsHook

if TYPE_CHECKING:
    from collections.abc import Callable

    from bms.client import Client
    from bms_flows.mirror.resource import Resource, Source


def sync_contacts() -> dict[str, Any]:
    """Bring `bms.contact` up to date and return the run's manifest."""
    params = get_current_context()["params"]
    given = {name: params[name] for name in ("filter", "id_client", "is_lead")}
    return _sync(CONTACTS, lambda client: contacts(client, **given), _asked(params))


def sync_consultants() -> dict[str, Any]:
    """Bring `bms.consultant` up to date and return the run's manifest."""
    params = get_current_context()["params"]
    given = {name: params[name] for name in ("type", "id_client")}
    return _sync(CONSULTANTS, lambda client: consultants(client, **given), _asked(params))


def entities() -> list[int]:
    """Return the entities to read: those that the run names, else the connection's."""
    return BmsHook().entities_or(get_current_context()["params"].get("entities"))


def sync_employees(id_entity: int) -> dict[str, Any]:
    """Bring `bms.employee` up to date for one entity and return the run's manifest."""
    params = get_current_context()["params"]
    kept = params["employee_details"] or FlowSettings.from_environment().employee_details
    asked = Asked(
        details=kept != "off",
        private=kept == "full",
        full=params["full"],
        accept_gone=params["accept_gone"],
    )
    return _sync(EMPLOYEES, lambda client: employees(client, id_entity=id_entity), asked, id_entity)


def _asked(params: Any) -> Asked:
    return Asked(details=params["details"], full=params["full"], accept_gone=params["accept_gone"])


def _sync(
    resource: Resource,
    source_of: Callable[[Client], Source],
    asked: Asked,
    id_entity: int | None = None,
) -> dict[str, Any]:
    """Run a mirror once; its counts go on record, to the metrics, and with the task's assets."""
    context = get_current_context()
    hook, counters = BmsHook(), Counters()
    step = flow_context.step("sync", id_entity=id_entity)

    async def run() -> dict[str, Any]:
        async with hook.client(counters) as client:
            return await sync.sync(client, flow, resource, source_of(client), asked, step)

    with flow_context.open_for_service(hook.settings) as flow:
        try:
            manifest = asyncio.run(run())
        finally:
            flow_context.emit(counters, f"mirror_{resource.name}")
        flow_context.emit_rows(resource.name, manifest)
        endpoint, url = BY_NAME[f"list_{resource.name}s"], flow.warehouse.url
        lineage.report(endpoint, hook.settings.base_url, resource.table, url, manifest)
    name = resource.name if id_entity is None else f"{resource.name}_{id_entity}"
    asset = Asset(f"bms_{name}", uri=f"bms://warehouse/{name.replace('_', '/')}")
    for alias in context["task"].outlets:
        context["outlet_events"][alias].add(asset, extra=manifest)
    return manifest
