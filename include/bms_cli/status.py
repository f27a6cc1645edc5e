"""Commands on the state of all flows: `status`, and `health` for cron."""

import os
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bms_cli.options import Json, Url
from bms_cli.output import FAILED, UNKNOWN, WELL, show, show_error, show_json, show_table
from bms_cli.warehouse import connect, connected
from bms_flows.runtime.settings import FlowSettings, InvalidSetting

if TYPE_CHECKING:
    from bms_flows.runtime.notice import Links


def status(url: Url, as_json: Json = False) -> None:
    """Show every flow, what waits for whom, and the open alarms with severity and remedy.

    Exits with 0 if all flows are healthy, with 1 if an alarm is open or a flow is late.
    """
    from bms_flows.monitoring.status import status as read
    from bms_flows.onboarding.settings import OnboardingSettings

    settings = OnboardingSettings.from_environment()
    with connected(url) as engine, engine.connect() as connection:
        found = read(connection, settings)
    show_json(found) if as_json else _show(found, settings)
    raise typer.Exit(WELL if found["state"] == "well" else FAILED)


def health(
    url: Url,
    notify: Annotated[
        bool,
        typer.Option(
            "--notify",
            help="Open and close alarms, and notify through BMS_NOTICE_WEBHOOK and BMS_NOTICE_SMTP.",
        ),
    ] = False,
    memory: Annotated[
        Path | None,
        typer.Option(help="File that records a notified outage of the warehouse."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check the freshness of all flows, independently of Airflow.

    Exits with 0 if all flows are healthy, 1 if not, and 2 if the state is unknown.
    """
    from bms_flows.monitoring import health as checks
    from bms_flows.monitoring.channels import channels
    from bms_flows.runtime.notice import NotDelivered, broadcast

    settings = FlowSettings.from_environment()
    configured = channels(settings)
    if notify and not configured:
        raise InvalidSetting("--notify needs a channel: BMS_NOTICE_WEBHOOK or BMS_NOTICE_SMTP")
    engine, file = connect(url), memory or checks.state_file(os.environ)
    try:
        report, code = checks.check(engine, settings, notify=notify)
        if notify:
            checks.deliver(engine, settings, broadcast(configured), checks.OutageFile(file), code)
    except NotDelivered as error:
        show_error(f"bms health: {error}")
        code = UNKNOWN
    except OSError as error:
        show_error(
            f"bms health: {file} can't be written ({error.strerror}), so each run notifies the outage "
            "again. Set --memory to a file that persists between runs"
        )
        code = UNKNOWN
    finally:
        engine.dispose()
    show_json(report) if as_json else _show(report, settings)  # last: its disk may be full
    raise typer.Exit(code)


def _show(report: Mapping[str, Any], settings: FlowSettings) -> None:
    """Print a report: flows, pending items, open alarms; times in the company's zone."""
    from bms_flows.runtime.notice import Links

    links = Links.of(settings)
    if reason := report.get("reason"):
        show(f"{_local(report['at'], links)}: the state is unknown: {reason}")
        return
    flows: Mapping[str, Any] = report["flows"]
    alarming = {alarm["flow"] for alarm in report["alarms"]}
    never = [n for n, each in flows.items() if each["state"] == "never_ran" and n not in alarming]
    show_table(
        f"Health: {_counted(flows)}, {_local(report['at'], links)}",
        ("Flow", "State", "Age", "Limit", "Last complete load", "Last run"),
        [
            (
                name,
                each["state"],
                _hours(each["age_s"]),
                _hours(each["limit_s"]) + (f", by {by}" if (by := each["deadline"]) else ""),
                _local(each["complete_at"], links)
                + (f", has {day}" if (day := each["newest_day"]) else ""),
                _run(each.get("last_run"), links),
            )
            for name, each in flows.items()
        ],
    )
    for item in report.get("waits", ()):
        show(f"Waits for {item['waits_for']} since {_local(item['since'], links)}: {item['what']}")
        if item["why"]:
            show(f"  {item['why']}")
    for alarm in report["alarms"]:
        show(
            f"Alarm {alarm['id']}, {alarm['severity']}: {alarm['subject']} ({alarm['code']}) since "
            f"{_local(alarm['since'], links)}: {alarm['detail']}"
        )
        if who := alarm["acknowledged"]:
            show(
                f"  Acknowledged by {who['by']} until {_local(who['until'], links)}: {who['note']}"
            )
        show(f"  Can it wait: {alarm['wait']}\n  What to do: {alarm['remedy']}")
    if never:
        show(
            f"Never ran: {', '.join(never)}. Runs of given days, or of a part of a list, do not count. A flow that"
            " never runs raises an alarm once other flows have run for longer than its limit. If Airflow shows a run as up for retry, the log of its task names the"
            " cause. Otherwise unpause the DAGs that you use with `airflow dags unpause <DAG id>`, and switch"
            " the target of the others off in BMS_FRESH_HOURS."
        )


def _counted(flows: Mapping[str, Any]) -> str:
    """Return how many flows are healthy, need an action and never ran.

    A flow without a target has the state of its last load or drop.
    """
    from bms_flows.monitoring.freshness import BY_SEVERITY

    words = {"never_ran": "never ran"} | dict.fromkeys(BY_SEVERITY[1:], "need an action")
    states = Counter(words.get(each["state"], "healthy") for each in flows.values())
    order = ("healthy", "need an action", "never ran")
    return ", ".join(f"{states[name]} {name}" for name in order if states[name])


def _run(run: Mapping[str, Any] | None, links: "Links") -> str:
    return f"{run['state']}, {_local(run['started_at'], links)}" if run else "-"


def _local(at: str | None, links: "Links") -> str:
    return links.time(datetime.fromisoformat(at)) if at else "-"


def _hours(seconds: int | None) -> str:
    return "-" if seconds is None else f"{seconds // 3600} h {seconds % 3600 // 60} min"
