"""Completeness of invoice numbers: the series of an entity's references, and the numbers they lack; pure.

A reference consists of texts and groups of digits. Groups that agree with the invoice's date are its
year, month or day. Of the other groups, the one with most values is the counter; the rest is the prefix.
The numbers after the last one of a series can't be judged.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from bms_flows.runtime.probability import is_improbable

DIGITS: Final = re.compile(r"([0-9]+)")
DATES: Final = {"%Y%m%d": 8, "%y%m%d": 6, "%Y%m": 6, "%y%m": 4, "%Y": 4, "%y": 2, "%m": 2}
"""Forms of a date in a group of digits, with their length; a month alone fills its group."""
NAMES: Final = {"%Y": "YYYY", "%y": "YY", "%m": "MM", "%d": "DD"}
SAMPLE: Final = 400
"""References that show the meaning of the groups."""
AGREEING: Final = 0.95
"""Share of them that must agree with a date."""
LEAST: Final = 20
"""Minimum settled numbers of a series."""
SETTLED: Final = timedelta(days=14)
"""Age from which a missing number shows what is usual, not what is late."""
LEAST_OF_PERIOD: Final = 3
"""Minimum numbers of a period whose start is judged."""
SPARSE: Final = 0.5
"""Share of missing numbers above which references form no series."""
JUMPS: Final = 0.1
"""Jumps per number above which references form no series."""
USUAL_HOLES, USUAL_SHARE = 5, 0.01
"""Settled holes, and their share of the numbers, from which holes are usual."""
USUAL_SIZE: Final = 3
"""A hole so many times as large as nine of ten usual holes is unusual."""
STRENGTH, CHANCE = 100, 1e-4
"""How little the share of usual holes varies, in numbers; a less probable share is unusual."""
JUMP: Final = 20
"""A gap that is larger, and larger than the series, is a jump."""
DISORDER: Final = timedelta(days=10)
"""Numbers before a gap that are this much later than those after it belong to another series."""
LATE: Final = timedelta(days=3)
"""A number that is earlier than its predecessor by more breaks the order."""


class NumberedInvoice(NamedTuple):
    """Reference of an invoice, its date, and the day that lists it."""

    reference: str
    dated: date
    listed: date


class Hole(NamedTuple):
    """Consecutive missing numbers, as references, and the days of the invoices around them."""

    references: Sequence[str]
    first: date
    last: date


class Member(NamedTuple):
    """A number of a series, as written, with the parts of its date."""

    number: int
    written: str
    periods: tuple[str, ...]
    dated: date
    listed: date


@dataclass(frozen=True)
class Layout:
    """Meaning of the digit groups of references with the same texts."""

    texts: tuple[str, ...]
    dates: Mapping[int, str]
    """Form of the date at the start of a group, by the group's position."""
    counter: int

    def split(self, groups: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        """Return the date parts, the prefix and the counter of a reference's digit groups."""
        rest = [*groups]
        periods = []
        for position, form in self.dates.items():
            periods.append(rest[position][: DATES[form]])
            rest[position] = rest[position][DATES[form] :]
        written = rest.pop(self.counter)
        return tuple(periods), tuple(rest), written

    def join(self, periods: Sequence[str], prefix: Sequence[str], written: str) -> str:
        """Return the reference with these parts."""
        groups = [*prefix]
        groups.insert(self.counter, written)
        for position, period in zip(self.dates, periods, strict=True):
            groups[position] = period + groups[position]
        return self.texts[0] + "".join(
            group + text for group, text in zip(groups, self.texts[1:], strict=True)
        )


@dataclass
class Series:
    """The numbers of one layout and prefix, in all periods."""

    layout: Layout
    prefix: tuple[str, ...]
    members: list[Member] = field(default_factory=list)

    @cached_property
    def width(self) -> int:
        """Digits that numbers are padded to; 1 if they are not padded."""
        written = [each.written for each in self.members]
        return min(map(len, written)) if any(each[0] == "0" for each in written) else 1

    @property
    def name(self) -> str:
        """The pattern of the references, such as ``FA{YYYY}-{00000}``."""
        periods = [
            f"{{{re.sub('%.', lambda part: NAMES[part[0]], form)}}}"
            for form in self.layout.dates.values()
        ]
        return self.layout.join(periods, self.prefix, f"{{{'0' * self.width}}}")

    @cached_property
    def runs(self) -> list[list[Member]]:
        """The numbers in order, each once: a list for each period in which they restart, else one list."""
        periods: dict[tuple[str, ...], dict[int, Member]] = defaultdict(dict)
        for each in sorted(self.members, key=lambda member: member.dated):
            periods[each.periods].setdefault(each.number, each)
        runs = [[numbers[n] for n in sorted(numbers)] for numbers in periods.values()]
        continued = [after[0].number > before[-1].number for before, after in pairwise(runs)]
        if 2 * sum(continued) > len(continued):
            merged = {each.number: each for run in reversed(runs) for each in run}
            return [[merged[n] for n in sorted(merged)]]
        return runs

    @cached_property
    def gaps(self) -> tuple[list[Hole], int, int]:
        """The holes, the jumps to other numbers, and the breaks of the order."""
        holes, jumps, breaks = [], 0, 0
        for run in self.runs:
            for position, (before, after) in enumerate(pairwise(run), 1):
                breaks += after.dated < before.dated - LATE
                missing = after.number - before.number - 1
                if not missing:
                    continue
                # The dates of single invoices may be wrong.
                earlier, later = (
                    sorted(each.dated for each in part)[len(part) // 2]
                    for part in (run[max(0, position - 3) : position], run[position : position + 3])
                )
                if missing > max(JUMP, len(run)) or earlier > later + DISORDER:
                    jumps += 1
                else:
                    holes.append(self._hole(before, after, before.number + 1))
        return [*holes, *self._missing_starts()], jumps, breaks

    def _missing_starts(self) -> Iterator[Hole]:
        """Yield the numbers that periods lack before their first: they start as most periods do, else at 1."""
        starts = Counter(run[0].number for run in self.runs[1:])
        start, periods = max(starts.items(), key=lambda each: (each[1], -each[0]), default=(1, 0))
        start = start if periods > 1 else 1
        for former, run in pairwise(self.runs):
            if len(run) >= LEAST_OF_PERIOD and start < run[0].number <= start + JUMP:
                yield self._hole(max(former, key=lambda each: each.dated), run[0], start)

    def _hole(self, before: Member, after: Member, first: int) -> Hole:
        references = [
            self.layout.join(after.periods, self.prefix, f"{number:0{self.width}}")
            for number in range(first, after.number)
        ]
        return Hole(references, *sorted((before.listed, after.listed)))


@dataclass(frozen=True)
class SeriesReport:
    """What a series lacks and repeats."""

    name: str
    numbers: int
    usual_share: float
    """Holes per number that are settled."""
    unusual: Sequence[Hole]
    duplicates: int
    """Invoices that have the number of another invoice."""
    disorder: int
    """Breaks of the order, and jumps."""


def learn_series(invoices: Iterable[NumberedInvoice]) -> list[Series]:
    """Return the invoices' numbers by series; references without digits have none."""
    by_texts: dict[tuple[str, ...], list[tuple[list[str], NumberedInvoice]]] = defaultdict(list)
    for each in invoices:
        parts = DIGITS.split(each.reference)
        by_texts[tuple(parts[::2])].append((parts[1::2], each))
    found: list[Series] = []
    for texts, rows in by_texts.items():
        if (layout := _layout(texts, rows)) is None:
            continue
        by_prefix: dict[tuple[str, ...], Series] = {}
        for groups, each in rows:
            periods, prefix, written = layout.split(groups)
            if written:
                series = by_prefix.setdefault(prefix, Series(layout, prefix))
                series.members.append(
                    Member(int(written), written, periods, each.dated, each.listed)
                )
        found += by_prefix.values()
    return found


def _layout(
    texts: tuple[str, ...], rows: Sequence[tuple[list[str], NumberedInvoice]]
) -> Layout | None:
    """Return the meaning of the groups, None if no group can be the counter."""
    sample = rows[:: max(1, len(rows) // SAMPLE)]
    dates = {}
    for position in range(len(texts) - 1):
        for form, length in DATES.items():
            agreeing = sum(
                groups[position].startswith(each.dated.strftime(form))
                and (form != "%m" or len(groups[position]) == length)
                for groups, each in sample
            )
            if agreeing >= AGREEING * len(sample):
                dates[position] = form
                break
    lengths = [DATES.get(dates.get(position, ""), 0) for position in range(len(texts) - 1)]
    values = [
        len({groups[position][length:] for groups, _ in sample} - {""})
        for position, length in enumerate(lengths)
    ]
    # The last of equals: a prefix precedes the counter.
    counter = max(range(len(values)), key=lambda position: (values[position], position), default=0)
    return Layout(texts, dates, counter) if any(values) else None


def judge_series(
    series: Series,
    *,
    known: Collection[str],
    unexplained: Collection[str],
    unread: Sequence[date],
    today: date,
) -> SeriesReport | None:
    """Return what a series lacks, None if its references form no series.

    `known` are references of further invoices, `unexplained` missing references that no operator has
    accepted: they show nothing usual. A hole between whose days one is `unread` (sorted) isn't judged.
    """
    gaps, jumps, breaks = series.gaps
    holes = [
        hole._replace(references=lacking)
        for hole in gaps
        if (lacking := [each for each in hole.references if each not in known])
        and bisect_left(unread, hole.first) == bisect_right(unread, hole.last)
    ]
    numbers = [each for run in series.runs for each in run]
    of = sum(each.listed < today - SETTLED for each in numbers)
    usual = [
        hole
        for hole in holes
        if hole.last < today - SETTLED and hole.references[0] not in unexplained
    ]
    missing = sum(len(hole.references) for hole in usual)
    if of < LEAST or missing > SPARSE * (of + missing) or jumps > JUMPS * len(numbers):
        return None
    if len(usual) >= max(USUAL_HOLES, USUAL_SHARE * of):
        sizes = sorted(len(hole.references) for hole in usual)
        largest = USUAL_SIZE * sizes[len(sizes) * 9 // 10]
        holes = [*_unusual(holes, numbers, len(usual) / of, largest, today)]
    repeated = len(series.members) - len(numbers)
    return SeriesReport(series.name, len(numbers), len(usual) / of, holes, repeated, breaks + jumps)


def _unusual(
    holes: Sequence[Hole], numbers: Sequence[Member], share: float, largest: int, today: date
) -> Iterator[Hole]:
    """Yield large holes, and the holes of days that have more than usual, the latest days together."""
    listed = Counter(each.listed for each in numbers)
    lacking = Counter(hole.last for hole in holes)
    latest = [day for day in {*listed, *lacking} if day >= today - SETTLED]

    def too_many(days: Iterable[date]) -> bool:
        found = sum(lacking[day] for day in days)
        of = found + sum(listed[day] for day in days)
        return is_improbable(found, of, share, STRENGTH, CHANCE)

    days = {day for day in lacking if too_many([day])}
    if too_many(latest):
        days.update(latest)
    yield from (hole for hole in holes if len(hole.references) > largest or hole.last in days)
