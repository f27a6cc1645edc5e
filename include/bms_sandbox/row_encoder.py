"""JSON encoder of rows: field order of the interface, formats of the dialect, exact money."""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from bms_sandbox.dialect import Dialect

Row = dict[str, Any]

# Fields outside the interface, sent if the dialect has extra_fields.
EXTRA = {"x_revision": 3, "x_labels": ["à vérifier", "NUL: \0"]}

NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
YEAR_ONE = "0001-01-01T00:00:00"
"""The least date-time of a common platform, which its services send for a date without a value."""


class RowEncoder:
    """Encode rows in the formats of a dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._zone = ZoneInfo(dialect.time_zone)
        self._encode = msgspec.json.Encoder(decimal_format="number").encode
        self._escapes = dialect.json_text == "escaped"

    def encode(self, content: Any) -> bytes:
        """Encode `content` unchanged (scalars, envelopes, changed responses)."""
        body = self._encode(content)
        return _escaped(body) if self._escapes else body

    def row(self, row: Row, names: Sequence[str]) -> bytes:
        """Encode the fields `names` of `row`, in this order."""
        absent, year_one = (self.dialect.nulls == each for each in ("absent", "year_one"))
        fields = {}
        for name in names:
            value = row[name]
            if value is None and absent:
                continue
            if value is None and year_one and name.endswith(("_date", "_on")):
                value = YEAR_ONE
            if isinstance(value, date):
                fields[name] = self._formatted(value)
            else:
                fields[name] = _present(value) if absent else value
        return self.encode(fields | EXTRA if self.dialect.extra_fields else fields)

    def joined(self, rows: Iterable[Row], names: Sequence[str]) -> bytes:
        """Encode rows as the content of a JSON array, without the brackets."""
        return b",".join([self.row(row, names) for row in rows])

    def _formatted(self, value: date) -> str:
        if isinstance(value, datetime):
            return self._instant(value)
        match self.dialect.date_format:
            case "date":
                return value.isoformat()
            case "datetime":
                return f"{value.isoformat()}T00:00:00"
            case "ms":
                return f"{value.isoformat()}T00:00:00.000"
            case "zone":
                return self._midnight(value).isoformat()
            case "utc":
                return f"{self._midnight(value).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"

    def _midnight(self, day: date) -> datetime:
        return datetime(day.year, day.month, day.day, tzinfo=self._zone)

    def _instant(self, value: datetime) -> str:
        local = value.astimezone(self._zone)
        match self.dialect.datetime_format:
            case "datetime":
                return local.replace(tzinfo=None).isoformat(timespec="seconds")
            case "ms":
                return local.replace(tzinfo=None).isoformat(timespec="milliseconds")
            case "zone":
                return local.isoformat(timespec="seconds")
            case "utc_ms":
                utc = value.astimezone(UTC).replace(tzinfo=None)
                return utc.isoformat(timespec="milliseconds") + "Z"


def _escaped(body: bytes) -> bytes:
    """Return JSON with escaped letters and slashes and blanks after separators, as PHP writes it."""
    spaced = msgspec.json.format(body, indent=0).decode()
    ascii_only = NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], spaced)
    return ascii_only.replace("/", "\\/").encode()


def _present(value: Any) -> Any:
    """Return `value` without null members of objects, at any depth."""
    match value:
        case dict():
            return {name: _present(each) for name, each in value.items() if each is not None}
        case list():
            return [_present(each) for each in value]
    return value
