"""Counts of the rows of an invoice load, from the columns in memory."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import date

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bms.records import ClientInvoice, described
from bms.responses import Rows
from bms_flows.invoices.decode import CODE_NAMES
from bms_flows.invoices.dedup import IdArray
from bms_flows.invoices.totals import DayFacts, facts_by_day, without_blanks
from bms_flows.runtime.checks import NEW_EMPTY
from bms_flows.runtime.profile import Level, Part, Share
from bms_flows.runtime.windows import DAY, Window

REQUIRED = (ClientInvoice.KEY, *ClientInvoice.amounts())
FIELDS = tuple(name for name in described(ClientInvoice) if name not in REQUIRED)
"""Fields that may be empty; a row without a required field is quarantined."""
OPTIONAL = tuple(name for name in FIELDS if name not in CODE_NAMES)
"""Without the names of codes, which depend on the language."""
FRESH_DAYS = 7
"""Age up to which a new row counts as of the last week."""
SAMPLE_ROWS = 40
"""Rows of each response that are compared with other entities."""


@dataclass
class FieldCounts:
    """Rows of a load by field, for the details of its step run."""

    missing: Counter[str] = field(default_factory=Counter)
    """Rows whose value is null, absent or mistyped."""
    mistyped: Counter[str] = field(default_factory=Counter)
    """Rows whose value has an unexpected type and an ambiguous meaning."""
    coerced: Counter[str] = field(default_factory=Counter)
    """Rows whose value has an unexpected type and one possible meaning."""

    def as_dict(self) -> dict[str, dict[str, int]]:
        """Return the counts above 0."""
        found = {each.name: dict(+getattr(self, each.name)) for each in fields(self)}
        return {name: counts for name, counts in found.items() if counts}


def day_facts(rows: pa.Table) -> dict[date, DayFacts]:
    """Return what the rows of each `_counted_day` add to totals, counts and code names."""
    facts = facts_by_day(rows, OPTIONAL)
    for name, code in CODE_NAMES.items():
        groups = rows.group_by(["_counted_day", code, name], use_threads=False)
        labels = groups.aggregate([("id_invoice", "count")])
        for day, *label in zip(*labels.to_pydict().values(), strict=True):
            facts[day].names.append((name, *label))
    return facts


@dataclass
class RowCounter:
    """Counts of the rows transformed so far."""

    read_on: date
    volatile: frozenset[str] = frozenset()
    """Unknown fields that were left out."""
    unknown: bool = False
    """Whether a new or changed row has fields that the interface doesn't describe."""
    rows: int = 0
    counts: FieldCounts = field(default_factory=FieldCounts)
    new: Counter[str] = field(default_factory=Counter)
    """New rows by the measure of their age."""
    empty: Counter[tuple[str, str]] = field(default_factory=Counter)
    """New rows without a value, by field and measure."""
    mistyped: Counter[str] = field(default_factory=Counter)
    """New or changed rows whose value has an unexpected type."""
    clients: Counter[int] = field(default_factory=Counter)
    negative: int = 0
    unpaid: int = 0
    levels: dict[str, Level] = field(default_factory=dict)
    new_days: set[date] = field(default_factory=set)
    repeated: list[Part] = field(default_factory=list)
    elsewhere: list[Part] = field(default_factory=list)
    sample: list[int] = field(default_factory=list)
    """Ids of rows to compare with other entities."""

    def add_days(self, days: Iterable[DayFacts], ids: IdArray) -> None:
        """Add the days of a response, and the ids of its rows."""
        for each in days:
            self.rows += each.rows
            self.unpaid += each.unpaid
            self.counts.missing.update(each.empty)
            for name, _, label, rows in each.names:
                self.counts.missing[name] += rows if label is None else 0
        self.sample += np.sort(ids)[:: max(1, len(ids) // SAMPLE_ROWS)].tolist()

    def add(
        self,
        window: Window,
        rows: pa.Table,
        differing: pa.Table,
        new: pa.Array,
        records: Rows[ClientInvoice] | None,
    ) -> None:
        """Add decoded rows: all rows, differing rows, and which of these are new.

        `records` is None if every value is as the interface describes.
        """
        self._add_outside(window, rows)
        if new.true_count:
            self._add_new(differing if new.false_count == 0 else differing.filter(new))
        if records is None:
            return
        self.unknown |= differing.column("_extra").null_count < differing.num_rows
        self.counts.coerced.update(records.coerced)
        self.counts.mistyped.update(records.mistyped)
        if records.mistyped:
            for extra in differing.column("_extra").to_pylist():
                names = records.mistyped.keys() & msgspec.json.decode(extra or "{}").keys()
                self.mistyped.update(names)

    def _add_outside(self, window: Window, rows: pa.Table) -> None:
        """Count rows of other days, unchanged ones included: the response is for another window."""
        days = rows.column("_day")
        outside = pc.not_equal(rows.column("_counted_day"), days)
        found = pc.sum(outside).as_py() or 0
        if found:
            share = Share(found, rows.num_rows)
            self.elsewhere.append(Part(share, frozenset(window), f" in the response for {window}"))

    def add_references(
        self,
        window: Window,
        rows: pa.Table,
        new: Sequence[bool],
        others: Sequence[str | None],
    ) -> None:
        """Count the reference numbers that a response with new rows repeats; `others` are those of rows that were not decoded."""
        read = [*rows.column("reference_number").chunks, pa.array(others, pa.string())]
        references = pa.chunked_array(read).drop_null()
        repeated = len(references) - pc.count_distinct(references).as_py()
        days = frozenset(pc.unique(rows.column("_counted_day").filter(pa.array(new))).to_pylist())
        share = Share(repeated, len(references))
        self.repeated.append(Part(share, days, f" in the response for {window}"))

    def _add_new(self, new: pa.Table) -> None:
        days = new.column("_counted_day")
        for measure, part in zip(NEW_EMPTY, self._by_age(days), strict=True):
            found = new.num_rows if (every := pc.all(part).as_py()) else pc.sum(part).as_py() or 0
            if not found:
                continue
            self.new[measure] += found
            of_age = new if every else new.filter(part)
            for name in OPTIONAL:
                if empty := without_blanks(of_age.column(name)).null_count:
                    self.empty[name, measure] += empty
        self.new_days.update(pc.unique(days).to_pylist())
        for each in pc.value_counts(new.column("id_client").drop_null()):
            self.clients[each["values"].as_py()] += each["counts"].as_py()
        amounts = new.column("total_incl_vat").cast(pa.float64())
        self.negative += pc.sum(pc.less(amounts, 0)).as_py() or 0
        self._add_levels(new.column("currency"), amounts)

    def _by_age(self, days: pa.ChunkedArray) -> tuple[pa.ChunkedArray, ...]:
        """Return which rows are of today or later, of the last week, and older."""
        today, week_ago = (
            pa.scalar(day, pa.date32()) for day in (self.read_on, self.read_on - FRESH_DAYS * DAY)
        )
        new, recent = pc.greater_equal(days, today), pc.greater_equal(days, week_ago)
        return new, pc.and_(recent, pc.invert(new)), pc.invert(recent)

    def _add_levels(self, currencies: pa.ChunkedArray, amounts: pa.ChunkedArray) -> None:
        """Add the decimal logarithms of the amounts other than 0."""
        sizes = pc.abs(amounts)
        logs = pc.if_else(pc.greater(sizes, 0), pc.log10(sizes), None)
        table = pa.table({"currency": currencies, "log": logs, "square": pc.multiply(logs, logs)})
        groups = table.group_by("currency", use_threads=False).aggregate(
            [("log", "count"), ("log", "sum"), ("square", "sum")]
        )
        for group in groups.to_pylist():
            if group["log_count"]:
                level = Level(group["log_count"], group["log_sum"], group["square_sum"])
                currency = group["currency"] or ""
                self.levels[currency] = self.levels.get(currency, Level()) + level
