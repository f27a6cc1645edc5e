"""Say whether every flow keeps its promise: `python -m bms_flows.monitoring.health`.

It reads the warehouse alone, so it is right while Airflow is down or a DAG is paused. Prints JSON
without personal data; ends with 0 when all is well, 1 when something is not, 2 when it can't tell.
With --notify, run every few minutes by cron or a container, it also raises, tells and recovers.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError

from bms_flows.monitoring import alarms
from bms_flows.monitoring.alarms import span
from bms_flows.monitoring.channels import channels
from bms_flows.monitoring.freshness import Freshness, read_freshness
from bms_flows.monitoring.freshness_check import check_targets
from bms_flows.runtime.notice import Links, NotDelivered, Notice, Send, broadcast
from bms_flows.runtime.reasons import ALARMS
from bms_flows.runtime.settings import FlowSettings, InvalidSetting
from bms_warehouse import database
from bms_warehouse.__main__ import URL_VARIABLE
from bms_warehouse.errors import WarehouseError

WELL, ALARM, UNKNOWN = 0, 1, 2
UNREACHABLE = "warehouse_unreachable"


def report(
    connection: Connection, settings: FlowSettings, now: datetime | None = None
) -> dict[str, Any]:
    """Return the state of every flow and the open alarms, ready for JSON; times in UTC."""
    now = now or datetime.now(UTC)
    return _report(read_freshness(connection, settings, now), connection, now)


def _report(
    found: Mapping[str, Freshness], connection: Connection, now: datetime
) -> dict[str, Any]:
    standing = alarms.open_alarms(connection)
    wrong = bool(standing) or any(each.alarming for each in found.values())
    return {
        "state": "alarm" if wrong else "well",
        "at": _iso(now),
        "flows": {flow: _flow(each) for flow, each in found.items()},
        "alarms": [
            {
                "subject": alarm.subject,
                "code": alarm.code,
                "flow": alarm.flow,
                "detail": alarm.detail,
                "since": _iso(alarm.since),
                "notified_at": _iso(alarm.notified_at),
            }
            for alarm in standing
        ],
    }


def _flow(freshness: Freshness) -> dict[str, Any]:
    entities = [each for each in freshness.entities if each.id_entity is not None]
    return {
        "state": freshness.state or "never_ran",
        "complete_at": _iso(freshness.complete_at),
        "age_s": _seconds(freshness.age),
        "limit_s": _seconds(freshness.limit),
        "entities": {str(each.id_entity): each.state for each in entities},
    }


def _iso(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat(timespec="seconds") if at else None


def _seconds(length: timedelta | None) -> int | None:
    return None if length is None else int(length.total_seconds())


class Memory:
    """Whether people were told that the warehouse is out of reach: no table can keep that."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def lost(self, send: Send, links: Links, now: datetime) -> None:
        """Tell it, once."""
        if self._file.exists():
            return
        reason = ALARMS[UNREACHABLE]
        lines = (
            f"Since: {links.time(now)}",
            f"What it means: {reason.meaning}",
            f"Try first: {reason.remedy}",
            f"Runbook: {links.section(UNREACHABLE)}",
        )
        send(Notice(f"Alarm: warehouse ({UNREACHABLE})", lines))
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(now.isoformat())

    def found(self, send: Send, links: Links, now: datetime) -> None:
        """Tell that it is back where it was told to be lost."""
        if not self._file.exists():
            return
        since = datetime.fromisoformat(self._file.read_text())
        line = f"Over since {links.time(now)}, after {span(now - since)}."
        send(Notice(f"Recovered: warehouse ({UNREACHABLE})", (line,)))
        self._file.unlink()


def check(warehouse: Engine, settings: FlowSettings, *, notify: bool) -> tuple[dict[str, Any], int]:
    """Return the report and the exit code; with `notify`, raise and recover what it says."""
    now = datetime.now(UTC)
    try:
        with warehouse.begin() as connection:
            if notify:
                found = check_targets(connection, settings, Links.of(settings), now)
            else:
                found = read_freshness(connection, settings, now)
            answer = _report(found, connection, now)
    except WarehouseError as error:
        return {"state": "unknown", "at": _iso(now), "reason": str(error)}, UNKNOWN
    return answer, WELL if answer["state"] == "well" else ALARM


def tell(warehouse: Engine, settings: FlowSettings, send: Send, memory: Memory, code: int) -> None:
    """Tell what is to be told after a check that ended with `code`; raise what `send` raises."""
    now, links = datetime.now(UTC), Links.of(settings)
    if code == UNKNOWN:
        memory.lost(send, links, now)
    else:
        memory.found(send, links, now)
        alarms.deliver(warehouse, send, links)


def state_file(environment: Mapping[str, str]) -> Path:
    """Return where a memory is kept by default, as the XDG base directories have it."""
    home = environment.get("XDG_STATE_HOME") or f"{environment.get('HOME') or '~'}/.local/state"
    return Path(home).expanduser() / "bms" / "warehouse_unreachable"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0, 1 or 2."""
    parser = argparse.ArgumentParser(
        prog="python -m bms_flows.monitoring.health",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--url",
        default=os.environ.get(URL_VARIABLE),
        help=f"libpq URI of the warehouse, postgresql://… (default: ${URL_VARIABLE})",
    )
    parser.add_argument(
        "--notify",
        action="store_true",
        help="raise and recover alarms, and tell of them through BMS_NOTICE_WEBHOOK and _SMTP",
    )
    parser.add_argument(
        "--memory",
        type=Path,
        default=state_file(os.environ),
        help="file that keeps that the warehouse was told to be out of reach (%(default)s)",
    )
    options = parser.parse_args(arguments)
    try:
        return _run(options)
    except (InvalidSetting, NotDelivered) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)  # noqa: T201 - a command's answer
        return UNKNOWN


def _run(options: argparse.Namespace) -> int:
    if not options.url:
        raise InvalidSetting(f"name the warehouse: --url postgresql://… or {URL_VARIABLE}")
    settings = FlowSettings.from_environment()
    ways = channels(settings)
    if options.notify and not ways:
        raise InvalidSetting("--notify needs a channel: BMS_NOTICE_WEBHOOK or BMS_NOTICE_SMTP")
    engine = database.connect(_address(options.url))
    try:
        answer, code = check(engine, settings, notify=options.notify)
        print(json.dumps(answer, indent=2))  # noqa: T201
        if options.notify:
            tell(engine, settings, broadcast(ways), Memory(options.memory), code)
    finally:
        engine.dispose()
    return code


def _address(given: str) -> str:
    """Return a URI whose server has ten seconds to take a connection, unless it says otherwise."""
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        # Without its cause: SQLAlchemy's text quotes what it read, a password perhaps.
        raise InvalidSetting(
            "the URI of the warehouse can't be read: give postgresql://user:password@host:port/database"
        ) from None
    patient = url.set(query={"connect_timeout": "10", **url.query})
    return patient.render_as_string(hide_password=False)


if __name__ == "__main__":
    sys.exit(main())
