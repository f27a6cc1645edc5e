"""Completeness of invoice numbers: the series of an entity's references, and the numbers they lack; pure.

A reference consists of texts and groups of digits. Groups that agree with the invoice's date are its
year, month or day. Of the other groups, the one with most values is the counter; the rest is the prefix.
The numbers after the last one of a series can't be judged.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bms_flows.invoices.number_layout import Layout, digit_groups, learn_layout, texts_between
from bms_flows.runtime.probability import is_improbable

LEAST: Final = 20
"""Minimum settled numbers of a series."""
SETTLED: Final = timedelta(days=14)
"""Age from which a missing number shows what is usual, not what is late."""
LEAST_OF_PERIOD: Final = 3
"""Minimum numbers of a period whose start is judged."""
SPARSE: Final = 0.5
"""Share of missing numbers above which references form no series."""
MOST_MISSING: Final = 100_000
"""Missing numbers above which references form no series, whatever their share."""
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
DISORDER: Final = 10
"""Days by which numbers before a gap of another series are later than those after it."""
LATE: Final = 3
"""A number that is more days earlier than its predecessor breaks the order."""
LONGEST: Final = 18
"""Digits of a counter, without leading zeros."""
EPOCH: Final = date(1970, 1, 1)

Numbers = np.ndarray[Any, np.dtype[np.void]]
"""Numbers of a series: `number`, its digits, the position of its `period`, and its days since 1970."""
NUMBER: Final = np.dtype(
    [("number", "i8"), ("digits", "i4"), ("period", "i4"), ("dated", "i4"), ("listed", "i4")]
)


class Hole(NamedTuple):
    """Consecutive missing numbers, as references, and the days of the invoices around them."""

    references: Sequence[str]
    first: date
    last: date


@dataclass
class Series:
    """The numbers of one layout and prefix, in all periods."""

    layout: Layout
    prefix: Sequence[str]
    width: int
    """Minimum digits of numbers; 1 if they are not padded."""
    periods: Sequence[Sequence[str]]
    """Date parts of the periods."""
    numbers: Numbers

    @property
    def name(self) -> str:
        """The pattern of the references, such as ``FA{YYYY}-{00000}``."""
        return self.layout.pattern(self.prefix, self.width)

    @cached_property
    def runs(self) -> list[Numbers]:
        """The numbers in order, each once: a run for each period in which they restart, else one run."""
        dated = self.numbers[np.argsort(self.numbers["dated"], kind="stable")]
        first = np.empty(len(self.periods), np.int64)
        first[dated["period"][::-1]] = np.arange(len(dated))[::-1]  # the last assignment counts
        appeared = first[dated["period"]]  # orders periods by their earliest invoice
        order = np.lexsort((dated["number"], appeared))
        numbers, appeared = dated[order], appeared[order]
        new = np.diff(appeared) != 0
        different = np.concatenate(([True], new | (np.diff(numbers["number"]) != 0)))
        numbers, appeared = numbers[different], appeared[different]
        runs = np.split(numbers, np.flatnonzero(np.diff(appeared)) + 1)
        continued = [after["number"][0] > before["number"][-1] for before, after in pairwise(runs)]
        if 2 * sum(continued) > len(continued):
            _, first = np.unique(numbers["number"], return_index=True)
            return [numbers[first]]
        return runs

    def after_last(self, references: Iterable[str]) -> set[str]:
        """Return the references of this series whose numbers come after the last of their period."""
        every = [*references]
        last = {
            "\0".join(self.periods[period]): int(run["number"][-1])
            for run in self.runs
            for period in {*run["period"].tolist()}
        }
        groups = digit_groups(pa.array(every, pa.string()), self.layout.texts)
        periods, _, written = self.layout.split(groups)
        parts = zip(every, periods.to_pylist(), written.to_pylist(), strict=True)
        return {each for each, period, number in parts if int(number or 0) > last.get(period, 0)}

    @cached_property
    def gaps(self) -> tuple[list[Hole], int, int]:
        """The holes, the jumps to other numbers, and the breaks of the order; no holes if too many."""
        holes: list[tuple[Any, Any, int]] = []
        jumps = breaks = 0
        for run in self.runs:
            missing = np.diff(run["number"]) - 1
            breaks += int((np.diff(run["dated"]) < -LATE).sum())
            dated = run["dated"].tolist()
            for position in (np.flatnonzero(missing) + 1).tolist():
                # The dates of single invoices may be wrong.
                earlier, later = (
                    sorted(part)[len(part) // 2]
                    for part in (
                        dated[max(0, position - 3) : position],
                        dated[position : position + 3],
                    )
                )
                if missing[position - 1] > max(JUMP, len(run)) or earlier > later + DISORDER:
                    jumps += 1
                else:
                    before, after = run[position - 1], run[position]
                    holes.append((before, after, int(before["number"]) + 1))
        holes += self._missing_starts()
        if sum(int(after["number"]) - first for _, after, first in holes) > MOST_MISSING:
            return [], len(self.numbers), breaks
        return [self._hole(*each) for each in holes], jumps, breaks

    def _missing_starts(self) -> Iterator[tuple[Any, Any, int]]:
        """Yield the numbers that periods lack before their first: they start as most periods do, else at 1."""
        starts = Counter(int(run["number"][0]) for run in self.runs[1:])
        start, periods = max(starts.items(), key=lambda each: (each[1], -each[0]), default=(1, 0))
        start = start if periods > 1 else 1
        for former, run in pairwise(self.runs):
            if len(run) >= LEAST_OF_PERIOD and start < run["number"][0] <= start + JUMP:
                yield former[np.argmax(former["dated"])], run[0], start

    def _hole(self, before: Any, after: Any, first: int) -> Hole:
        """Return the hole of the numbers from `first` to the one before `after`, padded like these."""
        periods, width = self.periods[after["period"]], min(before["digits"], after["digits"])
        references = [
            self.layout.join(periods, self.prefix, f"{number:0{width}}")
            for number in range(first, int(after["number"]))
        ]
        return Hole(references, *sorted((_day(before["listed"]), _day(after["listed"]))))


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


def learn_series(invoices: pa.Table) -> list[Series]:
    """Return the numbers of invoices by series, without series of fewer than `LEAST` numbers.

    `invoices` has the columns `reference`, `dated` and `listed`, the day that lists the invoice.
    """
    found: list[Series] = []
    for form, rows in _by_value(texts_between(invoices["reference"].combine_chunks())):
        texts = tuple(form.split("0"))
        of_form = invoices.take(rows)
        groups = digit_groups(of_form["reference"].combine_chunks(), texts)
        if layout := learn_layout(texts, groups, of_form["dated"]):
            found += _series(layout, groups, of_form)
    return found


def _series(layout: Layout, groups: Sequence[pa.Array], invoices: pa.Table) -> Iterator[Series]:
    periods, prefixes, counters = layout.split(groups)
    significant = pc.utf8_length(pc.ascii_ltrim(counters, "0"))
    usable = pc.and_(pc.not_equal(counters, ""), pc.less_equal(significant, LONGEST))
    period, days = periods.dictionary_encode(), invoices.select(["dated", "listed"])
    named = [each.split("\0") if layout.dates else () for each in period.dictionary.to_pylist()]
    for prefix, rows in _by_value(pc.if_else(usable, prefixes, None)):
        written = counters.take(rows)
        padded = pc.any(pc.starts_with(written, "0")).as_py()
        numbers = np.empty(len(rows), NUMBER)
        numbers["number"] = written.cast(pa.int64())
        numbers["digits"] = digits = pc.utf8_length(written)
        numbers["period"] = period.indices.take(rows)
        for name in ("dated", "listed"):
            numbers[name] = days[name].take(rows).cast(pa.int32())
        width = pc.min(digits).as_py() if padded else 1
        yield Series(layout, prefix.split("\0") if len(groups) > 1 else (), width, named, numbers)


def _by_value(texts: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Yield each text that occurs at least `LEAST` times, with the positions of its occurrences."""
    encoded = texts.dictionary_encode(null_encoding="encode")
    codes = encoded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes)).tolist()
    for text, start, end in zip(encoded.dictionary.to_pylist(), [0, *ends], ends, strict=False):
        if text is not None and end - start >= LEAST:
            yield text, indices(order[start:end])


