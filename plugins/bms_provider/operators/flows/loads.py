"""Operators that load the service's lists into the warehouse: client invoices and mirrored resources."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from bms.arguments import BadArgument, argument
from bms_provider import assets, flow_context, lineage, policy
from bms_provider.operators.flows.base import BmsFlowOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context
    from sqlalchemy import Table

    from bms_flows.runtime.context import FlowContext

COUNTS = ("rows_read", "inserted", "changed", "unchanged", "quarantined", "missing")


class BmsLoadOperator(BmsFlowOperator):
    """Base of the operators that load a table. A complete, whole load is an event of its asset.

    With the table's asset among ``outlets``, the event has the ``extra`` that `bms_provider.assets`
    describes.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.on_success_callback = [*self.on_success_callback, policy.event_recorded]

    def report(
        self, context: Context, flow: FlowContext, table: Table, manifest: Mapping[str, Any]
    ) -> None:
        """Report a load of the service's list of the same name: metrics, lineage, asset event."""
        from bms.endpoints import BY_NAME
        from bms_flows.runtime import step_log

        flow_context.emit_rows(table.name, manifest)
        endpoint, url = BY_NAME[f"list_{table.name}s"], flow.warehouse.url
        lineage.report(endpoint, self.hook.settings.base_url, table, url, manifest)
        asset, outlets = assets.BY_TABLE[table.name], context["task"].outlets
        if manifest["state"] != "complete" or not manifest["whole"]:
            # Airflow records an event for each outlet of a successful task, with or without extra.
            outlets.clear()
        elif asset in outlets:
            with flow.warehouse.connect() as connection:
                changed_by = step_log.unreported(connection, manifest["step_run_id"])
            context["outlet_events"][asset].extra = event(manifest, changed_by)


class BmsPlanInvoicesOperator(BmsFlowOperator):
    """Plan which days of client invoices to load.

    Days: ``first_day`` to ``last_day``, else the run's data interval, else yesterday. Without a first
    day, and not in a backfill, also the earlier days that are due.

    :param entities: numbers of the entities (``entities``, templated); default: the connection's.
    :param first_day: first day to read (``start_date``, templated).
    :param last_day: last day to read, included (``end_date``, templated).
    :param lookback_days: recent days to read again (``lookback_days``, templated); default:
        ``BMS_LOOKBACK_DAYS``.
    :param publish_held: publish held days instead of reading (``accept_suspect``, templated).
    :return: to XCom: the positions of the units, to map `BmsLoadClientInvoicesOperator` over.
    """

    entities: Sequence[int] | str | None = None
    first_day: date | str | None = None
    last_day: date | str | None = None
    lookback_days: int | str | None = None
    publish_held: bool | str | None = None

    def execute(self, context: Context) -> list[int]:
        """Record the units in `bms.step_run`; return their positions."""
        from bms_flows.invoices import planning

        first = self.given(context, "first_day", date | None, "start_date")
        last = self.given(context, "last_day", date | None, "end_date")
        window = flow_context.window_of_run(first, last)
        request = planning.RunRequest(
            entities=self.hook.entities_or(self.given(context, "entities", list[int] | None)),
            window=window,
            only_window=bool(first) or context["dag_run"].run_type == "backfill",
            lookback_days=self.given(context, "lookback_days", int | None),
            publish_held=bool(self.given(context, "publish_held", bool | None, "accept_suspect")),
        )
        with self.open() as flow:
            return planning.record_plan(flow, request, flow_context.step("plan", window=window))


