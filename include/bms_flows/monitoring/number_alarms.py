"""Alarms of missing invoice numbers: one alarm per series of an entity."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, or_, select, update
from sqlalchemy.dialects.postgresql import aggregate_order_by

from bms_flows.monitoring import alarms
from bms_flows.monitoring.alarms import Alarm, Extent
from bms_warehouse.tables import client_invoice_missing_number as missing_number

ALARM = "numbers_missing"
GRACE = timedelta(days=5)
"""Time in which a missing number may arrive before an alarm opens: invoices may be entered late."""
SHOWN = 5
"""Numbers in the text of an alarm."""


def check(connection: Connection, open_alarms: Iterable[Alarm], now: datetime) -> None:
    """Raise and recover the alarms within the caller's transaction."""
    number = missing_number.c
    found = connection.execute(
        select(
            number.id_entity,
            number.series,
            func.array_agg(aggregate_order_by(number.reference_number, number.reference_number)),
            func.min(number.found_at),
        )
        .where(number.accepted_by.is_(None), number.found_at <= now - GRACE)
        .group_by(number.id_entity, number.series)
    )
    subjects = set()
    for id_entity, series, references, since in found:
        subject = f"numbers {id_entity} {series}"
        subjects.add(subject)
        more = f" and {len(references) - SHOWN} more" if len(references) > SHOWN else ""
        alarms.raise_(
            connection,
            ALARM,
            subject,
            detail=f"Entity {id_entity} has no invoices {', '.join(references[:SHOWN])}{more}.",
            since=since,
            extent=Extent(size=len(references)),
        )
    for alarm in open_alarms:
        if alarm.code == ALARM and alarm.subject not in subjects:
            alarms.recover(connection, alarm.subject)


def accept(connection: Connection, id_entity: int, numbers: str, name: str, reason: str) -> int:
    """Accept a missing number, or all missing numbers of a series; return their number."""
    number = missing_number.c
    statement = update(missing_number).where(
        number.id_entity == id_entity,
        or_(number.series == numbers, number.reference_number == numbers),
        number.accepted_by.is_(None),
    )
    return connection.execute(statement.values(accepted_by=name, accepted_reason=reason)).rowcount
