"""Health report of all flows, for `bms health` and the board.

Reads only the warehouse, so the report is valid while Airflow is down or a DAG is paused. The report
contains no personal data.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import SHUT_RDWR, socket
from threading import Event, Timer
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, text

from bms_flows.monitoring import alarms
from bms_flows.monitoring.alarms import Alarm, span
from bms_flows.monitoring.freshness import Freshness, read_freshness
from bms_flows.monitoring.freshness_check import check_targets
from bms_flows.runtime.notice import Links, Notice, Send
from bms_flows.runtime.settings import FlowSettings
from bms_flows.texts import ALARMS
from bms_warehouse.errors import WarehouseError

HEALTHY, ALARM, UNKNOWN = 0, 1, 2
UNREACHABLE = "warehouse_unreachable"
ANSWER_S = 120
"""Seconds after which a check ends without an answer."""
ROOM = """
create temporary table room on commit drop as select repeat('x', 1000) from generate_series(1, 200)
"""
"""Statement that takes 200 KB of PostgreSQL's disk for the transaction."""


def report(
    connection: Connection,
    settings: FlowSettings,
    now: datetime | None = None,
    found: Mapping[str, Freshness] | None = None,
) -> dict[str, Any]:
    """Return the state of every flow and the open alarms, ready for JSON; times in UTC."""
    now = now or datetime.now(UTC)
    found = found or read_freshness(connection, settings, now)
    open_alarms = alarms.open_alarms(connection)
    alarming = bool(open_alarms) or any(each.alarming for each in found.values())
    return {
        "state": "alarm" if alarming else "well",
        "at": iso(now),
        "flows": {flow: _flow(each) for flow, each in found.items()},
        "alarms": [_alarm(each, now) for each in open_alarms],
    }


def _alarm(alarm: Alarm, now: datetime) -> dict[str, Any]:
    _, section = alarms.section_of(alarm)
    silenced = alarms.acknowledgement(alarm, now)
    return {
        "id": alarm.id,
        "subject": alarm.subject,
        "code": alarm.code,
        "flow": alarm.flow,
        "detail": alarm.detail,
        "since": iso(alarm.since),
        "notified_at": iso(alarm.notified_at),
        "severity": section.severity,
        "wait": section.wait,
        "remedy": section.do,
        "acknowledged": silenced
        and {"by": silenced[0], "until": iso(silenced[1]), "note": silenced[2]},
    }


def _flow(freshness: Freshness) -> dict[str, Any]:
    entities = [each for each in freshness.entities if each.id_entity is not None]
    return {
        "state": freshness.state or "never_ran",
        "complete_at": iso(freshness.complete_at),
        "age_s": _seconds(freshness.age),
        "limit_s": _seconds(freshness.limit),
        "deadline": freshness.deadline and freshness.deadline.by.isoformat("minutes"),
        "newest_day": freshness.newest_day and freshness.newest_day.isoformat(),
        "entities": {str(each.id_entity): each.state for each in entities},
    }


def iso(at: datetime | None) -> str | None:
    """Return a time in UTC, ready for JSON."""
    return at.astimezone(UTC).isoformat(timespec="seconds") if at else None


def _seconds(length: timedelta | None) -> int | None:
    return None if length is None else int(length.total_seconds())


class OutageFile:
    """File that records that an unreachable warehouse was notified: no table can store that.

    Its time is that of the message. Its content does not count: a full disk may empty the file.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def notify_outage(self, send: Send, links: Links, now: datetime) -> None:
        """Notify the outage once."""
        if self._file.exists():
            return
        section = ALARMS[UNREACHABLE]
        lines = (
            f"Since: {links.time(now)}",
            f"What it means: {section.meaning}",
            f"Can it wait until morning: {section.wait}",
            f"What to do: {section.do}",
            f"Runbook: {links.section(UNREACHABLE)}",
        )
        send(Notice(f"Alarm: warehouse ({UNREACHABLE})", lines))
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.touch()

    def notify_recovery(self, send: Send, links: Links, now: datetime) -> None:
        """Notify the recovery if the outage was notified."""
        if not self._file.exists():
            return
        since = datetime.fromtimestamp(self._file.stat().st_mtime, UTC)
        line = f"Over since {links.time(now)}, after {span(now - since)}."
        send(Notice(f"Recovered: warehouse ({UNREACHABLE})", (line,)))
        self._file.unlink()


def check(warehouse: Engine, settings: FlowSettings, *, notify: bool) -> tuple[dict[str, Any], int]:
    """Return the report and the exit status; with `notify`, raise and recover alarms."""
    now = datetime.now(UTC)
    try:
        with warehouse.connect() as connection, _answered(connection), connection.begin():
            if notify:
                # A read-only database or a full disk must fail now, not when the first alarm is due.
                connection.execute(text(ROOM))
                found = check_targets(connection, settings, Links.of(settings))
            else:
                found = read_freshness(connection, settings)
            answer = report(connection, settings, now, found)
    except WarehouseError as error:
        return {"state": "unknown", "at": iso(now), "reason": str(error)}, UNKNOWN
    return answer, HEALTHY if answer["state"] == "well" else ALARM


@contextmanager
def _answered(connection: Connection) -> Iterator[None]:
    """Raise `WarehouseError` if the block takes longer than `ANSWER_S`: cron would start more checks that wait.

    No time-out of PostgreSQL ends a commit that waits for a standby or a disk.
    """
    driver, late = connection.connection.driver_connection, Event()
    assert isinstance(driver, psycopg.Connection)  # noqa: S101 - the only driver that `connect` takes

    def end() -> None:
        late.set()
        with suppress(psycopg.Error, OSError):
            driver.cancel_safe(timeout=5)
        with suppress(psycopg.Error, OSError), socket(fileno=os.dup(driver.fileno())) as own:
            own.shutdown(SHUT_RDWR)

    timer = Timer(ANSWER_S, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except WarehouseError:
        if not late.is_set():
            raise
    finally:
        timer.cancel()
    if late.is_set():
        connection.invalidate()
        raise WarehouseError(
            f"PostgreSQL did not answer within {ANSWER_S} s: a session has locked a table (VACUUM FULL, ALTER "
            "TABLE), commits wait for a synchronous standby that is down, or its disk stalls"
        )


def deliver(
    warehouse: Engine, settings: FlowSettings, send: Send, outage: OutageFile, code: int
) -> None:
    """Send due messages after a check that returned `code`; raise the errors of `send`."""
    now, links = datetime.now(UTC), Links.of(settings)
    if code == UNKNOWN:
        outage.notify_outage(send, links, now)
    else:
        outage.notify_recovery(send, links, now)
        alarms.deliver(warehouse, send, links)


def state_file(environment: Mapping[str, str]) -> Path:
    """Return the default outage file, according to the XDG base directories."""
    home = environment.get("XDG_STATE_HOME") or f"{environment.get('HOME') or '~'}/.local/state"
    return Path(home).expanduser() / "bms" / "warehouse_unreachable"
