"""Corruptions of list responses: rows lost, duplicated or altered without an error."""

from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import msgspec

from bms_sandbox.errors import Reply

Row = dict[str, Any]
PHANTOM = 7_000_000
CENT = Decimal("0.01")

_READ = msgspec.json.Decoder(float_hook=Decimal)
_WRITE = msgspec.json.Encoder(decimal_format="number")


def _short(rows: list[Row]) -> list[Row]:
    return rows[: len(rows) // 2]


def _without_a_day(rows: list[Row]) -> list[Row]:
    days = Counter(row.get("invoice_date") for row in rows)
    busiest = days.most_common(1)[0][0]
    return [row for row in rows if row.get("invoice_date") != busiest]


def _tripled(rows: list[Row]) -> list[Row]:
    copies = (PHANTOM, 2 * PHANTOM)
    return [*rows, *({**row, "id_invoice": row["id_invoice"] + n} for row in rows for n in copies)]


def _of_one_client(rows: list[Row]) -> list[Row]:
    return [{**row, "id_client": rows[0]["id_client"]} for row in rows]


def _one_doubled(rows: list[Row]) -> list[Row]:
    return [*rows, rows[len(rows) // 2]]


def _one_cent_off(rows: list[Row]) -> list[Row]:
    wrong = rows[len(rows) // 2]
    changed = {**wrong, "total_incl_vat": Decimal(wrong["total_incl_vat"]) + CENT}
    return [changed if row is wrong else row for row in rows]


CORRUPTIONS: dict[str, Callable[[list[Row]], list[Row]]] = {
    "empty_list": lambda _: [],
    "short_list": _short,
    "missing_day": _without_a_day,
    "tripled_rows": _tripled,
    "one_client": _of_one_client,
    "duplicate_row": _one_doubled,
    "wrong_amount": _one_cent_off,
}


def corrupted(reply: Reply, kinds: Iterable[str]) -> Reply:
    """Return a list response with its rows corrupted by each of `kinds`; the page count stays."""

    def change(content: Any) -> Any:
        for kind in kinds:
            content = of_rows(content, CORRUPTIONS[kind])
        return content

    return rewritten(reply, change)


def rewritten(reply: Reply, change: Callable[[Any], Any]) -> Reply:
    """Return a response with its JSON content changed; amounts keep their notation."""
    content = change(_READ.decode(b"".join(reply.chunks)))
    return Reply(reply.status, reply.headers, (_WRITE.encode(content),))


def of_rows(content: Any, change: Callable[[list[Row]], list[Row]]) -> Any:
    """Return the content of a list, paged or not, with its rows changed."""
    if isinstance(content, dict):
        return content | {"data": change(content["data"])}
    return change(content)


def has_rows(reply: Reply) -> bool:
    """Return whether a response is a list with rows."""
    content = _READ.decode(b"".join(reply.chunks))
    return bool(content.get("data") if isinstance(content, dict) else content)
