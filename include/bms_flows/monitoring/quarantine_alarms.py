"""Alarms of rows that stay invalid: one alarm per resource, field and cause."""

from sqlalchemy import Connection, func, select, update

from bms_flows.monitoring import alarms
from bms_flows.monitoring.alarms import Extent
from bms_warehouse.tables import quarantine

ALARM = "rows_stay_invalid"
LOADS = 3
"""Loads in a row that quarantine a row until an alarm opens."""

_CAUSE = (quarantine.c.resource, func.coalesce(quarantine.c.field, ""), quarantine.c.code)


def check(connection: Connection) -> None:
    """Raise and recover the alarms within the caller's transaction."""
    invalid = connection.execute(
        select(*_CAUSE, func.count())
        .where(quarantine.c.loads >= LOADS, quarantine.c.accepted_by.is_(None))
        .group_by(*_CAUSE)
    )
    problems = {
        f"quarantine {resource} {field or 'row'} {code}": {
            "detail": f"{rows} rows of {resource} stay invalid: {field or 'the row'}, {code}.",
            "extent": Extent(size=rows),
        }
        for resource, field, code, rows in invalid
    }
    alarms.update_all(connection, ALARM, problems)


def accept(connection: Connection, resource: str, field: str, code: str, name: str) -> int:
    """Accept the rows that one cause keeps invalid; return their number.

    Later rows of the same cause open the alarm again.
    """
    cause = zip(_CAUSE, (resource, field, code), strict=True)
    rows = update(quarantine).where(
        *(column == value for column, value in cause), quarantine.c.accepted_by.is_(None)
    )
    return connection.execute(rows.values(accepted_by=name)).rowcount
