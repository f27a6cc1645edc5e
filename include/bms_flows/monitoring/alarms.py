"""Alarms: one open alarm per subject, one message when the alarm opens, grows and closes.

The caller's transaction raises and recovers. Messages are sent afterwards, from the table: a channel
that is down delays messages without loss. A message is recorded as sent once a channel has accepted
the message; a crash in between sends it twice.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Engine, Row, select, text, update
from sqlalchemy.dialects.postgresql import insert

from bms_flows import texts
from bms_flows.catalog import FLOWS
from bms_flows.runtime.notice import Links, NotDelivered, Notice, Send
from bms_flows.texts import ALARMS, ERRORS_OF_TASKS, Section
from bms_warehouse.database import NOW, clock
from bms_warehouse.locks import serialize
from bms_warehouse.tables import alarm

ELAPSED: Final = frozenset({"late", "overdue"})
"""Codes of elapsed time: they never cause an update of an open alarm."""
GROWTH: Final = 2
"""An open alarm is notified again once its size exceeds the last notified size by this factor."""
UPDATED: Final = ("code", "detail", "flow", "dag_run_id", "aspects", "size")
"""Columns of an open alarm that change when the alarm is raised again."""


@dataclass(frozen=True)
class Extent:
    """Extent of the problem behind an alarm."""

    aspects: Collection[str] = ()
    """Affected codes or entities."""
    size: int = 0
    """Number of affected rows; 0 if rows are not counted."""


UNKNOWN_EXTENT: Final = Extent()
REFUSED: Final = 3
"""Messages in one call that no channel accepts, after which the channels count as down."""


Alarm: TypeAlias = Row[Any]
"""A row of `bms.alarm`."""


def decide(connection: Connection) -> None:
    """Let one transaction at a time decide about alarms; call this before reading what they depend on.

    Otherwise a check that read before a failure would close the alarm that the failure has raised since.
    """
    serialize(connection, "decisions about alarms")


def raise_(
    connection: Connection,
    code: str,
    subject: str,
    *,
    detail: str,
    flow: str | None = None,
    dag_run_id: str | None = None,
    since: datetime | None = None,
    extent: Extent = UNKNOWN_EXTENT,
) -> bool:
    """Open the alarm of `subject` or update the open one; return whether the alarm is new.

    An open alarm takes the new code, detail and `extent`; its start stays. The update is notified if
    the code or an aspect is new in its messages, or if the size has more than doubled since the last
    message. `subject` is a DAG id or the subject of an audit. `detail` is a sentence without personal
    data. Raises `KeyError` for a code that `texts.ALARMS` lacks.
    """
    ALARMS[code]
    decide(connection)
    now = clock(connection)
    opened = insert(alarm).values(
        subject=subject,
        code=code,
        detail=detail,
        flow=flow,
        dag_run_id=dag_run_id,
        since=since or now,
        raised_at=now,
        aspects=sorted({*extent.aspects, *({code} - ELAPSED)}),
        size=extent.size,
    )
    updated = {name: opened.excluded[name] for name in UPDATED}
    return bool(
        connection.scalar(
            opened.on_conflict_do_update(
                index_elements=[alarm.c.subject],
                index_where=alarm.c.recovered_at.is_(None),
                set_=updated,
            ).returning(text("xmax = 0"))  # 0 for an inserted row, other for an updated row
        )
    )


def recover(connection: Connection, subject: str, because: str | None = None) -> bool:
    """Close the alarm of `subject`; return whether one was open.

    `because` explains a recovery that no check has found; the message contains this sentence.
    """
    open_alarm = update(alarm).where(alarm.c.subject == subject, alarm.c.recovered_at.is_(None))
    closed = open_alarm.values(recovered_at=NOW, recovery_reason=because)
    return bool(connection.execute(closed).rowcount)


def update_all(
    connection: Connection,
    code: str,
    problems: Mapping[str, Mapping[str, Any]],
    because: str | None = None,
) -> None:
    """Raise the alarms of all problems with `code`, and close those of others.

    `problems` are the arguments of `raise_` by subject; `because` explains the recoveries.
    """
    for subject, problem in problems.items():
        raise_(connection, code, subject, **problem)
    for each in open_alarms(connection):
        if each.code == code and each.subject not in problems:
            recover(connection, each.subject, because)


def open_alarms(connection: Connection) -> list[Alarm]:
    """Return the open alarms, oldest first."""
    found = select(alarm).where(alarm.c.recovered_at.is_(None)).order_by(alarm.c.since, alarm.c.id)
    return [*connection.execute(found)]


def acknowledge(
    connection: Connection, number: int, until: datetime, *, name: str, note: str
) -> bool:
    """Send nothing about an open alarm before `until`; return whether there is one of this number."""
    found = update(alarm).where(alarm.c.id == number, alarm.c.recovered_at.is_(None))
    given = {"acknowledged_by": name, "acknowledged_until": until, "acknowledged_note": note}
    return bool(connection.execute(found.values(given)).rowcount)


def acknowledgement(found: Alarm, now: datetime) -> tuple[str, datetime, str] | None:
    """Return who acknowledged an alarm, until when and why; None if no acknowledgement holds. Pure."""
    if found.acknowledged_until is None or found.acknowledged_until <= now:
        return None
    return str(found.acknowledged_by), found.acknowledged_until, str(found.acknowledged_note)


# A recovery is notified only if the alarm was, or if no channel accepted the alarm meanwhile, and not after
# the next alarm of the subject: it would seem to close that one. An alarm that is still open when its
# acknowledgement ends is notified again.
_DUE = text("""
    coalesce(acknowledged_until, now()) <= now() and case when recovered_at is null
        then notified_at is null or not aspects <@ notified_aspects or size > :growth * notified_size
            or greatest(notified_at, update_notified_at) < acknowledged_until
        else coalesce(notified_at, refused_at) is not null and recovery_notified_at is null and not exists (
            select from bms.alarm as next
            where next.subject = alarm.subject and next.id > alarm.id and next.notified_at is not null
        )
    end
