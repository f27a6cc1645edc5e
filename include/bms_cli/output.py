"""Output of the command: text or JSON on standard output, errors on standard error, exit codes."""

import json
from typing import Any

from rich.console import Console
from rich.table import Table

FAILED = 1
USAGE = 2
NOTHING_FOUND = 3


def _console(*, stderr: bool = False) -> Console:
    return Console(stderr=stderr, highlight=False, markup=False, soft_wrap=True)


def show(text: str) -> None:
    """Print a line of text."""
    _console().print(text)


def show_json(result: dict[str, Any]) -> None:
    """Print the result as JSON, for scripts."""
    _console().out(json.dumps(result, indent=2))


def show_error(text: str) -> None:
    """Print an error."""
    _console(stderr=True).print(text)


def show_health(report: dict[str, Any]) -> None:
    """Print a health report as tables: flows, then open alarms."""
    never = [name for name, each in report.get("flows", {}).items() if each["state"] == "never_ran"]
    known = len(report.get("flows", {}))
    ran = f", {known - len(never)} of {known} flows have run" if known else ""
    flows = Table(title=f"Health: {report['state']}{ran}, {report['at']}", title_justify="left")
    for name in ("Flow", "State", "Last complete load", "Age", "Limit"):
        flows.add_column(name)
    for flow, state in report.get("flows", {}).items():
        flows.add_row(
            flow,
            state["state"],
            state["complete_at"] or "-",
            _hours(state["age_s"]),
            _hours(state["limit_s"]),
        )
    _console().print(flows, soft_wrap=False)
    for alarm in report.get("alarms", ()):
        show(
            f"Alarm {alarm['subject']} ({alarm['code']}) since {alarm['since']}: {alarm['detail']}"
        )
    if never:
        show(
            f"Never ran: {', '.join(never)}. A flow that never runs raises an alarm once other flows have run"
            " for longer than its limit. Unpause the DAGs that you use with `airflow dags unpause <DAG id>`,"
            " and switch the target of the others off in BMS_FRESH_HOURS."
        )
    if reason := report.get("reason"):
        show(f"The state is unknown: {reason}")


def _hours(seconds: int | None) -> str:
    return "-" if seconds is None else f"{seconds // 3600} h {seconds % 3600 // 60} min"
