"""Wrong responses without an error: rows lost, repeated or altered.

Corruptions spoil any list. Bugs make the service contradict itself: a bug depends on the query alone,
so repeating the request returns the same wrong response.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs

import msgspec

from bms_sandbox.errors import Reply
from bms_sandbox.row_encoder import Row

Question = dict[str, str]
Rows = list[Row]
CAP = 40
CENT = Decimal("0.01")
LOST_ONE_IN = 20
PHANTOM = 7_000_000
SMALL_PAGE = 100

_READ = msgspec.json.Decoder(float_hook=Decimal)


@dataclass(frozen=True, slots=True)
class WrongResponse:
    """A wrong response of the operations that match a pattern; `change` returns the wrong content."""

    operation: str
    meaning: str
    change: Callable[[Question, Any], Any]


def question_of(path: str, query: bytes) -> Question:
    """Return the query parameters of a request, and the last path segment as `key`."""
    asked = {name: values[-1] for name, values in parse_qs(query.decode()).items()}
    return asked | {"key": path.rpartition("/")[2]}


def rewritten(reply: Reply, change: Callable[[Any], Any], write: Callable[[Any], bytes]) -> Reply:
    """Return a response with its JSON content changed; amounts keep their notation."""
    return Reply(reply.status, reply.headers, write(change(_READ.decode(reply.body))))


def is_empty_list(reply: Reply) -> bool:
    """Return whether a response is a list without rows."""
    content = _READ.decode(reply.body)
    return not (content.get("data", True) if isinstance(content, dict) else content)


def _list(meaning: str, change: Callable[[Rows], Rows]) -> WrongResponse:
    """Return a corruption of every list, paged or not; the page count stays."""
    return WrongResponse("list_*", meaning, lambda _, content: _of_rows(content, change))


def _invoices(meaning: str, change: Callable[[Question, Rows], Rows]) -> WrongResponse:
    return WrongResponse("list_client_invoices", meaning, change)


def _range(meaning: str, change: Callable[[Question, Rows], Rows]) -> WrongResponse:
    """Return a bug of ranges of several days."""
    return _invoices(meaning, lambda asked, rows: change(asked, rows) if _days(asked) > 1 else rows)


def _french(meaning: str, change: Callable[[Rows], Rows]) -> WrongResponse:
    return _invoices(
        meaning, lambda asked, rows: change(rows) if asked.get("language") == "FR" else rows
    )


def _of_rows(content: Any, change: Callable[[Rows], Rows]) -> Any:
    if isinstance(content, dict):
        return content | {"data": change(content["data"])}
    return change(content)


def _days(asked: Question) -> int:
    first, last = (date.fromisoformat(asked[name]) for name in ("start_date", "end_date"))
    return (last - first).days + 1


def _without_a_day(rows: Rows) -> Rows:
    days = Counter(row.get("invoice_date") for row in rows)
    busiest = days.most_common(1)[0][0]
    return [row for row in rows if row.get("invoice_date") != busiest]


def _few_lost(asked: Question, content: Any) -> Any:
    turn = int(asked["turn"]) % LOST_ONE_IN
    return _of_rows(
        content, lambda rows: [row for n, row in enumerate(rows) if n % LOST_ONE_IN != turn]
    )


def _tripled(rows: Rows) -> Rows:
    copies = (PHANTOM, 2 * PHANTOM)
    return [*rows, *({**row, "id_invoice": row["id_invoice"] + n} for row in rows for n in copies)]


def _one_cent_off(rows: Rows) -> Rows:
    wrong = rows[len(rows) // 2]
    changed = {**wrong, "total_incl_vat": Decimal(wrong["total_incl_vat"]) + CENT}
    return [changed if row is wrong else row for row in rows]


def _phantom_rows(_: Question, rows: Rows) -> Rows:
    copies = rows[len(rows) // 2 :][:1]
    return rows + [copy | {"id_invoice": copy["id_invoice"] + PHANTOM} for copy in copies]


def _stale_day(asked: Question, rows: Rows) -> Rows:
    if _days(asked) > 1:
        return rows
    return [row | {"total_due": row["total_incl_vat"]} for row in rows]


def _small_page_gap(asked: Question, content: Any) -> Any:
    if int(asked.get("page_size", SMALL_PAGE)) >= SMALL_PAGE:
        return content
    return _of_rows(content, lambda rows: rows[:-1])


def _tail_page_lost(asked: Question, content: Any) -> Any:
    size, pages = int(asked.get("page_size", SMALL_PAGE)), content["total_pages"]
    shown, number = len(content["data"]), int(asked.get("page_number", 1))
    if pages <= 1 or size < SMALL_PAGE:
        return content
    tail = number == pages and shown < size
    return {"total_pages": pages - 1, "data": [] if tail else content["data"]}


CORRUPTIONS = {
    "empty_list": _list("a list with rows is returned empty", lambda _: []),
    "short_list": _list(
        "the second half of a list is missing", lambda rows: rows[: len(rows) // 2]
    ),
    "few_lost": WrongResponse(
        "list_*", f"one row in {LOST_ONE_IN} is missing, others in each response", _few_lost
    ),
    "missing_day": _list(
        "the invoices of the day with the most invoices are missing", _without_a_day
    ),
    "tripled_rows": _list("each invoice comes three times, under three ids", _tripled),
    "one_client": _list(
        "all invoices have the client of the first",
        lambda rows: [{**row, "id_client": rows[0]["id_client"]} for row in rows],
    ),
    "duplicate_row": _list(
        "one row of a list is repeated", lambda rows: [*rows, rows[len(rows) // 2]]
    ),
    "wrong_amount": _list("one invoice's total_incl_vat is a cent too high", _one_cent_off),
}
BUGS = {
    "silent_cap": _invoices(
        f"no list of invoices is longer than {CAP} rows", lambda _, rows: rows[:CAP]
    ),
    "first_day_lost": _range(
        "a range of several days lacks its first day",
        lambda asked, rows: [
            row for row in rows if row["invoice_date"][:10] != asked["start_date"]
        ],
    ),
    "phantom_rows": _range("a range of several days has one invoice too many", _phantom_rows),
    "doubled_range": _range(
        "a range of several days repeats its first row", lambda _, rows: [*rows, *rows[:1]]
    ),
    "stale_day": _invoices("for a range of one day, total_due ignores payments", _stale_day),
    "french_amounts": _french(
        "in French, total_vat loses its cents",
        lambda rows: [row | {"total_vat": Decimal(int(row["total_vat"]))} for row in rows],
    ),
    "french_lost": _french(
        "in French, clients with accents are left out",
        lambda rows: [row for row in rows if row["client_name"].isascii()],
    ),
    "small_page_gap": WrongResponse(
        "list_contacts", "pages of fewer than 100 rows lack their last row", _small_page_gap
    ),
    "tail_page_lost": WrongResponse(
        "list_consultants", "total_pages omits a last page that is not full", _tail_page_lost
    ),
    "stale_detail": WrongResponse(
        "read_contact",
        "details show an outdated town",
        lambda _, detail: detail | {"city": "Ancienneville", "postal_code": "00000"},
    ),
}
WRONG_RESPONSES = CORRUPTIONS | BUGS
