"""The fields of a load of invoices: counted while answers come, then compared with the warehouse."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import msgspec
import pyarrow as pa
from sqlalchemy import Connection

from bms.records import ClientInvoice
from bms.responses import Rows
from bms_flows.invoices.decode import CODE_NAMES
from bms_flows.invoices.load import Loader
from bms_flows.invoices.units import Unit
from bms_flows.runtime.field_checks import FieldCounts, FieldFound
from bms_warehouse.queries import fields as stored
from bms_warehouse.tables import client_invoice, client_invoice_version

REQUIRED = (ClientInvoice.KEY, *ClientInvoice.MONEY)
FIELDS = tuple(
    each.encode_name
    for each in msgspec.structs.fields(ClientInvoice)
    if each.encode_name not in REQUIRED
)
"""Fields that may be empty; a row without one of the others is quarantined."""

HISTORY_SPAN = timedelta(days=28)
"""Recent history of new invoices: so far from the unit's first day, and the rows seen last."""
HISTORY_ROWS = 20
GRACE_DAYS = 7
"""Rows of history that were first seen later after their day than this, and than the new rows, don't compare."""


@dataclass
class FieldCounter:
    """Counts of the rows taken in so far."""

    rows: int = 0
    new: int = 0
    counts: FieldCounts = field(default_factory=FieldCounts)
    mistyped: Counter[str] = field(default_factory=Counter)
    """Of rows that stand here and differ: those with a value of another type."""
    new_mistyped: Counter[str] = field(default_factory=Counter)

    def add(
        self, rows: pa.Table, differing: pa.Table, new: pa.Array, answer: Rows[ClientInvoice] | None
    ) -> None:
        """Add the rows of an answer: all, those that differ, and which of these are new.

        `answer` are the records, None where every value was as described.
        """
        self.rows += rows.num_rows
        self.new += new.true_count
        for name in FIELDS:
            self.counts.missing[name] += rows.column(name).null_count
        if answer is None:
            return
        self.counts.coerced.update(answer.coerced)
        self.counts.mistyped.update(answer.mistyped)
        if answer.mistyped:
            extras = differing.column("_extra").to_pylist()
            for extra, is_new in zip(extras, new.to_pylist(), strict=True):
                names = answer.mistyped.keys() & msgspec.json.decode(extra or "{}").keys()
                (self.new_mistyped if is_new else self.mistyped).update(names)


def compare_fields(
    before: Connection, tally: FieldCounter, merging: Loader, unit: Unit
) -> dict[str, FieldFound]:
    """Return what a load, all of it merged, holds in each field beside what the warehouse held.

    `before` reads what is committed. Names of codes are left out: they depend on the language. A
    load that changed no row, and one with a value in every field, cost no query.
    """
    names = [name for name in FIELDS if name not in CODE_NAMES]
    missing = tally.counts.missing
    emptied = _emptied(merging, names)
    filled_before = _filled_before(merging, unit, emptied)
    without = [name for name in names if missing[name] == tally.rows or tally.new_mistyped[name]]
    usual_rows, usual = _usual(before, merging, unit, without) if tally.new else (0, {})
    return {
        name: FieldFound(
            filled=tally.rows - missing[name],
            filled_before=filled_before.get(name, 0),
            emptied=emptied.get(name, 0),
            mistyped=tally.mistyped[name],
            new=tally.new,
            new_mistyped=tally.new_mistyped[name],
            usual_rows=usual_rows,
            usual=usual.get(name, 0),
        )
        for name in names
    }


def days_without(merging: Loader, names: Sequence[str]) -> dict[str, set[date]]:
    """Return, for each field of `names`, the days of the rows written by a load without a value."""
    return {
        name: stored.days_without(
            merging.connection,
            client_invoice_version,
            name,
            step_run_id=merging.step_run_id,
            observed_at=merging.at,
        )
        for name in names
    }


def _emptied(merging: Loader, names: Sequence[str]) -> dict[str, int]:
    if not merging.changed:
        return {}
    return stored.emptied(
        merging.connection,
        client_invoice_version,
        names,
        step_run_id=merging.step_run_id,
        observed_at=merging.at,
    )


def _filled_before(merging: Loader, unit: Unit, emptied: Mapping[str, int]) -> dict[str, int]:
    """Return how many rows of the unit's days had a value before, of the fields that lost some."""
    if not emptied:
        return {}
    now = stored.filled(
        merging.connection,
        client_invoice,
        [*emptied],
        where="id_entity = %(id_entity)s and _day = any(%(days)s) and _missing_since is null",
        given={"id_entity": unit.id_entity, "days": [*unit.days]},
    )
    return {name: count + now[name] for name, count in emptied.items()}


def _usual(
    before: Connection, merging: Loader, unit: Unit, names: Sequence[str]
) -> tuple[int, dict[str, int]]:
    """Return what recent invoices had in `names`, fields without values in new rows of the load."""
    if not names:
        return 0, {}
    age = (merging.at.date() - unit.span.end).days
    return stored.usual(
        before,
        client_invoice,
        client_invoice_version,
        names,
        id_entity=unit.id_entity,
        days=(unit.span.start - HISTORY_SPAN, unit.span.start + HISTORY_SPAN),
        oldest_days=max(age, 0) + GRACE_DAYS,
        rows=HISTORY_ROWS,
    )
