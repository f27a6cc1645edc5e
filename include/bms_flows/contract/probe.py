"""Probe of unspecified service behaviour: requests, findings and their storage."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from bms.client import Client
from bms.errors import BmsError
from bms.records import (
    ClientInvoice,
    Consultant,
    ConsultantItem,
    Contact,
    ContactItem,
    Employee,
    EmployeeItem,
    Record,
    described,
)
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
        token = Reply(await self.client.raw_token())
        self.served_at = token.served_at
        assumed = self.client.settings.expires_in_unit
        self.findings.append(expires_in_unit(token.content(), token.served_at, assumed))
        for names, question in (
            (("page_size_limit",), self._page_size),
            (("past_end",), self._past_end),
            (("sort_stability", "list_order"), self._order),
            (("default_filter",), self._default_filter),
            (("invoice_range_date", "end_date"), self._ranges),
            (("error_unknown_id", "error_missing_parameter", "error_no_token"), self._errors),
            (("undocumented_list_contacts", "undocumented_read_contact"), self._contacts),
            (("undocumented_list_consultants", "undocumented_read_consultant"), self._consultants),
            (("undocumented_list_employees", "undocumented_read_employee"), self._employees),
        ):
            await self._ask(names, question)
        return self.findings

    async def _ask(
        self, names: Sequence[str], question: Callable[[], Awaitable[list[ContractFinding]]]
    ) -> None:
        try:
            self.findings += await question()
        except BmsError as error:
            why = f"the question failed ({type(error).__name__})."
            self.findings += [Question(name).undetermined(why) for name in names]

    async def _page(self, number: int, size: int) -> Reply:
        return await ask(
            self.client,
            "list_contacts",
            {"filter": "ALL", "page_number": number, "page_size": size},
        )

    async def _page_size(self) -> list[ContractFinding]:
        found = await paging.probe_page_size_limit(self._page, self.client.settings.page_size)
        if found.known:
            self.max_page = found.value["rows"]
        return [found]

    async def _past_end(self) -> list[ContractFinding]:
        return [await paging.probe_past_end(self._page, min(paging.SMALL, self.max_page))]

    async def _order(self) -> list[ContractFinding]:
        return await paging.probe_order(self._page, min(2 * paging.SMALL, self.max_page))

    async def _default_filter(self) -> list[ContractFinding]:
        return [await probe_default_filter(self.client, self.entities)]

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

    async def _contacts(self) -> list[ContractFinding]:
        rows = (await self._page(1, min(100, self.max_page))).rows()
        findings = self._seen("contact", "list_contacts", rows, ContactItem)
        findings.append(shapes.offsets(rows, self.client.settings.time_zone))
        return findings + await self._detail("read_contact", "id_contact", "id", rows, Contact)

    async def _consultants(self) -> list[ContractFinding]:
        query = {"page_number": 1, "page_size": min(100, self.max_page)}
        rows = (await ask(self.client, "list_consultants", query)).rows()
        findings = self._seen("consultant", "list_consultants", rows, ConsultantItem)
        return findings + await self._detail(
            "read_consultant", "id_consultant", "id", rows, Consultant
        )

    async def _employees(self) -> list[ContractFinding]:
        rows = []
        for entity in self.entities:
            listed = await ask(
                self.client, "list_employees", {"id_entity": entity, "filter": "ALL"}
            )
            rows += listed.rows()
        findings = self._seen("employee", "list_employees", rows, EmployeeItem)
        key = "guid_employee"
        return findings + await self._detail("read_employee", key, key, rows, Employee)

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

    async def _detail(
        self,
        operation: str,
        parameter: str,
        key: str,
        rows: Sequence[shapes.Row],
        record: type[Record],
    ) -> list[ContractFinding]:
        """Return the undocumented fields of one detail."""
        name = f"undocumented_{operation}"
        given = rows[0].get(key) if rows else None
        if not isinstance(given, int | str):
            return [Question(name).undetermined("the list has no record to read.")]
        reply = await ask(self.client, operation, values={parameter: given})
        content = reply.content() if reply.ok else None
        details = [content] if isinstance(content, dict) else []
        return [shapes.undocumented(operation, details, record)]
