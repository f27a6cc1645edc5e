"""Rows of a response as dictionaries of typed values: exact amounts, days, UTC timestamps."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from bms.dates import parse_date, parse_datetime
from bms.records import Record, described
from bms.responses import Rows

EXTRA: Final = "_extra"
"""Key of the values without a typed field: unknown fields, and fields of another type."""


def typed_rows(rows: Rows[Any], record: type[Record], zone: str) -> Iterator[dict[str, Any]]:
    """Yield each row as a dictionary with every field of `record`, and `EXTRA`.

    Timestamps without a time zone are in `zone`. A date that is not an ISO 8601 date is None in its
    field and unchanged in `EXTRA`.
    """
    parsers = {
        name: parse_date if each.kind == "day" else parse_datetime
        for name, each in described(record).items()
        if each.kind in ("day", "timestamp")
    }
    for index, each in enumerate(rows.records):
        row: dict[str, Any] = msgspec.structs.asdict(each)
        extra = dict(rows.extra.get(index, {}))
        for name, parse in parsers.items():
            text = row[name]
            try:
                row[name] = parse(text, zone)
            except ValueError:
                row[name], extra[name] = None, text
        row[EXTRA] = extra
        yield row
