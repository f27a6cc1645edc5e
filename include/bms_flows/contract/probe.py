"""The probe: every question once, in an order in which one answer serves the next."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

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
)
from bms_flows.contract import paging, ranges, shapes
from bms_flows.contract.asking import Asker, Reply
from bms_flows.contract.employees import ask_default_filter
from bms_flows.contract.finding import Finding, cannot_tell
from bms_flows.contract.tokens import expires_in_unit
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import Window

CODES: Final = {
    "client_invoice": ("invoice_type", "payment_mode", "status", "currency"),
    "employee": ("salutation_code", "category_code"),
    "contact": ("origin", "signal"),
    "consultant": ("type", "currency"),
}
NO_SUCH_ID: Final = 2**31 - 1
"""The largest number of the interface's int32."""


@dataclass
class Probe:
    """Asks one service what its interface doesn't show; each question that fails says so itself."""

    asker: Asker
    entities: Sequence[int]
    settings: FlowSettings
    today: date
    findings: list[Finding] = field(default_factory=list)
    most: int = paging.LARGE
    served_at: float | None = None

    async def run(self) -> list[Finding]:
        """Return what every question brought; a token must be had, everything else may fail."""
        token = await self.asker.token()
        self.served_at = token.served_at
        assumed = self.asker.settings.expires_in_unit
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
        self, names: Sequence[str], question: Callable[[], Awaitable[list[Finding]]]
    ) -> None:
        try:
            self.findings += await question()
        except BmsError as error:
            why = f"the question failed ({type(error).__name__})."
            self.findings += [cannot_tell(name, why) for name in names]

    async def _page(self, number: int, size: int) -> Reply:
        return await self.asker.get(
            "list_contacts", {"filter": "ALL", "page_number": number, "page_size": size}
        )

    async def _page_size(self) -> list[Finding]:
        found = await paging.ask_page_size_limit(self._page, self.asker.settings.page_size)
        if found.known:
            self.most = found.value["rows"]
        return [found]

    async def _past_end(self) -> list[Finding]:
        return [await paging.ask_past_end(self._page, min(paging.FEW, self.most))]

    async def _order(self) -> list[Finding]:
        return await paging.ask_order(self._page, min(2 * paging.FEW, self.most))

    async def _default_filter(self) -> list[Finding]:
        return [await ask_default_filter(self.asker, self.entities)]

    async def _ranges(self) -> list[Finding]:
        assumed = self.settings.invoice_range_date
        for entity in self.entities:

            async def range_of(window: Window, id_entity: int = entity) -> Reply:
                return await self.asker.get(
                    "list_client_invoices",
                    {
                        "id_entity": id_entity,
                        "start_date": window.start.isoformat(),
                        "end_date": window.end.isoformat(),
                    },
                )

            wide = await ranges.ask_wide(range_of, self.today)
            if wide is None:
                continue
            return [
                await ranges.ask_range_date(wide, assumed),
                await ranges.ask_end_date(wide, self.asker.settings.end_date_inclusive),
                *self._seen("client_invoice", "list_client_invoices", wide.rows, ClientInvoice),
                shapes.datetime_zone(wide.rows, self.served_at, self.asker.settings.time_zone),
            ]
        why = "no entity has enough invoices in half a year."
        return [
            cannot_tell("invoice_range_date", why, setting=ranges.RANGE_SETTING),
            cannot_tell("end_date", why, setting=ranges.END_SETTING),
        ]

    async def _errors(self) -> list[Finding]:
        unknown = await self.asker.get("read_contact", values={"id_contact": NO_SUCH_ID})
        missing = await self.asker.get("list_contacts", {"page_size": 1})
        anonymous = await self.asker.get(
            "list_contacts", {"filter": "ALL", "page_size": 1}, with_token=False
        )
        return [
            shapes.error("error_unknown_id", "An id that nobody has", unknown),
            shapes.error("error_missing_parameter", "A list of contacts without filter", missing),
            shapes.error("error_no_token", "A list without a token", anonymous),
        ]

    async def _contacts(self) -> list[Finding]:
        rows = (await self._page(1, min(100, self.most))).rows()
        findings = self._seen("contact", "list_contacts", rows, ContactItem)
        findings.append(shapes.offsets(rows, self.asker.settings.time_zone))
        return findings + await self._detail("read_contact", "id_contact", "id", rows, Contact)

    async def _consultants(self) -> list[Finding]:
        query = {"page_number": 1, "page_size": min(100, self.most)}
        rows = (await self.asker.get("list_consultants", query)).rows()
        findings = self._seen("consultant", "list_consultants", rows, ConsultantItem)
        return findings + await self._detail(
            "read_consultant", "id_consultant", "id", rows, Consultant
        )

    async def _employees(self) -> list[Finding]:
        rows = []
        for entity in self.entities:
            listed = await self.asker.get("list_employees", {"id_entity": entity, "filter": "ALL"})
            rows += listed.rows()
        findings = self._seen("employee", "list_employees", rows, EmployeeItem)
        key = "guid_employee"
        return findings + await self._detail("read_employee", key, key, rows, Employee)

    def _seen(
        self, resource: str, operation: str, rows: Sequence[shapes.Row], record: type[Record]
    ) -> list[Finding]:
        return [
            shapes.undocumented(operation, rows, record),
            *(shapes.codes(resource, each, rows) for each in CODES[resource]),
        ]

    async def _detail(
        self,
        operation: str,
        parameter: str,
        key: str,
        rows: Sequence[shapes.Row],
        record: type[Record],
    ) -> list[Finding]:
        """Read one detail for the names of its fields."""
        name = f"undocumented_{operation}"
        given = rows[0].get(key) if rows else None
        if not isinstance(given, int | str):
            return [cannot_tell(name, "there is none to read.")]
        reply = await self.asker.get(operation, values={parameter: given})
        content = reply.content() if reply.ok else None
        details = [content] if isinstance(content, dict) else []
        return [shapes.undocumented(operation, details, record)]
