"""Stores of rows by resource, with delayed visibility and ordered lists."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bms_sandbox.invoices import FAR
from bms_sandbox.row_encoder import Row

Key = int | str
LISTS_KEPT = 200


@dataclass(slots=True)
class Record:
    """A row, and the times from which it exists, is listed and has a detail (None: always)."""

    row: Row
    made_at: datetime | None = None
    seen_from: datetime | None = None
    listed_from: datetime | None = None
    read_from: datetime | None = None


class Table:
    """Rows of one resource by key; lists are cached until a row changes."""

    def __init__(self, key: str, number: str) -> None:
        self.key, self.number = key, number
        self.version = 0
        self._records: dict[Key, Record] = {}
        self._lists: dict[Hashable, tuple[datetime, list[Row]]] = {}
        self._lists_version = 0
        self._lagging: list[datetime] = []
        self._last = 0

    def __len__(self) -> int:
        return len(self._records)

    def next_number(self) -> int:
        """Return an unused number."""
        return self._last + 1

    def lowest_number(self) -> int:
        """Return the smallest number in use."""
        return min((r.row[self.number] for r in self._records.values()), default=1)

    def add(self, row: Row, **times: datetime | None) -> None:
        """Add a row, with the times of its `Record`."""
        self._records[row[self.key]] = added = Record(row, **times)
        self._lagging += [at for at in (added.seen_from, added.listed_from) if at]
        self._last = max(self._last, row[self.number])
        self.version += 1

    def get(self, key: Key, now: datetime) -> Row | None:
        """Return the row with `key` if its detail is visible at `now`."""
        record = self._records.get(key)
        if record is None or any(at and at > now for at in (record.seen_from, record.read_from)):
            return None
        return record.row

    def change(self, key: Key, changes: Row) -> Row | None:
        """Change fields of a row; return the row, None if the key is unknown."""
        record = self._records.get(key)
        if record is None:
            return None
        record.row = record.row | changes
        self.version += 1
        return record.row

    def remove(self, key: Key) -> bool:
        """Remove a row; return whether it existed."""
        self.version += 1
        return self._records.pop(key, None) is not None

    def clear(self) -> None:
        """Remove all rows."""
        self._records.clear()
        self._lagging.clear()
        self._last = 0
        self.version += 1

    def rows(self) -> list[Row]:
        """Return all rows, visible or not, by number."""
        return sorted((r.row for r in self._records.values()), key=lambda row: row[self.number])

    def valid_until(self, now: datetime) -> datetime:
        """Return the next time at which a row becomes visible."""
        return min((at for at in self._lagging if at > now), default=FAR)

    def listing(
        self, name: Hashable, keep: Callable[[Row], bool], order: str, now: datetime
    ) -> list[Row]:
        """Return the listed rows that `keep` accepts, in `order`; `name` is the cache key of `keep`."""
        if self._lists_version != self.version or len(self._lists) >= LISTS_KEPT:
            self._lists.clear()
            self._lists_version = self.version
        cached = self._lists.get((name, order))
        if cached and now < cached[0]:
            return cached[1]
        rows = [
            record.row
            for record in self._records.values()
            if not (record.seen_from and record.seen_from > now)
            and not (record.listed_from and record.listed_from > now)
            and keep(record.row)
        ]
        rows.sort(key=self._ranking(order), reverse=order == "id_desc")
        self._lists[(name, order)] = (self.valid_until(now), rows)
        return rows

    def existing(self, rows: list[Row], at: datetime) -> list[Row]:
        """Return those of `rows` that were added before `at`."""
        made = ((row, self._records[row[self.key]].made_at) for row in rows)
        return [row for row, made_at in made if made_at is None or made_at <= at]

    def _ranking(self, order: str) -> Callable[[Row], Any]:
        number = self.number
        if order == "name":
            return lambda row: (
                (row.get("last_name") or "").casefold(),
                (row.get("first_name") or "").casefold(),
                row[number],
            )
        if order == "modified_on":
            return lambda row: (row.get("modified_on") or row.get("created_on"), row[number])
        return lambda row: row[number]