def indices(array: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Array:
    """Return an array for Arrow; `pa.array` would import `numpy.ma`, which takes as long as the check."""
    return pa.Array.from_buffers(pa.int64(), len(array), [None, pa.py_buffer(array)])


def _day(days: Any) -> date:
    return EPOCH + timedelta(days=int(days))


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
    listed = np.concatenate([run["listed"] for run in series.runs])
    of = int((listed < (today - SETTLED - EPOCH).days).sum())
    usual = [
        hole
        for hole in holes
        if hole.last < today - SETTLED and hole.references[0] not in unexplained
    ]
    missing = sum(len(hole.references) for hole in usual)
    if of < LEAST or missing > SPARSE * (of + missing) or jumps > JUMPS * len(listed):
        return None
    if len(usual) >= max(USUAL_HOLES, USUAL_SHARE * of):
        sizes = sorted(len(hole.references) for hole in usual)
        largest = USUAL_SIZE * sizes[len(sizes) * 9 // 10]
        holes = [*_unusual(holes, listed, len(usual) / of, largest, today)]
    repeated = len(series.numbers) - len(listed)
    return SeriesReport(series.name, len(listed), len(usual) / of, holes, repeated, breaks + jumps)


def _unusual(
    holes: Sequence[Hole], days: np.ndarray[Any, Any], share: float, largest: int, today: date
) -> Iterator[Hole]:
    """Yield large holes, and the holes of days that have more than usual, the latest days together."""
    listed = {
        _day(day): int(rows) for day, rows in zip(*np.unique(days, return_counts=True), strict=True)
    }
    lacking = Counter(hole.last for hole in holes)
    latest = [day for day in {*listed, *lacking} if day >= today - SETTLED]

    def too_many(days: Iterable[date]) -> bool:
        found = sum(lacking[day] for day in days)
        of = found + sum(listed.get(day, 0) for day in days)
        return is_improbable(found, of, share, STRENGTH, CHANCE)

    unusual = {day for day in lacking if too_many([day])}
    if too_many(latest):
        unusual.update(latest)
    yield from (hole for hole in holes if len(hole.references) > largest or hole.last in unusual)
