"""Field statistics of an invoice load, compared with the fields stored in the warehouse."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import msgspec
import pyarrow as pa
from sqlalchemy import Connection

from bms.records import ClientInvoice, described
from bms.responses import Rows
from bms_flows.invoices.decode import CODE_NAMES
from bms_flows.invoices.load import Loader
from bms_flows.invoices.units import Unit
from bms_flows.runtime.field_checks import FieldCounts, FieldFound
from bms_warehouse.queries import fields as stored
from bms_warehouse.tables import client_invoice, client_invoice_version

REQUIRED = (ClientInvoice.KEY, *ClientInvoice.amounts())
FIELDS = tuple(name for name in described(ClientInvoice) if name not in REQUIRED)
"""Fields that may be empty; a row without a required field is quarantined."""

HISTORY_SPAN = timedelta(days=28)
"""Recent history of new invoices: within this distance of the unit's first day."""
HISTORY_ROWS = 20
"""Rows of recent history, the latest first."""
GRACE_DAYS = 7
"""Rows first seen longer after their day than this, and than the new rows, are no history."""
UNIT_ROWS = "id_entity = %(id_entity)s and _day = any(%(days)s)"
"""SQL condition of the rows of a unit's days."""


@dataclass
class FieldCounter:
    """Counts of the rows transformed so far."""

    rows: int = 0
    new: int = 0
    counts: FieldCounts = field(default_factory=FieldCounts)
    mistyped: Counter[str] = field(default_factory=Counter)
    """Changed rows whose value has an unexpected type."""
    new_mistyped: Counter[str] = field(default_factory=Counter)

    def add(
        self,
        rows: pa.Table,
        differing: pa.Table,
        new: pa.Array,
        records: Rows[ClientInvoice] | None,
    ) -> None:
        """Add the rows of a response: all rows, differing rows, and which of these are new.

        `records` is None if every value is as the interface describes.
        """
        self.rows += rows.num_rows
        self.new += new.true_count
        for name in FIELDS:
            self.counts.missing[name] += rows.column(name).null_count
        if records is None:
            return
        self.counts.coerced.update(records.coerced)
        self.counts.mistyped.update(records.mistyped)
        if records.mistyped:
            extras = differing.column("_extra").to_pylist()
            for extra, is_new in zip(extras, new.to_pylist(), strict=True):
                names = records.mistyped.keys() & msgspec.json.decode(extra or "{}").keys()
                (self.new_mistyped if is_new else self.mistyped).update(names)


def compare_fields(
    committed: Connection, counter: FieldCounter, loader: Loader, unit: Unit
) -> dict[str, FieldFound]:
    """Compare each field of a completely merged load with the warehouse before the load.

    `committed` reads what was committed before. Code names are left out, because they depend on the
    language. A load without changes, and a load with a value in every field, cost no query.
    """
    names = [name for name in FIELDS if name not in CODE_NAMES]
    missing = counter.counts.missing
    emptied = _emptied(loader, names)
    filled_before = _filled_before(loader, unit, emptied)
    without = [
        name for name in names if missing[name] == counter.rows or counter.new_mistyped[name]
    ]
    usual_rows, usual = _usual(committed, loader, unit, without) if counter.new else (0, {})
    return {
        name: FieldFound(
            filled=counter.rows - missing[name],
            filled_before=filled_before.get(name, 0),
            emptied=emptied.get(name, 0),
            mistyped=counter.mistyped[name],
            new=counter.new,
            new_mistyped=counter.new_mistyped[name],
            usual_rows=usual_rows,
            usual=usual.get(name, 0),
        )
        for name in names
    }


def days_without(loader: Loader, unit: Unit, names: Sequence[str]) -> dict[str, set[date]]:
    """Return for each field the unit's days with a row that the load wrote without a value."""
    return {
        name: stored.days_without(
            loader.connection,
            client_invoice,
            name,
            where=UNIT_ROWS,
            given=_unit_rows(unit),
            step_run_id=loader.step_run_id,
            observed_at=loader.observed_at,
        )
        for name in names
    }


def _unit_rows(unit: Unit) -> dict[str, object]:
    return {"id_entity": unit.id_entity, "days": [*unit.days]}


def _emptied(loader: Loader, names: Sequence[str]) -> dict[str, int]:
    if not loader.changed:
        return {}
    return stored.emptied(
        loader.connection,
        client_invoice,
        names,
        step_run_id=loader.step_run_id,
        observed_at=loader.observed_at,
    )


def _filled_before(loader: Loader, unit: Unit, emptied: Mapping[str, int]) -> dict[str, int]:
    """Return how many rows of the unit's days had a value before, for fields that lost values."""
    if not emptied:
        return {}
    now = stored.filled(
        loader.connection,
        client_invoice,
        [*emptied],
        where=f"{UNIT_ROWS} and _missing_since is null",
        given=_unit_rows(unit),
    )
    return {name: count + now[name] for name, count in emptied.items()}


def _usual(
    committed: Connection, loader: Loader, unit: Unit, names: Sequence[str]
) -> tuple[int, dict[str, int]]:
    """Return recent invoices, and how many had a value in `names`, fields empty in new rows."""
    if not names:
        return 0, {}
    age = (loader.observed_at.date() - unit.span.end).days
    return stored.usual(
        committed,
        client_invoice,
        client_invoice_version,
        names,
        id_entity=unit.id_entity,
        days=(unit.span.start - HISTORY_SPAN, unit.span.start + HISTORY_SPAN),
        oldest_days=max(age, 0) + GRACE_DAYS,
        rows=HISTORY_ROWS,
    )
