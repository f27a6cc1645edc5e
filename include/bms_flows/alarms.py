"""Alarms: raised once, told once, over once, whoever notices, and however many notice at once.

Raising and recovering belong to the caller's transaction. Telling comes after, from the table: a
channel that is down delays a message and loses none. A message is marked as told once a channel
took it; a crash between the two tells it again.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Engine, and_, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert

from bms_flows.freshness import PROMISES
from bms_flows.notice import Links, Notice, Send
from bms_flows.reasons import ALARMS
from bms_warehouse.tables import alarm


@dataclass(frozen=True)
class Alarm:
    """A row of `bms.alarm`."""

    id: int
    subject: str
    code: str
    detail: str
    flow: str | None
    dag_run_id: str | None
    since: datetime
    raised_at: datetime
    told_at: datetime | None
    recovered_at: datetime | None
    recovery_told_at: datetime | None


def raise_(
    connection: Connection,
    code: str,
    subject: str,
    *,
    detail: str,
    flow: str | None = None,
    dag_run_id: str | None = None,
    since: datetime | None = None,
) -> bool:
    """Raise the alarm of `subject`; return whether it was not open yet.

    An open one takes the new code and detail, keeps when it began, and is not told again. `subject`
    is a flow by its DAG's id, or what an audit names; `detail` a sentence of figures, days and
    codes, no person's. Raises `KeyError` for a code that `reasons.ALARMS` doesn't have.
    """
    ALARMS[code]
    now = datetime.now(UTC)
    entered = insert(alarm).values(
        subject=subject,
        code=code,
        detail=detail,
        flow=flow,
        dag_run_id=dag_run_id,
        since=since or now,
        raised_at=now,
    )
    renewed = {name: entered.excluded[name] for name in ("code", "detail", "flow", "dag_run_id")}
    return bool(
        connection.scalar(
            entered.on_conflict_do_update(
                index_elements=[alarm.c.subject],
                index_where=alarm.c.recovered_at.is_(None),
                set_=renewed,
            ).returning(text("xmax = 0"))  # PostgreSQL's mark of a row that no update has touched
        )
    )


def recover(connection: Connection, subject: str) -> bool:
    """Say that the trouble of `subject` is over; return whether an alarm of it was open."""
    over = update(alarm).where(alarm.c.subject == subject, alarm.c.recovered_at.is_(None))
    return bool(connection.execute(over.values(recovered_at=datetime.now(UTC))).rowcount)


def open_alarms(connection: Connection) -> list[Alarm]:
    """Return the alarms that are open, the oldest first."""
    found = select(alarm).where(alarm.c.recovered_at.is_(None)).order_by(alarm.c.since, alarm.c.id)
    return [Alarm(**row) for row in connection.execute(found).mappings()]


_DUE = or_(
    and_(alarm.c.told_at.is_(None), alarm.c.recovered_at.is_(None)),
    and_(
        alarm.c.told_at.is_not(None),
        alarm.c.recovered_at.is_not(None),
        alarm.c.recovery_told_at.is_(None),
    ),
)
# Nobody is told that something is over of which nobody was told.


def deliver(engine: Engine, send: Send, links: Links) -> int:
    """Tell what is to be told, the oldest first, and return how many messages that were.

    What another process is telling is left to it. Raises what `send` raises; what it didn't take
    is told the next time.
    """
    told = 0
    while True:
        with engine.begin() as connection:
            due = select(alarm).where(_DUE).order_by(alarm.c.id).limit(1)
            row = connection.execute(due.with_for_update(skip_locked=True)).mappings().first()
            if row is None:
                return told
            found = Alarm(**row)
            send(notice(found, links))
            column = "recovery_told_at" if found.recovered_at else "told_at"
            connection.execute(
                update(alarm).where(alarm.c.id == found.id).values({column: datetime.now(UTC)})
            )
            told += 1


def notice(found: Alarm, links: Links) -> Notice:
    """Return the message of an alarm, or of its recovery. Pure."""
    run = (f"Run: {links.run(found.flow, found.dag_run_id)}",) if found.flow else ()
    if found.recovered_at:
        lasted = span(found.recovered_at - found.since)
        return Notice(
            f"Recovered: {found.subject} ({found.code})",
            (f"Over since {links.time(found.recovered_at)}, after {lasted}.", *run),
        )
    reason = ALARMS[found.code]
    broken = [each.broken for each in PROMISES if each.flow == found.subject]
    return Notice(
        f"Alarm: {found.subject} ({found.code})",
        (
            found.detail,
            f"Since: {links.time(found.since)}",
            f"What it means: {' '.join([reason.meaning, *broken])}",
            f"Try first: {reason.remedy}",
            *run,
            f"Runbook: {links.section(found.code)}",
        ),
    )


def span(length: timedelta) -> str:
    """Return a length of time in the two largest units that it has."""
    minutes = int(length.total_seconds() // 60)
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
