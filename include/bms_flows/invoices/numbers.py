"""Missing invoice numbers of an entity: found at each load, stored until they arrive."""

from collections.abc import Collection
from datetime import date, timedelta
from itertools import chain
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection, any_, delete, literal, select, text
from sqlalchemy.dialects.postgresql import ARRAY, insert

from bms_flows.invoices.load import RESOURCE
from bms_flows.invoices.series import SeriesReport, indices, judge_series, learn_series
from bms_flows.invoices.units import Unit
from bms_flows.runtime.windows import Window
from bms_warehouse.history import Stamp
from bms_warehouse.tables import client_invoice, client_invoice_day, quarantine
from bms_warehouse.tables import client_invoice_missing_number as missing_number
from bms_warehouse.tables.schema import TEXT

RECENT: Final = timedelta(days=7)
"""A load of such recent days compares the numbers of `HISTORY`; a load of older days those around them."""
HISTORY: Final = timedelta(days=400)
AROUND: Final = timedelta(days=10)
LONGEST: Final = 200
"""Characters; a longer text is no number: PostgreSQL could not index it."""
MOST_INVOICES: Final = 50_000
"""Latest invoices of these days that are compared."""


def check_numbers(
    connection: Connection, unit: Unit, stamp: Stamp, *, today: date
) -> list[dict[str, Any]]:
    """Store the numbers that the series of a published load lack, and remove those that it does not lack any more.

    A number that arrived is not missing, nor is one after the last number, once a mistyped number is corrected.
    Runs in the caller's transaction, after its days were marked as read. Returns the counts of each series.
    """
    span = unit.span
    recent = span.end >= today - RECENT
    days = Window(
        today - HISTORY if recent else span.start - AROUND,
        max(today, span.end) if recent else span.end + AROUND,
    )
    invoices = _invoices(connection, unit.id_entity, days)
    series = learn_series(invoices)
    of_entity = missing_number.c.id_entity == unit.id_entity
    rows = connection.execute(select(missing_number).where(of_entity)).all()
    stored = {row.reference_number: row.accepted_by for row in rows}
    lacking = {each for one in series for hole in one.gaps[0] for each in hole.references}
    known = _known(connection, unit.id_entity, lacking | stored.keys())
    unread = _unread(connection, unit.id_entity, invoices)
    reports = [
        report
        for each in series
        if (
            report := judge_series(
                each,
                known=known,
                unexplained={reference for reference, by in stored.items() if by is None},
                unread=unread,
                today=today,
            )
        )
    ]
    _store(connection, unit.id_entity, reports, stamp)
    over = known & stored.keys()
    oldest = pc.min(invoices["listed"]).as_py()
    for each in series if recent else ():
        over |= each.after_last(
            row.reference_number
            for row in rows
            if row.series == each.name and oldest < row.day <= days.end
        )
    connection.execute(
        delete(missing_number).where(of_entity, missing_number.c.reference_number.in_(over))
    )
    return [
        {
            "series": each.name,
            "numbers": each.numbers,
            "missing": sum(len(hole.references) for hole in each.unusual),
            "usual_share": round(each.usual_share, 4),
            "duplicates": each.duplicates,
            "disorder": each.disorder,
        }
        for each in reports
    ]


def _invoices(connection: Connection, id_entity: int, days: Window) -> pa.Table:
    """Return `reference`, `dated` and `listed` of the latest invoices of `days` that the service returns.

    PostgreSQL sends the references of a day as one value: a row each takes a hundred times as long.
    """
    query = text(f"""
        select _day, dated, cast(json_agg(reference_number) as text) from (
            select _day, coalesce(invoice_date, _day) as dated, reference_number from {client_invoice}
            where id_entity = :id_entity and _day between :start and :end
                and length(reference_number) <= {LONGEST} and _missing_since is null
            order by _day desc limit {MOST_INVOICES}
        ) latest group by _day, dated order by _day desc
    """)  # noqa: S608 - our own names
    given = {"id_entity": id_entity, "start": days.start, "end": days.end}
    groups = [
        (listed, dated, msgspec.json.decode(references, type=list[str]))
        for listed, dated, references in connection.execute(query, given)
    ]
    rows = [len(references) for *_, references in groups]
    of_group = indices(np.repeat(np.arange(len(groups)), rows))
    listed, dated = (pa.array([each[n] for each in groups], pa.date32()) for n in (0, 1))
    every = chain.from_iterable(references for *_, references in groups)
    columns = [pa.array(every, pa.string()), dated.take(of_group), listed.take(of_group)]
    return pa.table(columns, ["reference", "dated", "listed"])


def _known(connection: Connection, id_entity: int, references: Collection[str]) -> set[str]:
    """Return the references that any invoice has, also one that is in quarantine."""
    if not references:
        return set()
    stored = select(client_invoice.c.reference_number).where(
        client_invoice.c.id_entity == id_entity,
        client_invoice.c.reference_number == any_(literal([*references], ARRAY(TEXT))),
    )
    found = {*connection.scalars(stored)}
    invalid = select(quarantine.c.raw).where(
        quarantine.c.resource == RESOURCE, quarantine.c.id_entity == id_entity
    )
    for raw in connection.scalars(invalid):
        try:
            found.add(msgspec.json.decode(raw, type=_Reference).reference_number)
        except msgspec.DecodeError:
            continue
    return found & {*references}


class _Reference(msgspec.Struct):
    reference_number: str


def _unread(connection: Connection, id_entity: int, invoices: pa.Table) -> list[date]:
    """Return the days between the invoices that no load has read completely."""
    if not invoices.num_rows:
        return []
    day = client_invoice_day.c
    between = Window(*pc.min_max(invoices["listed"]).as_py().values())
    read = connection.scalars(
        select(day.day).where(
            day.id_entity == id_entity, day.day.between(between.start, between.end)
        )
    )
    return sorted({*between} - {*read})


def _store(
    connection: Connection, id_entity: int, reports: Collection[SeriesReport], stamp: Stamp
) -> None:
    values = [
        {
            "id_entity": id_entity,
            "reference_number": reference,
            "series": report.name,
            "day": hole.last,
            "found_at": stamp.observed_at,
            "step_run_id": stamp.step_run_id,
        }
        for report in reports
        for hole in report.unusual
        for reference in hole.references
    ]
    if values:
        connection.execute(insert(missing_number).on_conflict_do_nothing(), values)
