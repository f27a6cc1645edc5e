"""Lists of employees, contacts and consultants: filters, order, pages, according to the dialect."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from bms_sandbox.dialect import Dialect
from bms_sandbox.errors import Reply, ServiceError, array_reply, json_reply
from bms_sandbox.operations.shapes import Int32
from bms_sandbox.row_encoder import EXTRA, Row
from bms_sandbox.service import Service

PAGING: Mapping[str, Any] = {"page_number": (Int32, 1), "page_size": (Int32, 100)}
"""Type and default of the parameters of paged lists."""

Keep = Callable[[Row], bool]


@dataclass(frozen=True)
class ResourceList:
    """List of a resource: `parameters` with type and default, and the rows that they select."""

    text: str
    """What the list does, in English and French."""
    parameters: Mapping[str, Any]
    keep: Callable[[Service, dict[str, Any]], Keep]
    """Returns the condition of the rows that the given parameters select."""
    paged: bool = True
    shown: Callable[[Row], Row] = lambda row: row
    """Returns a row as the list shows it."""

    def reply(
        self, service: Service, table_name: str, fields: tuple[str, ...], given: dict[str, Any]
    ) -> Reply:
        """Return the response to a request with the parameters `given`."""
        table, dialect = service.tables[table_name], service.dialect
        operation, at = f"list_{table_name}", service.listed_at()
        number, size = (given.pop(name, 1) for name in PAGING)
        keep = self.keep(service, given)

        def listing() -> list[Row]:
            now = service.clock.now()
            name = (*given.values(), now.date(), dialect)
            rows = table.listing(name, keep, dialect.list_order, now)
            return rows if at == now or not dialect.replica_lag else table.existing(rows, at)

        if not self.paged:
            return array_reply(
                [service.encoder.joined(map(self.shown, listing()), fields)], dialect
            )
        rows = listing()
        page = page_of(len(rows), number, size, dialect)
        if _shift(service, table_name, operation, page, rows):
            rows = listing()
            page = page_of(len(rows), number, size, dialect)
        if service.faults.take("unstable_order", operation):
            random = Random(service.faults.fired["unstable_order"])  # noqa: S311 -> a repeatable order, not a secret
            rows = random.sample(rows, len(rows))
        encoder, extra = service.encoder, EXTRA if dialect.extra_fields else {}
        head = encoder.encode({"total_pages": page.total_pages} | extra)
        data = encoder.joined(map(self.shown, rows[page.first : page.last]), fields)
        return json_reply(b"".join((head[:-1], b',"data":[', data, b"]}")))


@dataclass(frozen=True, slots=True)
class Page:
    """A page: the slice of the rows, and the number of pages."""

    first: int
    last: int
    total_pages: int


def page_of(count: int, number: int, size: int, dialect: Dialect) -> Page:
    """Return page `number` of `size` of `count` rows according to the dialect.

    Numbers below 1 are 422: our assumption, the interface does not define it.
    """
    if number < 1 or size < 1:
        raise ServiceError(422, "invalid_page", "page_number and page_size start at 1")
    if size % dialect.page_size_step:
        text = f"page_size is a multiple of {dialect.page_size_step}"
        raise ServiceError(422, "invalid_page_size", text)
    largest, over = dialect.page_size_max or size, dialect.page_size_over
    if size > largest and over == "refuse":
        raise ServiceError(422, "page_too_large", f"page_size is at most {largest}")
    announced = size if over == "clamp_rows" else min(size, largest)
    size = min(size, largest)
    whole, rest = divmod(count, announced)
    pages = (
        whole + {"up": rest > 0, "down": 0, "beyond": 1 + (rest > 0)}[dialect.total_pages_rounding]
    )
    last = max(-(-count // size), 1)
    if number > last:
        if dialect.past_end == "not_found":
            raise ServiceError(404, "no_such_page", f"there are {pages} pages")
        if dialect.past_end == "last_page":
            number = last
    pages -= {"all": 0, "from_here": number - 1, "after": number}[dialect.total_pages_counts]
    total = max(pages, 0) or dialect.total_pages_when_empty
    return Page((number - 1) * size, number * size, total)


def has_entity(service: Service, id_entity: int) -> bool:
    """Return whether `id_entity` exists; raise 404 if it does not and the dialect says so."""
    known = id_entity in service.entities
    if not known and service.dialect.unknown_entity == "not_found":
        raise ServiceError(404, "unknown_entity", "no such id_entity")
    return known


def _shift(service: Service, resource: str, operation: str, page: Page, shown: list[Row]) -> bool:
    """Let the page-shift faults fire before a later page is returned; return whether rows moved."""
    if page.first == 0 or not shown:
        return False
    table = service.tables[resource]
    moved = False
    if service.faults.take("page_insert", operation):
        # A copy of the first row with a number before it sorts first in any order.
        backwards = service.dialect.list_order == "id_desc"
        number = table.next_number() if backwards else table.lowest_number() - 1
        email = {"email": f"inserted.{number}@decalage.example"} if "email" in shown[0] else {}
        table.add(shown[0] | {"id": number} | email)
        moved = True
    if service.faults.take("page_delete", operation):
        table.remove(shown[0]["id"])
        moved = True
    return moved
