"""Bugs that make the service contradict itself: a response is wrong for some queries only.

A bug depends on the query alone, so repeating the request returns the same wrong response.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs

from bms_sandbox.corruptions import Row, of_rows

Question = dict[str, str]
CAP = 40
PHANTOM = 9_000_000
SMALL_PAGE = 100


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug of one operation; `change` turns the correct content into the wrong content."""

    operation: str
    meaning: str
    change: Callable[[Question, Any], Any]


def question_of(path: str, query: bytes) -> Question:
    """Return the query parameters of a request, and the last path segment as `key`."""
    asked = {name: values[-1] for name, values in parse_qs(query.decode()).items()}
    return asked | {"key": path.rpartition("/")[2]}


def _days(question: Question) -> int:
    first, last = (date.fromisoformat(question[name]) for name in ("start_date", "end_date"))
    return (last - first).days + 1


def _silent_cap(_: Question, rows: list[Row]) -> list[Row]:
    return rows[:CAP]


def _first_day_lost(question: Question, rows: list[Row]) -> list[Row]:
    if _days(question) == 1:
        return rows
    return [row for row in rows if row["invoice_date"][:10] != question["start_date"]]


def _phantom_rows(question: Question, rows: list[Row]) -> list[Row]:
    if _days(question) == 1 or not rows:
        return rows
    copy = rows[len(rows) // 2]
    return [*rows, copy | {"id_invoice": copy["id_invoice"] + PHANTOM}]


def _stale_day(question: Question, rows: list[Row]) -> list[Row]:
    if _days(question) > 1:
        return rows
    return [row | {"total_due": row["total_incl_vat"]} for row in rows]


def _doubled_range(question: Question, rows: list[Row]) -> list[Row]:
    return rows if _days(question) == 1 else [*rows, *rows[:1]]


def _french_amounts(question: Question, rows: list[Row]) -> list[Row]:
    if question.get("language") != "FR":
        return rows
    return [row | {"total_vat": Decimal(int(row["total_vat"]))} for row in rows]


def _french_lost(question: Question, rows: list[Row]) -> list[Row]:
    if question.get("language") != "FR":
        return rows
    return [row for row in rows if row["client_name"].isascii()]


def _small_page_gap(question: Question, content: Any) -> Any:
    if int(question.get("page_size", SMALL_PAGE)) >= SMALL_PAGE:
        return content
    return of_rows(content, lambda rows: rows[:-1])


def _tail_page_lost(question: Question, content: Any) -> Any:
    size, pages = int(question.get("page_size", SMALL_PAGE)), content["total_pages"]
    shown, number = len(content["data"]), int(question.get("page_number", 1))
    if pages <= 1 or size < SMALL_PAGE:
        return content
    tail = number == pages and shown < size
    return {"total_pages": pages - 1, "data": [] if tail else content["data"]}


def _stale_detail(_: Question, detail: Row) -> Row:
    return detail | {"city": "Ancienneville", "postal_code": "00000"}


BUGS = {
    "silent_cap": Bug(
        "list_client_invoices", f"no list of invoices is longer than {CAP} rows", _silent_cap
    ),
    "first_day_lost": Bug(
        "list_client_invoices", "a range of several days lacks its first day", _first_day_lost
    ),
    "phantom_rows": Bug(
        "list_client_invoices", "a range of several days has one invoice too many", _phantom_rows
    ),
    "doubled_range": Bug(
        "list_client_invoices", "a range of several days repeats its first row", _doubled_range
    ),
    "stale_day": Bug(
        "list_client_invoices", "for a range of one day, total_due ignores payments", _stale_day
    ),
    "french_amounts": Bug(
        "list_client_invoices", "in French, total_vat loses its cents", _french_amounts
    ),
    "french_lost": Bug(
        "list_client_invoices", "in French, clients with accents are left out", _french_lost
    ),
    "small_page_gap": Bug(
        "list_contacts", "pages of fewer than 100 rows lack their last row", _small_page_gap
    ),
    "tail_page_lost": Bug(
        "list_consultants", "total_pages omits a last page that is not full", _tail_page_lost
    ),
    "stale_detail": Bug("read_contact", "details show an outdated town", _stale_detail),
}
