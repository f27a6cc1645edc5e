"""Tasks of the DAGs contact_sync, consultant_sync and employee_directory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context

from bms_flows.mirror import run
from bms_flows.mirror.consultants import CONSULTANTS, consultants
from bms_flows.mirror.contacts import CONTACTS, contacts
from bms_flows.mirror.employees import EMPLOYEES, employees
from bms_flows.mirror.resource import RunOptions
from bms_flows.runtime.settings import FlowSettings
from bms_provider import flow_context
from bms_provider.hooks.bms import BmsHook
from bms_provider.tasks import loads

if TYPE_CHECKING:
    from collections.abc import Callable

    from bms.client import Client
    from bms_flows.mirror.resource import MirroredResource, MirrorSource


def sync_contacts() -> dict[str, Any]:
    """Update `bms.contact`; return the manifest of the load."""
    params = get_current_context()["params"]
    given = {name: params[name] for name in ("filter", "id_client", "is_lead")}
    return _sync(CONTACTS, lambda client: contacts(client, **given), _options(params))


def sync_consultants() -> dict[str, Any]:
    """Update `bms.consultant`; return the manifest of the load."""
    params = get_current_context()["params"]
    given = {name: params[name] for name in ("type", "id_client")}
    return _sync(CONSULTANTS, lambda client: consultants(client, **given), _options(params))


def entities() -> list[int]:
    """Return the entities of the run, else the entities of the connection."""
    return BmsHook().entities_or(get_current_context()["params"].get("entities"))


def sync_employees(id_entity: int) -> dict[str, Any]:
    """Update the employees of an entity in `bms.employee`; return the manifest of the load."""
    params = get_current_context()["params"]
    level = params["employee_details"] or FlowSettings.from_environment().employee_details
    options = RunOptions(
        details=level != "off",
        private=level == "full",
        full=params["full"],
        accept_gone=params["accept_gone"],
    )
    return _sync(
        EMPLOYEES, lambda client: employees(client, id_entity=id_entity), options, id_entity
    )


def _options(params: Any) -> RunOptions:
    return RunOptions(
        details=params["details"], full=params["full"], accept_gone=params["accept_gone"]
    )


def _sync(
    resource: MirroredResource,
    source_of: Callable[[Client], MirrorSource],
    options: RunOptions,
    id_entity: int | None = None,
) -> dict[str, Any]:
    """Run a mirror once and report its load."""
    hook = BmsHook()
    step = flow_context.step("sync", id_entity=id_entity)

    async def sync() -> dict[str, Any]:
        async with hook.client(counters) as client:
            return await run.sync(client, flow, resource, source_of(client), options, step)

    with (
        flow_context.counted(f"mirror_{resource.name}") as counters,
        flow_context.open_for_service(hook.settings) as flow,
    ):
        manifest = asyncio.run(sync())
        loads.report(flow, hook, resource.table, manifest, id_entity)
    return manifest
