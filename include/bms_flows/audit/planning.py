"""Planning of one audit: entities, windows of invoices and parts of lists take turns. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from bms_flows.audit.readings import requests
from bms_flows.audit.settings import AuditSettings
from bms_flows.runtime.windows import DAY, Window

INVOICE_SHARE = 0.6
"""Share of the requests for invoices; half of it is reserved for a second reading."""
LIST_SHARE = 0.15
"""Share of the requests for the pages of one list; half of it is reserved likewise."""
NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class InvoiceHistory:
    """Loaded days of an entity in the warehouse."""

    first: date | None
    """First loaded day."""
    due: date | None
    """First day to compare again: not reconciled, or still different after a load."""
    rows: int = 0
    """Number of invoices on a busy day."""
    tried: Mapping[date, datetime] = field(default_factory=dict)
    """Start of the last attempt to compare each day."""


def days_of(settings: AuditSettings, known: InvoiceHistory) -> int:
    """Return the number of days of one window within the limits of requests and rows."""
    budget = int(INVOICE_SHARE * settings.audit_requests) // 2
    by_requests = budget - requests(0)
    by_rows = settings.audit_rows // known.rows if known.rows else settings.audit_days
    return max(1, min(settings.audit_days, by_requests, by_rows))


def latest_of(days: int, today: date) -> Window:
    """Return the window of the latest days."""
    return Window(today - days * DAY, today - DAY)


def window_of(known: InvoiceHistory, days: int, *, today: date, turn: int) -> Window:
    """Return the first window of an audit; latest, due and older days take turns."""
    latest = latest_of(days, today)
    kind = turn % 3
    if kind == 1 and known.due is not None:
        if known.due >= latest.start:
            return latest
        return Window(known.due, known.due + (days - 1) * DAY)
    older = older_window(known, days, before=latest.start)
    return latest if kind == 0 or older is None else older


def older_window(
    known: InvoiceHistory, days: int, *, before: date, without: Collection[date] = ()
) -> Window | None:
    """Return the window that ends with the day whose last attempt is oldest or missing.

    Candidates are the days from the first loaded day up to `before`, except those in `without`; None if
    there are none. Among days without an attempt, the latest is first.
    """
    if known.first is None or known.first >= before:
        return None
    history = Window(known.first, before - DAY)
    candidates = [day for day in history if day not in without]
    if not candidates:
        return None
    end = min(candidates, key=lambda day: (known.tried.get(day, NEVER), -day.toordinal()))
    start = max(history.start, end - (days - 1) * DAY)
    return Window(start, min(start + (days - 1) * DAY, history.end))


def entity_of(entities: Sequence[int], ordinal: int) -> tuple[int, int]:
    """Return the entity whose turn it is on a day, and the number of its earlier turns."""
    return entities[ordinal % len(entities)], ordinal // len(entities)
