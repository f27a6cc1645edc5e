"""Comparison of invoice readings: contradictions of the service and differences, per day. Pure."""

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from typing import Final

from bms.dates import parse_date
from bms.records import ClientInvoice
from bms_flows.audit.compare import (
    Comparison,
    Key,
    StoredRow,
    compare_with_warehouse,
    differences_by_key,
    differing,
    persistent_differences,
)
from bms_flows.audit.parts import Part
from bms_flows.audit.readings import InvoiceReadings, overlapping
from bms_flows.runtime.windows import Window

PLAIN_DAYS: Final = ("invoice_date", "due_date")
"""Dates without a time; for the others, the interface does not specify where a day begins."""


class InvoiceComparer:
    """Compares readings of invoices by day; `range_date` and `zone` determine the day of a row."""

    def __init__(self, range_date: str, zone: str, first: InvoiceReadings) -> None:
        """Take the first reading, of whose days there are `comparisons`."""
        self._range_date = range_date
        self._zone = zone
        self._first = first
        self.comparisons = {
            day: Comparison(compared=len(each.rows)) for day, each in first.days.items()
        }

    @property
    def suspicious(self) -> bool:
        """Whether the responses contradict each other, so that a second reading is needed."""
        read = self._first
        return any(
            (
                differing(read.month.rows, read.by_day),
                differing(read.month.rows, read.by_half),
                differing(read.month.nameless, read.other.nameless),
                _doubled(read),
                self._outside(read),
                self._unshared(read),
            )
        )

    def count_differences(self, second: InvoiceReadings) -> set[Key]:
        """Count differences that both readings share; return all keys that differed in any reading."""
        first = self._first
        both = (first, second)
        month = [read.month.rows for read in both]
        days, halves = [read.by_day for read in both], [read.by_half for read in both]
        named = [read.month.nameless for read in both]
        other = [read.other.nameless for read in both]
        found = {
            "days_differ": persistent_differences(month, days),
            "halves_differ": persistent_differences(month, halves)
            | self._unshared(first) & self._unshared(second),
            "languages_differ": persistent_differences(named, other),
            "doubled": _doubled(first) & _doubled(second),
            "outside_day": self._outside(first) & self._outside(second),
        }
        day_of = self._days(both)
        for code, keys in found.items():
            for key in keys:
                self.comparisons[day_of[key]].add(code, key)
        persistent = set[Key]().union(*found.values())
        ever = set[Key]()
        for read in both:
            ever |= differing(read.month.rows, read.by_day) | differing(
                read.month.rows, read.by_half
            )
        for key in ever - persistent:
            self.comparisons[day_of[key]].changed += 1
        return ever | persistent

    def compare_with_warehouse(
        self,
        read: InvoiceReadings,
        listed: Mapping[Key, bytes | None],
        held: Mapping[Key, StoredRow],
        quarantined: Collection[Key],
        read_at: Mapping[date, datetime],
        known: Mapping[date, Part],
        *,
        excluded: Collection[Key],
    ) -> None:
        """Compare rows of the days that the warehouse has loaded with the warehouse.

        `listed` are digests of the service's rows in the warehouse's form, None for a row that the
        warehouse cannot store. Rows in `excluded` are skipped: the service contradicts itself there.
        """
        day_of = self._days((read,))
        keys_of: dict[date, list[Key]] = {}
        for key in (listed.keys() | held.keys()).difference(excluded):
            day = day_of.get(key) or (held[key].day if key in held else None)
            if day is not None and day in read_at:
                keys_of.setdefault(day, []).append(key)
        now = datetime.now(UTC)
        for day, keys in keys_of.items():
            seen = differences_by_key([known[day].rows]) if day in known else {}
            compare_with_warehouse(
                self.comparisons[day],
                keys,
                listed,
                held,
                quarantined,
                seen,
                loaded_at=read_at[day],
                now=now,
            )

    def never_read(self, read: InvoiceReadings, read_at: Collection[date], history: Window) -> None:
        """Count the rows of days within the warehouse's `history` that no load has read.

        `history` spans the first to the last loaded day; earlier days are not requested, later days
        are not due yet.
        """
        for key, day in self._days((read,)).items():
            if day in history and day not in read_at:
                self.comparisons[day].add("never_read", key)

    def day(self, record: ClientInvoice) -> date | None:
        """Return the day in whose list the service includes a row; None if the row has no such date."""
        try:
            return parse_date(getattr(record, self._range_date), self._zone)
        except ValueError:
            return None

    def _days(self, readings: Collection[InvoiceReadings]) -> dict[Key, date]:
        """Return the day of each row: by its date, otherwise by the request that returned the row."""
        days: dict[Key, date] = {}
        for read in readings:
            for each in read.all:
                days |= dict.fromkeys([*each.rows, *each.rejected], read.window.end)
            for day, each in read.days.items():
                days |= dict.fromkeys([*each.rows, *each.rejected], day)
        for read in readings:
            for each in read.all:
                for record in each.records:
                    named = self.day(record)
                    if named is not None and named in read.window:
                        days[record.key] = named
        return days

    def _outside(self, read: InvoiceReadings) -> set[Key]:
        """Return the rows that belong to another day than the one requested.

        A row without a day is none of them: it belongs to no day that could be requested.
        """
        if self._range_date not in PLAIN_DAYS:
            return set()
        requested = [({day}, each) for day, each in read.days.items()]
        return {
            record.key
            for days, each in [*requested, ({*read.window}, read.month)]
            for record in each.records
            if (day := self.day(record)) is not None and day not in days
        }

    def _unshared(self, read: InvoiceReadings) -> set[Key]:
        """Return the rows of days in both halves that only one half contains."""
        first, second = overlapping(read.window)
        if self._range_date not in PLAIN_DAYS:
            return set()
        shared = [
            {r.key for r in half.records if (day := self.day(r)) and day in first and day in second}
            for half in read.halves
        ]
        return shared[0] ^ shared[1]


def _doubled(read: InvoiceReadings) -> set[Key]:
    return set[Key]().union(*(each.repeated for each in read.all))
