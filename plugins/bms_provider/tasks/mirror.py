"""Tasks of the mirror DAGs."""

from __future__ import annotations

import asyncio
from typing import Any

from airflow.sdk import get_current_context

from bms_flows.mirror import run
from bms_flows.mirror.resource import RunOptions
from bms_flows.mirror.resources import MIRRORED, source
from bms_flows.runtime.settings import FlowSettings
from bms_provider import flow_context
from bms_provider.hooks.bms import BmsHook
from bms_provider.tasks import loads
from bms_warehouse.resources import ResourceDescription


def entities() -> list[int]:
    """Return the entities of the run, else the entities of the connection."""
    return BmsHook().entities_or(get_current_context()["params"].get("entities"))


def sync(name: str, id_entity: int | None = None) -> dict[str, Any]:
    """Run the mirror of a resource, or of one entity, once; return the manifest of the load."""
    params = get_current_context()["params"]
    resource, hook = MIRRORED[name], BmsHook()
    queries = ("filter", *(each.name for each in resource.described.restrictions))
    given: dict[str, Any] = {query: params.get(query) for query in queries}
    if id_entity is not None:
        given |= {"id_entity": id_entity, "entities": entities()}
    step = flow_context.step("sync", id_entity=id_entity)

    async def once() -> dict[str, Any]:
        async with hook.client(counters) as client:
            lists = source(client, resource, **given)
            return await run.sync(
                client, flow, resource, lists, _options(params, resource.described), step
            )

    with (
        flow_context.counted(f"mirror_{name}") as counters,
        flow_context.rescheduled_while_busy(),
        flow_context.open_for_service(hook.settings) as flow,
    ):
        manifest = asyncio.run(once())
        loads.report(flow, hook, resource.table, manifest)
    return manifest


def _options(params: Any, described: ResourceDescription) -> RunOptions:
    """Return the options of a run; a mirror with private fields has levels of details."""
    level = "directory" if params.get("details", True) else "off"
    if described.details_level in params:
        settings = FlowSettings.from_environment()
        level = params[described.details_level] or settings.details_of(described.name)
    return RunOptions(
        details=level != "off",
        private=level == "full",
        full=params.get("full", False),
        accept_gone=params["accept_gone"],
    )
