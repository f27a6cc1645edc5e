"""Control totals of a load: exact sums by currency, and counts by day."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bms_flows.runtime.step_log import AMOUNTS, CurrencyTotal
from bms_flows.runtime.windows import Window

CENT = Decimal("0.01")


@dataclass
class DayCounts:
    """Invoices and open invoices of a day."""

    invoices: int = 0
    open_invoices: int = 0


@dataclass
class ControlTotals:
    """Sums over all transformed rows."""

    by_currency: dict[str, CurrencyTotal] = field(
        default_factory=lambda: defaultdict(CurrencyTotal)
    )
    currencies: dict[str, set[date]] = field(default_factory=lambda: defaultdict(set))
    """Days of each currency."""
    days: dict[date, DayCounts] = field(default_factory=lambda: defaultdict(DayCounts))

    def add(self, rows: pa.Table, window: Window) -> None:
        """Add the rows of one window's response, with `_day` and `_counted_day`; its days count as read."""
        for day in window:
            self.days[day]
        rows = rows.append_column("open", is_open(rows))
        for group in self._add_amounts(rows, ["_day", "_counted_day"], [("open", "sum")]):
            invoices = group["id_invoice_count"]
            self.currencies[group["currency"] or ""].add(group["_counted_day"])
            if group["_day"] == group["_counted_day"]:
                found = self.days[group["_day"]]
                found.invoices += invoices
                found.open_invoices += group["open_sum"] or 0

    def add_moved(self, rows: pa.Table) -> None:
        """Add the amounts of invoices that were found on another day; no day counts as read."""
        self._add_amounts(rows)

    def _add_amounts(
        self,
        rows: pa.Table,
        keys: Sequence[str] = (),
        sums: Sequence[tuple[str, str]] = (),
    ) -> list[dict[str, Any]]:
        """Add the amounts by currency; return the groups of currency and `keys` with these and `sums`."""
        groups = rows.group_by(["currency", *keys], use_threads=False).aggregate(
            [("id_invoice", "count"), *sums, *((amount, "sum") for amount in AMOUNTS)]
        )
        found: list[dict[str, Any]] = groups.to_pylist()
        for group in found:
            amounts = {amount: group[f"{amount}_sum"] for amount in AMOUNTS}
            self.by_currency[group["currency"] or ""].add(group["id_invoice_count"], amounts)
        return found


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
