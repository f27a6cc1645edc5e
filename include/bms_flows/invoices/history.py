"""History of an entity's loads in the warehouse, for plans and checks."""

from collections import defaultdict
from collections.abc import Container, Iterable
from datetime import date
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, func, select

from bms_flows.invoices.day_counts import HISTORY, DayHistory, HeldDay
from bms_flows.invoices.units import Unit
from bms_flows.runtime import profiles
from bms_flows.runtime.windows import local_date
from bms_warehouse.queries.invoices import last_read_before_acceptance
from bms_warehouse.tables import client_invoice, client_invoice_day, control_total, step_run


def load_history(
    connection: Connection,
    unit: Unit,
    days: Iterable[date],
    zone: ZoneInfo,
    holidays: Container[date],
) -> DayHistory:
    """Return the history that the checks of `unit`, which read `days`, compare with."""
    read = set(days)
    day = client_invoice_day.c
    counts = connection.execute(
        select(day.day, day.invoices).where(
            day.id_entity == unit.id_entity,
            day.day.between(min(read) - HISTORY, max(read)),
        )
    )
    known = connection.scalars(
        select(control_total.c.currency)
        .join(step_run, step_run.c.id == control_total.c.step_run_id)
        .where(control_total.c.id_entity == unit.id_entity, step_run.c.state == "complete")
        .distinct()
    ).all()
    covered = last_read_before_acceptance(connection, unit.id_entity, read) if known[1:] else {}
    invoice = client_invoice.c
    stored = connection.execute(
        select(func.coalesce(invoice.currency, ""), invoice["_day"], func.count())
        .where(
            invoice.id_entity == unit.id_entity,
            invoice["_missing_since"].is_(None),
            # Their invoices may have got another currency, which an operator has accepted.
            invoice["_day"].in_(read.difference(covered.get("currency.changed", ()))),
        )
        .group_by(invoice.currency, invoice["_day"])
    )
    by_currency: dict[str, dict[date, int]] = defaultdict(dict)
    for currency, each, invoices in stored:
        by_currency[currency][each] = invoices
    earlier = profiles.earlier(connection, unit.list_id, zone)
    published = {each: invoices for each, invoices in counts}  # noqa: C416 - rows, which dict() doesn't take
    held = _held(connection, unit.id_entity, zone)
    return DayHistory(published, holidays, held, earlier, frozenset(known), by_currency)


def _held(connection: Connection, id_entity: int, zone: ZoneInfo) -> dict[date, list[HeldDay]]:
    """Return the earlier counts of days that were held for few invoices."""
    steps = connection.execute(
        select(step_run.c.details["few"], step_run.c.started_at).where(
            step_run.c.step == "extract",
            step_run.c.id_entity == id_entity,
            step_run.c.state == "suspect",
            step_run.c.details.has_key("few"),
        )
    )
    held: dict[date, list[HeldDay]] = defaultdict(list)
    for few, at in steps:
        for day, invoices in few.items():
            held[date.fromisoformat(day)].append(HeldDay(invoices, local_date(at, zone)))
    return held
