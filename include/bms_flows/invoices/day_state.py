"""State of each day: its latest attempt, its latest complete read, and its open findings.

A finding is a check that held the day, or newly missing or quarantined rows, an unusual share of changed
rows, or a difference that an audit found. The look-back decides by this state when a day is read again.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import ARRAY, TEXT, Connection, Row, case, cast, delete, literal, or_, text, update
from sqlalchemy.dialects.postgresql import insert

from bms_flows.invoices.lookback import LONGEST_INTERVAL, DayState
from bms_flows.invoices.totals import DayFacts
from bms_flows.runtime.windows import local_date
from bms_warehouse.database import upsert
from bms_warehouse.history import Stamp
from bms_warehouse.tables import client_invoice_day, client_invoice_finding, reconciliation

CHANGED_ROWS = 3
"""Fewer changed rows of a day are usual."""
CHANGED_SHARE = 4
"""One changed row in this many is unusual for an old day."""
DIFFERENT = ("pending", "not_reconciled")
"""Results of an audit that found differences."""


def day_states(connection: Connection, id_entity: int, zone: ZoneInfo) -> list[DayState]:
    """Return the state of every day that was over when a run attempted it, with dates in `zone`."""
    rows = connection.execute(
        text(f"""
            select day, coalesce(f.attempted_at, d.read_at) as attempted_at,
                coalesce(d.changed_at, d.read_at, f.attempted_at) as changed_at,
                coalesce(d.open_invoices, 0) as open_invoices,
                greatest(f.found_at, r.checked_at) as found_at, coalesce(f.held, false) as held
            from (select * from {client_invoice_day} where id_entity = :id_entity) d
            full join (select * from {client_invoice_finding} where id_entity = :id_entity) f
                using (day)
            left join (
                select day, max(checked_at) as checked_at from {reconciliation}
                where resource = 'client_invoice' and id_entity = :id_entity
                    and state = any(:different)
                group by day
            ) r using (day)
        """),  # noqa: S608 - our own names
        {"id_entity": id_entity, "different": [*DIFFERENT]},
    )
    return [
        DayState(
            each.day,
            attempted,
            local_date(each.changed_at, zone),
            each.open_invoices,
            each.found_at and local_date(each.found_at, zone),
            each.held,
        )
        for each in rows
        if (attempted := local_date(each.attempted_at, zone)) > each.day
    ]


def record_attempt(
    connection: Connection,
    id_entity: int,
    days: Collection[date],
    findings: Mapping[date, Iterable[str]],
    stamp: Stamp,
    *,
    held: bool,
) -> None:
    """Record an attempt to read `days`, in the caller's transaction.

    An attempt with the same findings as the one before is no new finding: attempts get rarer. A
    finding that a published read didn't confirm for `LONGEST_INTERVAL` days is removed.
    """
    found, (step_run_id, at) = client_invoice_finding.c, stamp
    mine = (found.id_entity == id_entity) & found.day.in_(days)
    values = [
        {
            "id_entity": id_entity,
            "day": day,
            "codes": sorted({*codes}),
            "held": held,
            "attempted_at": at,
            "found_at": at,
            "step_run_id": step_run_id,
        }
        for day, codes in sorted(findings.items())
    ]
    new = insert(client_invoice_finding).excluded
    again = (found.codes == new.codes) & found.held & new.held
    found_at = case((again, found.found_at), else_=new.found_at)
    upsert(connection, client_invoice_finding, values, found_at=found_at)
    if plain := {*days} - findings.keys():
        none = cast(literal([], ARRAY(TEXT)), ARRAY(TEXT))
        connection.execute(
            update(client_invoice_finding)
            .where(mine, found.day.in_(plain), or_(found.attempted_at < at, found.held))
            .values(attempted_at=at, held=False, codes=none, step_run_id=step_run_id)
        )
        lapsed = found.attempted_at - found.found_at >= timedelta(days=LONGEST_INTERVAL)
        connection.execute(delete(client_invoice_finding).where(mine, ~found.held, lapsed))


def unusual_days(
    written: Iterable[Row[Any]], read: Mapping[date, DayFacts]
) -> dict[date, set[str]]:
    """Return the findings of published days: newly missing rows, an unusual share of changed rows."""
    found = dict[date, set[str]]()
    for each in written:
        if each.missing:
            found[each.day] = {"drop"}
        if each.changed >= max(CHANGED_ROWS, read[each.day].invoices / CHANGED_SHARE):
            found.setdefault(each.day, set()).add("many_changed")
    return found
