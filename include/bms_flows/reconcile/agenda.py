"""Which entity and which days today's audit compares; others follow in turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from sqlalchemy import Connection, func, or_, select

from bms_flows.invoices.window import DAY, Window
from bms_flows.reconcile.readings import requests
from bms_flows.reconcile.settings import Settings
from bms_warehouse.tables import client_invoice_day, reconciliation

INVOICE_SHARE = 0.6
"""Of the requests, for invoices; half of it is kept for a second look."""
LIST_SHARE = 0.15
"""Of the requests, for the pages of one list, likewise."""


@dataclass(frozen=True)
class Known:
    """What the warehouse knows of an entity's days."""

    first: date | None
    """The first day that was ever read."""
    open: date | None
    """The first day that an audit left open: not reconciled, or waiting for a read."""
    rows: int = 0
    """Invoices of a busy day."""


def known(connection: Connection, id_entity: int) -> Known:
    """Return what today's window depends on."""
    day, word = client_invoice_day.c, reconciliation.c
    first, rows = connection.execute(
        select(
            func.min(day.day),
            func.percentile_cont(0.9).within_group(day.invoices),
        ).where(day.id_entity == id_entity)
    ).one()
    left_open = connection.scalar(
        select(func.min(word.day)).where(
            word.resource == "client_invoice",
            word.id_entity == id_entity,
            or_(word.state == "not_reconciled", func.cardinality(word.waiting) > 0),
        )
    )
    return Known(first, left_open, int(rows or 0))


def days_of(settings: Settings, known: Known) -> int:
    """Return how many days one audit can compare within its requests and its rows."""
    reads = int(INVOICE_SHARE * settings.audit_requests) // 2
    by_requests = reads - (requests(0))
    by_rows = settings.audit_rows // known.rows if known.rows else settings.audit_days
    return max(1, min(settings.audit_days, by_requests, by_rows))


def window_of(known: Known, days: int, *, today: date, turn: int) -> Window:
    """Return the days of one audit: the latest, then what an audit left open, then older ones."""
    latest = Window(today - days * DAY, today - DAY)
    kind = turn % 3
    if kind == 1 and known.open is not None and known.open < latest.start:
        return Window(known.open, known.open + (days - 1) * DAY)
    older = 0 if known.first is None else (latest.start - known.first).days // days
    if kind == 0 or older < 1 or (kind == 1 and known.open is not None):
        return latest
    back = 1 + (turn // 3) % older
    return Window(latest.start - back * days * DAY, latest.end - back * days * DAY)


def entity_of(entities: Sequence[int], ordinal: int) -> tuple[int, int]:
    """Return the entity whose turn it is on a day, and how often it was before."""
    return entities[ordinal % len(entities)], ordinal // len(entities)
