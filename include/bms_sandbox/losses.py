"""Answers that are well-formed and wrong: what a service loses, doubles or alters in silence."""

from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import msgspec

from bms_sandbox.errors import Reply

Row = dict[str, Any]
CENT = Decimal("0.01")

_READ = msgspec.json.Decoder(float_hook=Decimal)
_WRITE = msgspec.json.Encoder(decimal_format="number")


def _short(rows: list[Row]) -> list[Row]:
    return rows[: len(rows) // 2]


def _without_a_day(rows: list[Row]) -> list[Row]:
    days = Counter(row.get("invoice_date") for row in rows)
    busiest = days.most_common(1)[0][0]
    return [row for row in rows if row.get("invoice_date") != busiest]


def _one_doubled(rows: list[Row]) -> list[Row]:
    return [*rows, rows[len(rows) // 2]]


def _one_cent_off(rows: list[Row]) -> list[Row]:
    wrong = rows[len(rows) // 2]
    changed = {**wrong, "total_incl_vat": Decimal(wrong["total_incl_vat"]) + CENT}
    return [changed if row is wrong else row for row in rows]


LOSSES: dict[str, Callable[[list[Row]], list[Row]]] = {
    "empty_list": lambda _: [],
    "short_list": _short,
    "missing_day": _without_a_day,
    "duplicate_row": _one_doubled,
    "wrong_amount": _one_cent_off,
}


def altered(reply: Reply, kinds: Iterable[str]) -> Reply:
    """Return a list's reply with its rows altered by each of `kinds`; a paged one keeps its pages."""

    def change(content: Any) -> Any:
        for kind in kinds:
            content = of_rows(content, LOSSES[kind])
        return content

    return rewritten(reply, change)


def rewritten(reply: Reply, change: Callable[[Any], Any]) -> Reply:
    """Return a reply with its JSON content changed; amounts stay as they are written."""
    content = change(_READ.decode(b"".join(reply.pieces)))
    return Reply(reply.status, reply.headers, (_WRITE.encode(content),))


def of_rows(content: Any, change: Callable[[list[Row]], list[Row]]) -> Any:
    """Return a list's content, paged or not, with its rows changed."""
    if isinstance(content, dict):
        return content | {"data": change(content["data"])}
    return change(content)


def has_rows(reply: Reply) -> bool:
    """Tell whether a reply is a list with something in it to lose."""
    content = _READ.decode(b"".join(reply.pieces))
    return bool(content.get("data") if isinstance(content, dict) else content)
