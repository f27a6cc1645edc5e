"""Alarms: one open alarm per subject; one message when it opens, when it grows, and when it closes.

Raising and recovering belong to the caller's transaction. Notifying comes after, from the table: a
channel that is down delays a message and loses none. A message counts as sent once a channel took
it; a crash between the two sends it again.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Engine, and_, not_, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert

from bms_flows.monitoring.freshness import FRESHNESS_TARGETS
from bms_flows.runtime.notice import Links, Notice, Send
from bms_flows.runtime.reasons import ALARMS
from bms_warehouse.tables import alarm

TIME_ALONE: Final = frozenset({"late", "overdue"})
"""Codes that say only that time has passed: of an alarm that is open, no news."""
GROWTH: Final = 2
"""An open alarm is notified again where its size is more than so many times the notified one."""
RENEWED: Final = ("code", "detail", "flow", "dag_run_id", "aspects", "size")
"""What an open alarm takes over when it is raised again."""


@dataclass(frozen=True)
class Extent:
    """How far trouble reaches."""

    aspects: Collection[str] = ()
    """What is wrong in detail: codes, entities."""
    size: int = 0
    """How much is wrong, as rows; 0 where nothing is counted."""


ANY_EXTENT: Final = Extent()


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
    aspects: Sequence[str]
    size: int
    notified_aspects: Sequence[str]
    notified_size: int
    update_notified_at: datetime | None
    recovered_at: datetime | None
    recovery_reason: str | None
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
    extent: Extent = ANY_EXTENT,
) -> bool:
    """Raise the alarm of `subject`; return whether it was not open yet.

    An open one takes the new code, detail and `extent`, and keeps when it began. An update of it is
    notified where no message of it had the code or an aspect yet, or where the size has more than
    doubled since the latest message. `subject` is a flow by its DAG's id, or what an
    audit names; `detail` a sentence of figures, days and codes, no person's. Raises `KeyError` for
    a code that `reasons.ALARMS` doesn't have.
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
        aspects=sorted({*extent.aspects, *({code} - TIME_ALONE)}),
        size=extent.size,
    )
    renewed = {name: entered.excluded[name] for name in RENEWED}
    return bool(
        connection.scalar(
            entered.on_conflict_do_update(
                index_elements=[alarm.c.subject],
                index_where=alarm.c.recovered_at.is_(None),
                set_=renewed,
            ).returning(text("xmax = 0"))  # PostgreSQL's mark of a row that no update has touched
        )
    )


def recover(connection: Connection, subject: str, because: str | None = None) -> bool:
    """Close the alarm of `subject`; return whether one was open.

    `because` is the sentence that the message gets where no check found that the trouble is over.
    """
    over = update(alarm).where(alarm.c.subject == subject, alarm.c.recovered_at.is_(None))
    closed = over.values(recovered_at=datetime.now(UTC), recovery_reason=because)
    return bool(connection.execute(closed).rowcount)


def open_alarms(connection: Connection) -> list[Alarm]:
    """Return the alarms that are open, the oldest first."""
    found = select(alarm).where(alarm.c.recovered_at.is_(None)).order_by(alarm.c.since, alarm.c.id)
    return [Alarm(**row) for row in connection.execute(found).mappings()]


# The end of trouble is notified only where the trouble was.
_DUE = or_(
    and_(alarm.c.told_at.is_(None), alarm.c.recovered_at.is_(None)),
    and_(
        alarm.c.told_at.is_not(None),
        alarm.c.recovered_at.is_(None),
        or_(
            not_(alarm.c.aspects.contained_by(alarm.c.notified_aspects)),
            alarm.c.size > GROWTH * alarm.c.notified_size,
        ),
    ),
    and_(
        alarm.c.told_at.is_not(None),
        alarm.c.recovered_at.is_not(None),
        alarm.c.recovery_told_at.is_(None),
    ),
)


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
            sent = update(alarm).where(alarm.c.id == found.id)
            connection.execute(sent.values(_sent(found, datetime.now(UTC))))
            told += 1


def _sent(found: Alarm, now: datetime) -> dict[str, Any]:
    """Return what the table stores of a message that a channel took."""
    if found.recovered_at:
        return {"recovery_told_at": now}
    return {
        "update_notified_at" if found.told_at else "told_at": now,
        "notified_aspects": sorted({*found.notified_aspects, *found.aspects}),
        "notified_size": max(found.notified_size, found.size),
    }


def notice(found: Alarm, links: Links) -> Notice:
    """Return the message of an alarm, of an update of it, or of its recovery. Pure."""
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
    reason = ALARMS[found.code]
    broken = [each.broken for each in FRESHNESS_TARGETS if each.flow == found.subject]
    return Notice(
        f"Alarm{' update' if found.told_at else ''}: {found.subject} ({found.code})",
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
