"""Alarms of rows that stay invalid: one alarm per resource, field and cause."""

from collections.abc import Iterable

from sqlalchemy import Connection, func, select, update

from bms_flows.monitoring import alarms
from bms_flows.monitoring.alarms import Alarm, Extent
from bms_warehouse.tables import quarantine

ALARM = "rows_stay_invalid"
LOADS = 3
"""Loads in a row that quarantine a row until an alarm opens."""

_CAUSE = (quarantine.c.resource, func.coalesce(quarantine.c.field, ""), quarantine.c.code)


def check(connection: Connection, open_alarms: Iterable[Alarm]) -> None:
    """Raise and recover the alarms within the caller's transaction."""
    invalid = connection.execute(
        select(*_CAUSE, func.count())
        .where(quarantine.c.loads >= LOADS, quarantine.c.accepted_by.is_(None))
        .group_by(*_CAUSE)
    )
    subjects = set()
    for resource, field, code, rows in invalid:
        subject = f"quarantine {resource} {field or 'row'} {code}"
        subjects.add(subject)
        detail = f"{rows} rows of {resource} stay invalid: {field or 'the row'}, {code}."
        alarms.raise_(connection, ALARM, subject, detail=detail, extent=Extent(size=rows))
    for alarm in open_alarms:
        if alarm.code == ALARM and alarm.subject not in subjects:
            alarms.recover(connection, alarm.subject)


def accept(connection: Connection, resource: str, field: str, code: str, name: str) -> int:
    """Accept the rows that one cause keeps invalid; return their number.

    Later rows of the same cause open the alarm again.
    """
    cause = zip(_CAUSE, (resource, field, code), strict=True)
    rows = update(quarantine).where(
        *(column == value for column, value in cause), quarantine.c.accepted_by.is_(None)
    )
    return connection.execute(rows.values(accepted_by=name)).rowcount
