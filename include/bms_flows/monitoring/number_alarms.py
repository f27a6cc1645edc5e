"""Alarms of missing invoice numbers: one alarm per series of an entity."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, or_, text, update

from bms_flows.monitoring import alarms
from bms_flows.monitoring.alarms import Extent
from bms_warehouse.tables import client_invoice_missing_number as missing_number

ALARM = "numbers_missing"
GRACE = timedelta(days=5)
"""Time in which a missing number may arrive before an alarm opens: invoices may be entered late."""
SHOWN = 5
"""Numbers in the text of an alarm."""
_MISSING = text("""
select id_entity, series, array_agg(reference_number order by reference_number), min(found_at)
from bms.client_invoice_missing_number where accepted_by is null and found_at <= :since
group by id_entity, series
""")


def check(connection: Connection, now: datetime) -> None:
    """Raise and recover the alarms within the caller's transaction."""
    found = connection.execute(_MISSING, {"since": now - GRACE})
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
