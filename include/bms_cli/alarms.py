"""Commands on alarms: `alarm ack`, `accept-invalid`, `accept-numbers`."""

import getpass
import re
from datetime import UTC, datetime, time, timedelta
from typing import Annotated, Final
from zoneinfo import ZoneInfo

import typer

from bms_cli.options import Json, Url, given
from bms_cli.output import NOTHING_FOUND, show, show_error, show_result
from bms_cli.warehouse import connected

MORNING: Final = time(8)
LONGEST: Final = timedelta(days=31)
"""An acknowledgement that never ends would hide a new problem of the same subject."""
UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


def ack(
    url: Url,
    number: Annotated[int, typer.Argument(metavar="ID", help="Number of the alarm.")],
    until: Annotated[
        str,
        typer.Option(
            help="End: 90m, 8h, 2d, tomorrow (08:00), 17:30, or 2026-11-30T08:00, in the company's zone."
        ),
    ],
    note: Annotated[str, typer.Option(callback=given, help="Why the alarm may wait.")],
    name: Annotated[
        str | None, typer.Option(help="Who acknowledges; by default the user of this computer.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Acknowledge an open alarm: nothing is sent about it until --until; the board shows who and why.

    If it is still open then, it is sent again. Exits with 3 if no open alarm has this number.
    """
    from bms_flows.monitoring import alarms
    from bms_flows.runtime.notice import Links
    from bms_flows.runtime.settings import FlowSettings

    settings, who = FlowSettings.from_environment(), name or _user()
    try:
        end = end_of(until, datetime.now(UTC), settings.time_zone)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--until") from None
    with connected(url) as engine, engine.begin() as connection:
        found = alarms.acknowledge(connection, number, end, name=who, note=note)
    if not found:
        show_error(f"No open alarm has the number {number}: `bms status` lists the open alarms.")
        raise typer.Exit(NOTHING_FOUND)
    result = {"alarm": number, "until": end.isoformat(), "by": who, "note": note}
    shown = Links.of(settings).time(end)
    show_result(as_json, result, [f"Nothing is sent about alarm {number} until {shown}."])


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        raise typer.BadParameter(
            "this user has no name: give one with --name", param_hint="--name"
        ) from None


def end_of(text: str, now: datetime, zone: ZoneInfo) -> datetime:
    """Return the end of an acknowledgement; raise `ValueError`, which names the accepted forms. Pure."""
    local = now.astimezone(zone)
    if length := re.fullmatch(r"(\d{1,4})([mhd])", text):
        end = now + timedelta(**{UNITS[length[2]]: int(length[1])})
    elif text == "tomorrow":
        end = datetime.combine(local.date() + timedelta(days=1), MORNING, zone)
    elif re.fullmatch(r"\d{1,2}:\d\d", text):
        end = datetime.combine(local.date(), time.fromisoformat(text.zfill(5)), zone)
        end += timedelta(days=1) * (end <= local)
    else:
        try:
            end = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(
                f"{text} is not a time: write 8h, 2d, tomorrow, 17:30 or 2026-11-30T08:00"
            ) from None
        end = end if end.tzinfo else end.replace(tzinfo=zone)
    if not now < end <= now + LONGEST:
        raise ValueError(f"{text} is not within the next {LONGEST.days} days")
    return end.astimezone(UTC)


def accept_invalid(
    url: Url,
    resource: Annotated[str, typer.Argument(help="Table of the rows.")],
    field: Annotated[str, typer.Argument(help="Invalid field; empty for the whole row.")],
    code: Annotated[str, typer.Argument(help="Code of the error.")],
    name: Annotated[str, typer.Option(callback=given, help="Who accepts the rows.")],
) -> None:
    """Accept rows that stay invalid, so that their alarm closes.

    Exits with 3 if there are no such rows.
    """
    from bms_flows.monitoring import quarantine_alarms

    with connected(url) as engine, engine.begin() as connection:
        rows = quarantine_alarms.accept(connection, resource, field, code, name)
    show(f"{rows} rows accepted.")
    raise typer.Exit(0 if rows else NOTHING_FOUND)


def accept_numbers(
    url: Url,
    entity: Annotated[int, typer.Argument(help="Entity of the invoices.")],
    numbers: Annotated[str, typer.Argument(help="Missing number, or the pattern of its series.")],
    name: Annotated[str, typer.Option(callback=given, help="Who accepts the numbers.")],
    reason: Annotated[str, typer.Option(callback=given, help="Why these invoices do not exist.")],
) -> None:
    """Accept missing invoice numbers, so that their alarm closes.

    Exits with 3 if there are no such numbers.
    """
    from bms_flows.monitoring import number_alarms

    with connected(url) as engine, engine.begin() as connection:
        accepted = number_alarms.accept(connection, entity, numbers, name, reason)
    show(f"{accepted} numbers accepted.")
    raise typer.Exit(0 if accepted else NOTHING_FOUND)
