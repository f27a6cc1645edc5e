"""Probe of unspecified service behaviour: requests, findings and their storage."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from bms.client import Client
from bms.endpoints import BY_NAME, BY_OPERATION
from bms.errors import BmsError
from bms.records import ClientInvoice, Record, described
from bms_flows.contract import paging, ranges, shapes
from bms_flows.contract.default_filter import probe_default_filter
from bms_flows.contract.finding import ContractFinding, Question
from bms_flows.contract.replies import Reply, ask
from bms_flows.contract.store import store
from bms_flows.contract.tokens import expires_in_unit
from bms_flows.contract.visibility import created_on_order
from bms_flows.runtime import step_log
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window

UNKNOWN_ID: Final = 2**31 - 1
"""The largest int32, the type of ids in the interface."""


async def run_probe(
    client: Client, flow: FlowContext, step: Step, *, entities: Sequence[int], today: date
) -> dict[str, Any]:
    """Probe the service and store the findings; return their names by result.

    Raises the client's errors if the service issues no token.
    """
    with recorded_step(flow, step, client.counters) as step_run_id:
        async with client:
            findings = await Probe(client, entities, flow.settings, today).run()
        with flow.warehouse.begin() as connection:
            findings.append(created_on_order(connection))
            names = store(connection, findings, step, step_run_id)
            step_log.finish(
                connection,
                step_run_id,
                state="complete",
                service=client.counters,
                details={result: len(found) for result, found in names.items()},
            )
    return names | {"requests": client.counters.requests}


@dataclass
class Probe:
    """Probe of one service; a question that fails is reported as undetermined."""

    client: Client
    entities: Sequence[int]
    settings: FlowSettings
    today: date
    findings: list[ContractFinding] = field(default_factory=list)
    max_page: int = paging.LARGE
    served_at: float | None = None

    async def run(self) -> list[ContractFinding]:
        """Return the findings of every question; raise only if the service issues no token.

        Later questions use the results of earlier ones.
        """
        token = Reply(await self.client.raw_token(), BY_NAME["request_token"])
        self.served_at = token.served_at
        assumed = self.client.settings.expires_in_unit
        self.findings.append(expires_in_unit(token.content(), token.served_at, assumed))
        contacts, page_size = self._page, self.client.settings.page_size
        size_limit = paging.probe_page_size_limit(contacts, page_size)
        [limit] = await self._ask(size_limit, "page_size_limit")
        if limit.known:
            self.max_page = limit.value["rows"]
        past_end = paging.probe_past_end(contacts, min(paging.SMALL, self.max_page))
        await self._ask(past_end, "past_end")
        order = paging.probe_order(contacts, min(2 * paging.SMALL, self.max_page))
        await self._ask(order, "sort_stability", "list_order")
        await self._ask(probe_default_filter(self.client, self.entities), "default_filter")
        await self._ask(self._ranges(), "invoice_range_date", "end_date")
        errors = ("error_unknown_id", "error_missing_parameter", "error_no_token")
        await self._ask(self._errors(), *errors)
        for resource in ("contact", "consultant", "employee"):
            operations = f"list_{resource}s", f"read_{resource}"
            names = (f"undocumented_{operation}" for operation in operations)
            await self._ask(self._records(resource, *operations), *names)
        return self.findings

    async def _ask(
        self, question: Awaitable[ContractFinding | list[ContractFinding]], *names: str
    ) -> list[ContractFinding]:
        """Add and return the answers, or why the named findings have none."""
        try:
            found = await question
        except BmsError as error:
            why = f"the question failed ({type(error).__name__})."
            found = [Question(name).undetermined(why) for name in names]
        found = found if isinstance(found, list) else [found]
        self.findings += found
        return found

    async def _page(self, number: int, size: int) -> Reply:
        return await ask(
            self.client,
            "list_contacts",
            {"filter": "ALL", "page_number": number, "page_size": size},
        )

    async def _ranges(self) -> list[ContractFinding]:
        assumed = self.settings.invoice_range_date
        for entity in self.entities:

            async def read_range(window: Window, id_entity: int = entity) -> Reply:
                return await ask(
                    self.client,
                    "list_client_invoices",
                    {
                        "id_entity": id_entity,
                        "start_date": window.start.isoformat(),
                        "end_date": window.end.isoformat(),
                    },
                )

            sample = await ranges.find_sample(read_range, self.today)
            if sample is None:
                continue
            return [
                await ranges.probe_range_date(sample, assumed),
                await ranges.probe_end_date(sample, self.client.settings.end_date_inclusive),
                *self._seen("client_invoice", "list_client_invoices", sample.rows, ClientInvoice),
                shapes.datetime_zone(sample.rows, self.served_at, self.client.settings.time_zone),
            ]
        why = f"no entity has {ranges.MIN_ROWS} invoices in a range of the last half year."
        return [ranges.RANGE_DATE.undetermined(why), ranges.END_DATE.undetermined(why)]

    async def _errors(self) -> list[ContractFinding]:
        unknown = await ask(self.client, "read_contact", values={"id_contact": UNKNOWN_ID})
        missing = await ask(self.client, "list_contacts", {"page_size": 1})
        anonymous = await ask(
            self.client, "list_contacts", {"filter": "ALL", "page_size": 1}, authenticate=False
        )
        return [
            shapes.error("error_unknown_id", "Unknown id", unknown),
            shapes.error("error_missing_parameter", "Contacts without filter", missing),
            shapes.error("error_no_token", "List without a token", anonymous),
        ]

    async def _records(self, resource: str, listing: str, reading: str) -> list[ContractFinding]:
        """Return what the items of a list, and the detail of its first, have."""
        size = min(100, self.max_page)
        queries: Mapping[str, Sequence[Mapping[str, str | int | bool]]] = {
            "contact": [{"filter": "ALL", "page_number": 1, "page_size": size}],
            "consultant": [{"page_number": 1, "page_size": size}],
            "employee": [{"id_entity": each, "filter": "ALL"} for each in self.entities],
        }
        rows = [
            row
            for query in queries[resource]
            for row in (await ask(self.client, listing, query)).rows()
        ]
        record = BY_OPERATION[listing]
        findings = self._seen(resource, listing, rows, record)
        if resource == "contact":
            findings.append(shapes.offsets(rows, self.client.settings.time_zone))
        given = rows[0].get(record.KEY) if rows else None
        if not isinstance(given, int | str):
            unread = Question(f"undocumented_{reading}")
            return [*findings, unread.undetermined("the list has no record to read.")]
        parameter = BY_NAME[reading].path.rpartition("/")[2].strip("{}")
        reply = await ask(self.client, reading, values={parameter: given})
        content = reply.content() if reply.ok else None
        details = [content] if isinstance(content, dict) else []
        return [*findings, shapes.undocumented(reading, details, BY_OPERATION[reading])]

    def _seen(
        self, resource: str, operation: str, rows: Sequence[shapes.Row], record: type[Record]
    ) -> list[ContractFinding]:
        return [
            shapes.undocumented(operation, rows, record),
            *(
                shapes.codes(resource, name, rows)
                for name, each in described(record).items()
                if each.code
            ),
        ]
