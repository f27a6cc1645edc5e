"""Paging of contacts and consultants according to the dialect."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from bms_sandbox.dialect import Dialect
from bms_sandbox.errors import Reply, ServiceError, json_reply
from bms_sandbox.row_encoder import EXTRA, Row
from bms_sandbox.service import Service


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
    if dialect.page_size_max and size > dialect.page_size_max:
        if dialect.page_size_over == "refuse":
            raise ServiceError(
                422, "page_too_large", f"page_size is at most {dialect.page_size_max}"
            )
        announced = size if dialect.page_size_over == "clamp_rows" else dialect.page_size_max
        size = dialect.page_size_max
    else:
        announced = size
    pages = -(-count // announced)
    if number > max(-(-count // size), 1):
        if dialect.past_end == "not_found":
            raise ServiceError(404, "no_such_page", f"there are {pages} pages")
        if dialect.past_end == "last_page":
            number = max(pages, 1)
    return Page((number - 1) * size, number * size, pages or dialect.total_pages_when_empty)


def _ordered(service: Service, operation: str, rows: list[Row]) -> list[Row]:
    """Return the rows of a list, shuffled if the fault unstable_order fires."""
    if not service.faults.take("unstable_order", operation):
        return rows
    random = Random(service.faults.fired["unstable_order"])  # noqa: S311 -> a repeatable order, not a secret
    return random.sample(rows, len(rows))


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


def _envelope(service: Service, page: Page, rows: Iterable[Row], names: tuple[str, ...]) -> Reply:
    """Return the response of a page: total_pages, and the rows as data."""
    encoder = service.encoder
    extra = EXTRA if service.dialect.extra_fields else {}
    head = encoder.encode({"total_pages": page.total_pages} | extra)
    data = encoder.joined(rows, names)
    return json_reply(b"".join((head[:-1], b',"data":[', data, b"]}")))


@dataclass(frozen=True)
class PagedList:
    """A list on pages: its table, its operation and the fields of its items."""

    table: str
    operation: str
    fields: tuple[str, ...]

    def reply(
        self,
        service: Service,
        number: int,
        size: int,
        listing: Callable[[], list[Row]],
        shown: Callable[[Row], Row] = lambda row: row,
    ) -> Reply:
        """Return page `number` of the rows of `listing`, each as `shown` shows it."""
        rows = listing()
        page = page_of(len(rows), number, size, service.dialect)
        if _shift(service, self.table, self.operation, page, rows):
            rows = listing()
            page = page_of(len(rows), number, size, service.dialect)
        rows = _ordered(service, self.operation, rows)
        return _envelope(service, page, map(shown, rows[page.first : page.last]), self.fields)