class BmsLoadClientInvoicesOperator(BmsLoadOperator):
    """Load the client invoices of a planned unit into ``bms.client_invoice``, with checks and versions.

    Holds implausible days for review and publishes the others. The task is rescheduled while another
    run loads the same days.

    :param position: position of the unit in the run's plan (templated).
    :param language: language of the code labels, ``EN`` or ``FR`` (``language``, templated); default:
        ``BMS_LANGUAGE``.
    :return: to XCom: the manifest of the load.
    """

    position: int | str
    language: str | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Read and load the unit, or publish it if it was held; return its manifest."""
        from airflow.sdk.exceptions import AirflowSkipException

        from bms_flows.invoices import planning
        from bms_flows.invoices.acceptance import accept_unit
        from bms_flows.invoices.run import extract_unit
        from bms_warehouse.tables import client_invoice

        with (
            flow_context.counted("list_client_invoices") as counters,
            flow_context.rescheduled_while_busy(),
            self.open() as flow,
        ):
            position = self.given(context, "position", int)
            unit = planning.planned_unit(flow, flow_context.step("plan"), position)
            context["unit"] = f"entity {unit.id_entity}, {unit.span}"  # type: ignore[typeddict-unknown-key]  # for map_index_template
            step = flow_context.step("extract", id_entity=unit.id_entity, window=unit.span)
            if unit.accepts:
                manifest = accept_unit(flow, unit, step, context["dag_run"].triggering_user_name)
                if manifest is None:
                    raise AirflowSkipException("Nothing to publish: the held days were read again.")
            else:
                language = self.given(context, "language", str | None) or flow.settings.language
                client = self.hook.client(counters)
                manifest = asyncio.run(extract_unit(client, flow, unit, step, language=language))
            self.report(context, flow, client_invoice, manifest)
        return manifest


class BmsListEntitiesOperator(BmsFlowOperator):
    """Return the entities to read, to map `BmsSyncOperator` over.

    :param entities: numbers of the entities (``entities``, templated); default: the connection's.
    :return: to XCom: the numbers.
    """

    entities: Sequence[int] | str | None = None

    def execute(self, context: Context) -> list[int]:
        """Return the entities; raise `BadConnection` if neither run nor connection names one."""
        return self.hook.entities_or(self.given(context, "entities", list[int] | None))


class BmsSyncOperator(BmsLoadOperator):
    """Mirror a list of the service into the table of its resource, with every change as a version.

    Also reads details, and marks missing rows as removed. The task is rescheduled while another run loads
    the same list.

    :param resource: ``contact``, ``consultant``, ``employee``, or another mirrored resource (templated).
    :param id_entity: the entity, for a resource with a list per entity (templated).
    :param entities: all entities of the run, for such a resource (``entities``, templated).
    :param query: parameters that restrict the list, for example ``{"filter": "ACTIVE"}`` (templated);
        default: the params of the same names.
    :param details: ``off``, ``directory`` or ``full``; default: the param ``details`` or
        ``<resource>_details``, then ``BMS_<RESOURCE>_DETAILS`` (templated).
    :param full: read all details again (``full``, templated).
    :param accept_gone: confirm that unusually many rows are missing (``accept_gone``, templated).
    :return: to XCom: the manifest of the load.
    """

    resource: str
    id_entity: int | str | None = None
    entities: Sequence[int] | str | None = None
    query: Mapping[str, Any] | None = None
    details: str | bool | None = None
    full: bool | str | None = None
    accept_gone: bool | str | None = None
    template_fields_renderers: ClassVar[dict[str, str]] = {"query": "json"}

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the mirror once; return the manifest of the load."""
        from bms.endpoints import BY_NAME
        from bms_flows.catalog import LOADED_BY
        from bms_flows.mirror import run
        from bms_flows.mirror.resource import RunOptions
        from bms_flows.mirror.resources import MIRRORED, source

        known: Any = Literal[tuple(MIRRORED)]
        resource, hook = MIRRORED[argument("resource", self.resource, known)], self.hook
        described, params = resource.described, context["params"]
        own = (each.name for each in BY_NAME[described.list_operation].params)
        names = [name for name in own if name != "id_entity"]
        query = params if self.query is None else self.query
        if wrong := sorted((self.query or {}).keys() - {*names}):
            raise BadArgument(f"query takes {', '.join(names)}, not {', '.join(wrong)}")
        given: dict[str, Any] = {name: query.get(name) for name in names}
        id_entity = self.given(context, "id_entity", int | None)
        if (id_entity is not None) != described.per_entity:
            lists = "a list per entity: give" if described.per_entity else "one list: leave out"
            raise BadArgument(f"{self.resource} has {lists} id_entity")
        if id_entity is not None:
            entities = hook.entities_or(self.given(context, "entities", list[int] | None))
            given |= {"id_entity": id_entity, "entities": entities}
        level = self.level(context)
        options = RunOptions(
            details=level != "off",
            private=level == "full" and bool(described.private_columns),
            full=bool(self.given(context, "full", bool | None)),
            accept_gone=bool(self.given(context, "accept_gone", bool | None)),
            accepted_by=context["dag_run"].triggering_user_name,
        )
        # A DAG of a team may mirror several resources.
        ours = context["dag_run"].dag_id == LOADED_BY[self.resource].dag_id
        name = "sync" if ours else f"sync_{self.resource}"
        step = flow_context.step(name, id_entity=id_entity)

        async def once() -> dict[str, Any]:
            async with hook.client(counters) as client:
                lists = source(client, resource, **given)
                return await run.sync(client, flow, resource, lists, options, step)

        with (
            flow_context.counted(f"mirror_{self.resource}") as counters,
            flow_context.rescheduled_while_busy(),
            self.open() as flow,
        ):
            manifest = asyncio.run(once())
            self.report(context, flow, resource.table, manifest)
        return manifest

    def level(self, context: Context) -> str:
        """Return which details to store."""
        from bms_flows.mirror.resources import MIRRORED
        from bms_flows.runtime.settings import DetailLevel

        described, params = MIRRORED[self.resource].described, context["params"]
        private, given = bool(described.private_columns), self.details
        if given is None:
            given = params.get(described.details_level if private else "details")
        if isinstance(given, bool):
            given = "directory" if given else "off"
        level: str | None = argument("details", given, DetailLevel | None)
        default = (
            flow_context.flow_settings().details_of(described.name) if private else "directory"
        )
        return level or default


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
