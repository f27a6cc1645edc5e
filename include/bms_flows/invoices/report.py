"""Reports of a load for finance: control totals and invoice history, as CSV files for Excel."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, text
from upath import UPath

from bms_flows.runtime.excel_csv import csv_file
from bms_flows.runtime.step_log import AMOUNTS, CurrencyTotal
from bms_flows.runtime.storage import atomic_file
from bms_warehouse.history import Stamp

TOTALS = ("id_entity", "first_day", "last_day", "currency", "invoices", *AMOUNTS)
HISTORY = ("observed_at", "what", "id_entity", "id_invoice", "reference_number", "currency")
HISTORY_AMOUNTS = ("total_incl_vat", "total_due_before", "total_due")

EVENTS = """
    select v._changed_at, e.what, v.id_entity, v.id_invoice, v.reference_number, v.currency,
        v.total_incl_vat, p.total_due as total_due_before, v.total_due
    from bms.client_invoice_superseded p
    join bms.client_invoice v on v.id_entity = p.id_entity
        and v.id_invoice = p.id_invoice and v._version = p._version + 1
    cross join lateral (values
        ('paid', v.total_due = 0 and p.total_due <> 0 and v.canceled is not true),
        ('partly paid', v.total_due <> 0 and v.total_incl_vat = p.total_incl_vat and abs(v.total_due) < abs(p.total_due)),
        ('changed', v.total_incl_vat <> p.total_incl_vat or abs(v.total_due) > abs(p.total_due)),
        ('sent', v.sent and p.sent is not true),
        ('canceled', v.canceled and p.canceled is not true),
        ('missing', v._missing_since is not null and p._missing_since is null),
        ('came back', v._missing_since is null and p._missing_since is not null)
    ) as e (what, happened)
    where p._superseded_at = :observed_at and v._step_run_id = :step_run_id and e.happened
    order by v.id_entity, v.id_invoice, e.what
"""


def write_totals(
    path: UPath, id_entity: int, days: Sequence[str], totals: Mapping[str, CurrencyTotal]
) -> None:
    """Write the control totals of a load, one line per currency."""
    lines = [
        (id_entity, *days, currency, total.invoices, *(total.exact()[name] for name in AMOUNTS))
        for currency, total in sorted(totals.items())
    ]
    _write(path, TOTALS, lines)


def write_history(connection: Connection, path: UPath, stamp: Stamp, zone: ZoneInfo) -> None:
    """Write the invoice events that a load found, before its commit."""
    events = connection.execute(text(EVENTS), stamp._asdict()).all()
    at = stamp.observed_at
    lines = [(f"{at.astimezone(zone):%d/%m/%Y %H:%M:%S}", *event[1:]) for event in events]
    _write(path, (*HISTORY, *HISTORY_AMOUNTS), lines)


def _write(path: UPath, header: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    with atomic_file(path) as stream:
        stream.write(csv_file(header, lines))
