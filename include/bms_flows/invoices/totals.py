"""Control totals of a load: exact sums by currency, and counts by day."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from bms_flows.runtime.step_log import AMOUNTS, CurrencyTotal, subtract_totals

CENT = Decimal("0.01")
COUNTS = ("rows", "unpaid", "invoices", "open_invoices")


class DayFacts(msgspec.Struct):
    """What the rows that count under a day add to the totals and the checks of a load."""

    stored: str = ""
    """Digest of the rows' ids and row hashes."""
    rows: int = 0
    unpaid: int = 0
    invoices: int = 0
    """Rows that are listed under this day."""
    open_invoices: int = 0
    amounts: dict[str, CurrencyTotal] = {}
    """Sums by currency."""
    empty: dict[str, int] = {}
    """Rows without a value, by field; without the names of codes."""
    names: list[tuple[str, str | None, str | None, int]] = []
    """Rows by the field of a name, code and name, in the requested language."""

    def plus(self, more: "DayFacts") -> "DayFacts":
        """Return the facts of both."""
        amounts = deepcopy(self.amounts)
        for currency, total in more.amounts.items():
            amounts.setdefault(currency, CurrencyTotal()).add(total.invoices, total.amounts)
        names: Counter[tuple[str, str | None, str | None]] = Counter()
        for name, code, label, rows in (*self.names, *more.names):
            names[name, code, label] += rows
        return DayFacts(
            **{name: getattr(self, name) + getattr(more, name) for name in COUNTS},
            amounts=amounts,
            empty=Counter(self.empty) + Counter(more.empty),
            names=[(*label, rows) for label, rows in names.items()],
        )

    def less(self, some: "DayFacts") -> "DayFacts | None":
        """Return the facts without those of some of the rows, as the warehouse shows these.

        The warehouse may show other names than were read. Returns None if the names matter, because a
        code of the rows has several.
        """
        rows_of: Counter[tuple[str, str | None]] = Counter()
        for name, code, _, rows in some.names:
            rows_of[name, code] += rows
        names_of = Counter((name, code) for name, code, _, _ in self.names)
        if any(names_of[label] > 1 for label in rows_of):
            return None
        left = [(name, code, label, n - rows_of[name, code]) for name, code, label, n in self.names]
        return DayFacts(
            **{name: getattr(self, name) - getattr(some, name) for name in COUNTS},
            amounts=subtract_totals(self.amounts, some.amounts),
            empty=Counter(self.empty) - Counter(some.empty),
            names=[each for each in left if each[-1]],
        )


@dataclass
class ControlTotals:
    """Sums over all transformed rows."""

    by_currency: dict[str, CurrencyTotal] = field(
        default_factory=lambda: defaultdict(CurrencyTotal)
    )
    currencies: dict[str, set[date]] = field(default_factory=lambda: defaultdict(set))
    """Days of each currency."""
    days: dict[date, DayFacts] = field(default_factory=lambda: defaultdict(DayFacts))
    """Invoices and open invoices of each day that was read."""

    def add(self, facts: Mapping[date, DayFacts], window: Iterable[date] = ()) -> None:
        """Add rows by their day; the days of `window` count as read."""
        for day in window:
            self.days[day]
        for day, each in facts.items():
            for currency, total in each.amounts.items():
                self.by_currency[currency].add(total.invoices, total.amounts)
                if day in self.days:
                    self.currencies[currency].add(day)
            if day in self.days:
                self.days[day].invoices += each.invoices
                self.days[day].open_invoices += each.open_invoices


def facts_by_day(rows: pa.Table, optional: Sequence[str] = ()) -> dict[date, DayFacts]:
    """Return what the rows of each `_counted_day` add to the totals, and their empty `optional` fields."""
    listed = pc.equal(rows.column("_day"), rows.column("_counted_day")).fill_null(False)
    flags = {
        "invoices": listed,
        "open_invoices": pc.and_(listed, is_open(rows)),
        "unpaid": pc.not_equal(rows.column("total_due"), 0),
    }
    amounts = ["_counted_day", "currency", "id_invoice", *AMOUNTS]
    values = {name: without_blanks(rows.column(name)) for name in optional}
    empty = {name: each for name, each in values.items() if each.null_count}
    columns = {name: rows.column(name) for name in amounts} | empty | flags
    sums = [(name, "sum") for name in (*flags, *AMOUNTS)]
    nulls = [(name, "count", pc.CountOptions("only_null")) for name in empty]
    groups = pa.table(columns).group_by(["_counted_day", "currency"], use_threads=False)
    facts: dict[date, DayFacts] = defaultdict(DayFacts)
    for group in groups.aggregate([("id_invoice", "count"), *sums, *nulls]).to_pylist():
        of_day, count = facts[group["_counted_day"]], group["id_invoice_count"]
        of_day.rows += count
        for name in flags:
            setattr(of_day, name, getattr(of_day, name) + (group[f"{name}_sum"] or 0))
        total = of_day.amounts.setdefault(group["currency"] or "", CurrencyTotal())
        total.add(count, {amount: group[f"{amount}_sum"] for amount in AMOUNTS})
        of_day.empty = Counter(of_day.empty) + Counter({n: group[f"{n}_count"] for n in empty})
    return facts


def without_blanks(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values, empty texts among them as null."""
    if not pa.types.is_string(values.type):
        return values
    blank = pc.equal(values, "")
    return (
        pc.if_else(blank, pa.scalar(None, values.type), values) if pc.any(blank).as_py() else values
    )


def is_open(rows: pa.Table) -> pa.ChunkedArray:
    """Return for each invoice whether it may still change: not canceled, and unpaid or not sent."""
    canceled = pc.fill_null(rows.column("canceled"), False)
    sent = pc.fill_null(rows.column("sent"), False)
    unpaid = pc.not_equal(rows.column("total_due"), 0)
    return pc.and_(pc.invert(canceled), pc.or_(unpaid, pc.invert(sent)))


def amounts_differ(rows: pa.Table) -> pa.ChunkedArray:
    """Return for each invoice whether net plus VAT differs from gross by a cent or more."""
    sum_ = pc.add(rows.column("total_excl_vat"), rows.column("total_vat"))
    difference = pc.abs(pc.subtract(sum_, rows.column("total_incl_vat")))
    return pc.greater_equal(difference, pa.scalar(CENT, difference.type))


def listed_days(rows: pa.Table, range_date: str, zone: str) -> pa.Array:
    """Return the day that the service lists each invoice under: the date that the range filters."""
    column = rows.column(range_date).combine_chunks()
    if pa.types.is_timestamp(column.type):
        column = pc.local_timestamp(column.cast(pa.timestamp("us", zone)))
    return column.cast(pa.date32(), safe=False)
