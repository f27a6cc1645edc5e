"""Alarms of missing invoice numbers: one alarm per series of an entity."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, func, or_, select, update
from sqlalchemy.dialects.postgresql import aggregate_order_by

from bms_flows.monitoring import alarms
from bms_flows.monitoring.alarms import Extent
from bms_warehouse.tables import client_invoice_missing_number as missing_number

ALARM = "numbers_missing"
GRACE = timedelta(days=5)
"""Time in which a missing number may arrive before an alarm opens: invoices may be entered late."""
SHOWN = 5
"""Numbers in the text of an alarm."""


def check(connection: Connection, now: datetime) -> None:
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
    problems = {}
    for id_entity, series, references, since in found:
        more = f" and {len(references) - SHOWN} more" if len(references) > SHOWN else ""
        problems[f"numbers {id_entity} {series}"] = {
            "detail": f"Entity {id_entity} has no invoices {', '.join(references[:SHOWN])}{more}.",
            "since": since,
            "extent": Extent(size=len(references)),
        }
    alarms.update_all(connection, ALARM, problems)


def accept(connection: Connection, id_entity: int, numbers: str, name: str, reason: str) -> int:
    """Accept a missing number, or all missing numbers of a series; return their number."""
    number = missing_number.c
    statement = update(missing_number).where(
        number.id_entity == id_entity,
        or_(number.series == numbers, number.reference_number == numbers),
        number.accepted_by.is_(None),
    )
    return connection.execute(statement.values(accepted_by=name, accepted_reason=reason)).rowcount
