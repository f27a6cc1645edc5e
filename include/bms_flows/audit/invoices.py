"""What two readings of a window tell: which differences stand, on which day, by which code; pure."""

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from typing import Final

from bms.dates import parse_date
from bms.records import ClientInvoice
from bms_flows.audit.compare import (
    Held,
    Key,
    Tally,
    against_warehouse,
    differing,
    standing,
    waiting,
)
from bms_flows.audit.parts import Part
from bms_flows.audit.readings import Readings, overlapping
from bms_flows.runtime.windows import Window

PLAIN_DAYS: Final = ("invoice_date", "due_date")
"""Dates that name a day; with the others, where the service's day begins is not shown."""


class InvoiceJudge:
    """Judges readings of invoices; `range_date` and `zone` say which day a row belongs to."""

    def __init__(self, range_date: str, zone: str) -> None:
        self._range_date = range_date
        self._zone = zone

    def suspicious(self, read: Readings) -> bool:
        """Tell whether anything needs a second look."""
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

    def compared(self, read: Readings) -> dict[date, Tally]:
        """Return a tally of each day, with nothing found yet."""
        return {day: Tally(compared=len(each.rows)) for day, each in read.days.items()}

    def judge(self, first: Readings, second: Readings, tallies: Mapping[date, Tally]) -> set[Key]:
        """Count what differed both times alike on its day, and return all keys that ever differed."""
        both = (first, second)
        month = [read.month.rows for read in both]
        days, halves = [read.by_day for read in both], [read.by_half for read in both]
        named = [read.month.nameless for read in both]
        other = [read.other.nameless for read in both]
        found = {
            "days_differ": standing(month, days),
            "halves_differ": standing(month, halves)
            | self._unshared(first) & self._unshared(second),
            "languages_differ": standing(named, other),
            "doubled": _doubled(first) & _doubled(second),
            "outside_day": self._outside(first) & self._outside(second),
        }
        place = self._places(both)
        for code, keys in found.items():
            for key in keys:
                tallies[place[key]].add(code, key)
        stands = set[Key]().union(*found.values())
        ever = set[Key]()
        for read in both:
            ever |= differing(read.month.rows, read.by_day) | differing(
                read.month.rows, read.by_half
            )
        for key in ever - stands:
            tallies[place[key]].changed += 1
        return ever | stands

    def against_warehouse(
        self,
        read: Readings,
        listed: Mapping[Key, bytes | None],
        held: Mapping[Key, Held],
        quarantined: Collection[Key],
        read_at: Mapping[date, datetime],
        known: Mapping[date, Part],
        tallies: Mapping[date, Tally],
        *,
        aside: Collection[Key],
    ) -> None:
        """Compare the rows of days that the warehouse has read with the warehouse's rows.

        `listed` are the service's rows as the warehouse would hold them, None for a row that it
        can't hold. Rows in `aside` are left out: the service contradicts itself about them.
        """
        place = self._places((read,))
        of_day: dict[date, list[Key]] = {}
        for key in (listed.keys() | held.keys()).difference(aside):
            day = place.get(key) or (held[key].day if key in held else None)
            if day is not None and day in read_at:
                of_day.setdefault(day, []).append(key)
        now = datetime.now(UTC)
        for day, keys in of_day.items():
            seen = waiting([known[day].rows]) if day in known else {}
            against_warehouse(
                tallies[day],
                keys,
                listed,
                held,
                quarantined,
                seen,
                loaded_at=read_at[day],
                now=now,
            )

    def never_read(
        self,
        read: Readings,
        read_at: Collection[date],
        history: Window,
        tallies: Mapping[date, Tally],
    ) -> None:
        """Count the rows of days that the warehouse has not read, within its `history`.

        `history` is the first to the last day that it has: before, nobody wants them here; after,
        they are to come.
        """
        for key, day in self._places((read,)).items():
            if day in history and day not in read_at:
                tallies[day].add("never_read", key)

    def day(self, record: ClientInvoice) -> date | None:
        """Return the day under which the service lists a row; None where the row doesn't say."""
        try:
            return parse_date(getattr(record, self._range_date), self._zone)
        except ValueError:
            return None

    def _places(self, readings: Collection[Readings]) -> dict[Key, date]:
        """Return the day on which each row counts: the one it names, else the one that brought it."""
        place: dict[Key, date] = {}
        for read in readings:
            for each in read.all:
                place |= dict.fromkeys([*each.rows, *each.rejected], read.window.end)
            for day, each in read.days.items():
                place |= dict.fromkeys([*each.rows, *each.rejected], day)
        for read in readings:
            for each in read.all:
                for record in each.records:
                    named = self.day(record)
                    if named is not None and named in read.window:
                        place[record.key] = named
        return place

    def _outside(self, read: Readings) -> set[Key]:
        """Return the rows that came with a day, or the window, and belong to another."""
        if self._range_date not in PLAIN_DAYS:
            return set()
        found = {
            record.key
            for day, each in read.days.items()
            for record in each.records
            if self.day(record) != day
        }
        return found | {
            record.key for record in read.month.records if self.day(record) not in {*read.window}
        }

    def _unshared(self, read: Readings) -> set[Key]:
        """Return the rows of the days that both halves have, of which one lacks them."""
        first, second = overlapping(read.window)
        if self._range_date not in PLAIN_DAYS:
            return set()
        shared = [
            {r.key for r in half.records if (day := self.day(r)) and day in first and day in second}
            for half in read.halves
        ]
        return shared[0] ^ shared[1]


def _doubled(read: Readings) -> set[Key]:
    return set[Key]().union(*(each.doubled for each in read.all))
