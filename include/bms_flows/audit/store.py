"""Audit results in `bms.reconciliation`, one row for each day or part, and the alarm of each subject."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, case, delete, select, update
from sqlalchemy.dialects.postgresql import insert

from bms_flows.audit.compare import Comparison, Key, OpenRows, SeenDifference
from bms_flows.audit.parts import Part
from bms_flows.monitoring import alarms
from bms_flows.monitoring.alarms import Extent
from bms_flows.runtime.list_id import ListId
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from bms_warehouse.tables import reconciliation

INVOICES = "client_invoice"

_RESULT = reconciliation.c
_OF_ENTITY = re.compile(r"reconciliation (?:client_invoice|employee) (?P<entity>\d+)")


@dataclass(frozen=True, kw_only=True)
class Result:
    """Result of comparing a day of invoices, or a part of a list."""

    list_id: ListId
    day: date
    comparison: Comparison
    step_run_id: int
    tried_at: datetime | None
    """Start of the comparison; None if only rows of another part moved here."""
    part: int = 1
    parts: int = 1


def days(connection: Connection, id_entity: int, window: Window) -> dict[date, Part]:
    """Return the results of earlier audits for the compared days of `window`."""
    found = _compared(ListId(INVOICES, id_entity)).where(
        _RESULT.day.between(window.start, window.end)
    )
    return {row["day"]: _part(row) for row in connection.execute(found).mappings()}


def open_days(connection: Connection, id_entity: int) -> dict[date, Part]:
    """Return the days of an entity that are pending or not reconciled."""
    found = _compared(ListId(INVOICES, id_entity)).where(_RESULT.state != "reconciled")
    return {row["day"]: _part(row) for row in connection.execute(found).mappings()}


def tried(connection: Connection, id_entity: int) -> dict[date, datetime]:
    """Return the start of the last attempt to compare each day of an entity."""
    found = select(_RESULT.day, _RESULT.tried_at).where(
        ListId(INVOICES, id_entity).of(reconciliation), _RESULT.tried_at.is_not(None)
    )
    return {day: at for day, at in connection.execute(found)}  # noqa: C416 -- rows, which dict() doesn't take


def parts(connection: Connection, list_id: ListId) -> list[Part]:
    """Return the results of earlier audits for the compared parts of a list."""
    found = connection.execute(_compared(list_id).order_by(_RESULT.part))
    return [_part(row) for row in found.mappings()]


def save(connection: Connection, result: Result) -> None:
    """Store the result of a day or part within the caller's transaction.

    If the comparison failed, the result of an earlier audit stays.
    """
    comparison = result.comparison
    row = insert(reconciliation).values(
        **result.list_id._asdict(),
        day=result.day,
        part=result.part,
        parts=result.parts,
        **_summary(comparison),
        rows_compared=comparison.compared,
        changed_meanwhile=comparison.changed,
        checked_at=datetime.now(UTC),
        tried_at=result.tried_at,
        step_run_id=result.step_run_id,
    )
    key = [column.name for column in reconciliation.primary_key]
    if comparison.state == "not_checked":
        stale = _RESULT.state == "not_checked"
        renewed: dict[str, Any] = {
            "tried_at": result.tried_at,
            "reasons": case((stale, row.excluded.reasons), else_=_RESULT.reasons),
        }
    else:
        renewed = {each.name: each for each in row.excluded if each.name not in key}
    connection.execute(row.on_conflict_do_update(index_elements=key, set_=renewed))


def save_part(
    connection: Connection,
    result: Result,
    known: Sequence[Part],
    left: Mapping[int, OpenRows],
) -> None:
    """Store the result of one part of a list, and the rows `left` open in all `known` parts.

    `left` is the result of `parts.carried`. A failed comparison changes no other part.
    """
    comparison, part = result.comparison, result.part
    of_list = result.list_id.of(reconciliation)
    if comparison.state == "not_checked":
        stored = connection.scalar(select(_RESULT.day).where(of_list, _RESULT.part == part))
        save(connection, replace(result, day=stored or result.day))
        return
    for code, rows in left.get(part, {}).items():
        comparison.rows[code] = rows | comparison.rows.get(code, {})
    outdated = (_RESULT.part == part) & (_RESULT.day != result.day)
    connection.execute(
        delete(reconciliation).where(of_list, outdated | (_RESULT.part > result.parts))
    )
    save(connection, result)
    before = {each.number: each for each in known if each.number <= result.parts}
    for number in (before.keys() | left.keys()) - {part}:
        open_rows = left.get(number, {})
        if number in before:
            update_open_rows(connection, result.list_id, before[number], open_rows)
        else:
            moved = Comparison(rows=open_rows)
            save(connection, replace(result, part=number, comparison=moved, tried_at=None))
    connection.execute(update(reconciliation).where(of_list).values(parts=result.parts))


def update_open_rows(
    connection: Connection, list_id: ListId, part: Part, rows: OpenRows, day: date | None = None
) -> None:
    """Update the open rows of a part, or of a `day`, that was not compared again."""
    if rows == part.rows:
        return
    of_part = list_id.of(reconciliation)
    of_part &= _RESULT.part == part.number if day is None else _RESULT.day == day
    connection.execute(
        update(reconciliation)
        .where(of_part, _RESULT.state != "not_checked")
        .values(**_summary(Comparison(rows=rows)))
    )


def update_alarm(connection: Connection, list_id: ListId, step: Step) -> None:
    """Raise the alarm of days or parts that are not reconciled; recover the alarm if there are none."""
    alarms.decide(connection)
    query = (
        select(_RESULT.day, _RESULT.part, _RESULT.parts, _RESULT.found)
        .where(list_id.of(reconciliation), _RESULT.state == "not_reconciled")
        .order_by(_RESULT.day, _RESULT.part)
    )
    found = connection.execute(query).all()
    resource, id_entity = list_id
    subject = f"{resource} {id_entity}" if id_entity else resource
    if not found:
        alarms.recover(connection, f"reconciliation {subject}")
        return
    codes = sorted({code for row in found for code in row.found})
    rows = sum(sum(row.found.values()) for row in found)
    where = f"{found[0].day}"
    if found[0].parts > 1:
        numbers = ", ".join(str(row.part) for row in found)
        where = f"part {numbers} of {found[0].parts}"
    elif len(found) > 1:
        where = f"{len(found)} days from {found[0].day} to {found[-1].day}"
    alarms.raise_(
        connection,
        "not_reconciled",
        f"reconciliation {subject}",
        detail=f"{where}: {', '.join(codes)}; rows: {rows}.",
        extent=Extent(codes, rows),
        flow=step.flow,
        dag_run_id=step.dag_run_id,
    )


def close_removed(connection: Connection, entities: Collection[int]) -> None:
    """Close the alarms of entities that the connection no longer lists; `entities` are the listed ones.

    No audit compares a removed entity again; its stored results stay.
    """
    for each in alarms.open_alarms(connection):
        found = _OF_ENTITY.fullmatch(each.subject)
        if found and int(found["entity"]) not in entities:
            removed = (
                f"Entity {found['entity']} was removed from the connection: not compared again."
            )
            alarms.recover(connection, each.subject, because=removed)


def _compared(list_id: ListId) -> Any:
    compared = _RESULT.state != "not_checked"
    return select(reconciliation).where(list_id.of(reconciliation), compared)


def _part(row: RowMapping) -> Part:
    return Part(row["part"], _rows(row["rows"]), row["checked_at"], row["tried_at"])


def _summary(comparison: Comparison) -> dict[str, Any]:
    return {
        "state": comparison.state,
        "reasons": comparison.reasons,
        "found": comparison.found,
        "pending": comparison.pending,
        "rows": comparison.rows,
    }


def _rows(stored: Mapping[str, Mapping[str, Sequence[Any] | None]]) -> OpenRows:
    """Return open rows from their stored form, in which JSON has turned every key into text."""
    return {
        code: {
            _key(key): SeenDifference(*difference) if difference else None
            for key, difference in rows.items()
        }
        for code, rows in stored.items()
    }


def _key(text: str) -> Key:
    return int(text) if text.isdecimal() else text