""").bindparams(growth=GROWTH)


def deliver(engine: Engine, send: Send, links: Links) -> int:
    """Send all due messages, oldest first; return their number.

    Skips messages that another process is sending. A message that no channel accepts is sent again by
    the next call, after the others; raises its `NotDelivered` at the end, at the latest after
    `REFUSED` such messages, since the channels may be down.
    """
    tried, refused = [0], list[NotDelivered]()
    while len(refused) < REFUSED:
        with engine.begin() as connection:
            due = (
                select(alarm)
                .where(_DUE, alarm.c.id.not_in(tried))
                .order_by(alarm.c.refused_at.nulls_first(), alarm.c.id)
                .limit(1)
                .with_for_update(skip_locked=True)
            )
            if (found := connection.execute(due).first()) is None:
                break
            tried.append(found.id)
            changes: dict[str, Any] = {"refused_at": NOW}
            try:
                send(notice(found, links))
            except NotDelivered as error:
                refused.append(error)
            else:
                changes = {"recovery_notified_at": NOW}
                if not found.recovered_at:
                    changes = {
                        "update_notified_at" if found.notified_at else "notified_at": NOW,
                        "notified_aspects": sorted({*found.notified_aspects, *found.aspects}),
                        "notified_size": max(found.notified_size, found.size),
                    }
            connection.execute(update(alarm).where(alarm.c.id == found.id).values(changes))
    if refused:
        raise refused[0]
    return len(tried) - 1


def notice(found: Alarm, links: Links) -> Notice:
    """Return the message of a new, updated or recovered alarm. Pure."""
    run = (f"Run: {links.run(found.flow, found.dag_run_id)}",) if found.flow else ()
    if found.recovered_at:
        lasted = span(found.recovered_at - found.since)
        return Notice(
            f"Recovered: {found.subject} ({found.code})",
            (
                f"Over since {links.time(found.recovered_at)}, after {lasted}.",
                *((found.recovery_reason,) if found.recovery_reason else ()),
                *run,
            ),
        )
    code, section = section_of(found)
    flow = FLOWS.get(found.subject)
    impact = [flow.impact] if flow and flow.impact else []
    return Notice(
        f"Alarm{' update' if found.notified_at else ''}: {found.subject} ({found.code})",
        (
            found.detail,
            f"Since: {links.time(found.since)}",
            *(
                (f"Acknowledged until {links.time(ended)}.",)
                if (ended := found.acknowledged_until)
                else ()
            ),
            f"What it means: {' '.join([section.meaning, *impact])}",
            f"Can it wait until morning: {section.wait}",
            f"What to do: {section.do}",
            *run,
            f"Runbook: {links.section(code)}",
        ),
    )


def section_of(found: Alarm) -> tuple[str, Section]:
    """Return code and section of the runbook on an alarm: its error's, if the runbook has one. Pure."""
    code = next((code for code in found.aspects if code in ERRORS_OF_TASKS), found.code)
    return code, texts.section_of(code)


def span(length: timedelta) -> str:
    """Return a duration in its two largest units."""
    minutes = int(length.total_seconds() // 60)
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
