"""What `make demo` plays on the running stack: acts, each a DAG run and the table that tells of it."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import RenderableType
from rich.table import Table

from stack import airflow
from stack.launcher import Running
from stack.processes import TAIL, StackError
from stack.progress import Progress

DAYS = 7
LIMIT = 180.0
PREFIX = "demo__"
LOOK_EVERY = 0.5
TROUBLED = {"failed", "up_for_retry"}
COUNTS = ("inserted", "changed", "unchanged", "quarantined")
SUMS = ("total_excl_vat", "total_vat", "total_incl_vat", "total_due")


@dataclass(frozen=True)
class Act:
    """One DAG run of the demo: its conf from today's date, its tables from bms.run."""

    dag_id: str
    conf: Callable[[date], Mapping[str, Any]]
    tables: Callable[[Sequence[Mapping[str, Any]]], list[RenderableType]]


def last_complete_days(today: date) -> dict[str, str]:
    """Return the last days that are over, both ends inclusive."""
    return {
        "start_date": (today - timedelta(days=DAYS)).isoformat(),
        "end_date": (today - timedelta(days=1)).isoformat(),
    }


def extraction_tables(steps: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """Return what an extraction read and changed, and its totals per currency."""
    steps = sorted(steps, key=lambda row: (row["id_entity"], row["window_start"]))
    return [
        _table(
            "Invoices",
            ("entity", "days", "read", *COUNTS, "state"),
            (
                (
                    row["id_entity"],
                    _days(row),
                    row["rows_read"],
                    *(row[c] for c in COUNTS),
                    row["state"],
                )
                for row in steps
            ),
        ),
        _table(
            "Totals per currency",
            ("entity", "currency", "invoices", *(name.removeprefix("total_") for name in SUMS)),
            (
                (row["id_entity"], currency, sums["invoices"], *(_money(sums[s]) for s in SUMS))
                for row in steps
                for currency, sums in sorted(row["totals"].items())
            ),
        ),
    ]


# Unpausing a DAG would else let its schedule run beside the run that the demo asks for.
ENVIRONMENT = {"AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False"}

ACTS = (Act("invoice_extraction", last_complete_days, extraction_tables),)


def perform(
    act: Act,
    running: Running,
    progress: Progress,
    pause: Callable[[], None],
    check: Callable[[], None],
) -> float:
    """Run one act to its end and print its tables; return the seconds of the DAG run.

    Raises StackError with the end of the failed tasks' logs when the run fails or outlasts LIMIT.
    """
    api = running.api
    began = time.monotonic()
    progress.announce([act.dag_id])
    progress.begin(act.dag_id)
    for left in api.active_runs(act.dag_id):
        if left.startswith(PREFIX):  # of a demo that was interrupted; it would run beside this one
            api.fail(act.dag_id, left)
    now = datetime.now(UTC)
    run_id = api.trigger(act.dag_id, f"{PREFIX}{now:%Y-%m-%dT%H:%M:%S.%f}", act.conf(now.date()))
    api.pause(act.dag_id, paused=False)

    def finished() -> bool:
        state = str(api.run(act.dag_id, run_id)["state"])
        tasks = Counter(str(task["state"]) for task in api.tasks(act.dag_id, run_id))
        told = ", ".join(f"{count} {name}" for name, count in sorted(tasks.items()))
        progress.note(act.dag_id, f"{state}; tasks: {told or 'none yet'}")
        if state == "failed":
            raise StackError(_failure(act.dag_id, run_id, running))
        return state == "success"

    looked = 0.0
    while True:
        pause()
        check()
        progress.tick()
        if time.monotonic() - looked > LOOK_EVERY:
            looked = time.monotonic()
            if finished():
                break
            if looked - began > LIMIT:
                failure = _failure(act.dag_id, run_id, running)
                raise StackError(f"after {LIMIT:.0f} s it still runs.\n{failure}")
    api.pause(act.dag_id, paused=True)
    took = time.monotonic() - began
    progress.done(act.dag_id, took)
    progress.settle()
    for table in act.tables(_summary(running.warehouse, run_id)):
        progress.say("")
        progress.say(table)
    return took


def conclude(running: Running, progress: Progress) -> None:
    """Say where everything is and what to look at next."""
    progress.say(
        "\n"
        f"Files:   {running.data_root}\n"
        f"Tables:  schema bms in {running.warehouse} (while the stack runs)\n"
        f"Logs:    {running.place.logs}\n"
        "Next:    `make up` leaves the same stack running, with Airflow's page; "
        "README.md explains the rest.\n"
    )


def _summary(warehouse: str, run_id: str) -> list[dict[str, Any]]:
    """Return what the warehouse knows of a run."""
    from bms_warehouse import database, queries  # noqa: PLC0415 - a second, when it is needed

    engine = database.connect(warehouse)
    try:
        with engine.connect() as connection:
            steps = queries.run_summary(connection, run_id)
    finally:
        engine.dispose()
    if not steps:
        raise StackError(f"the run {run_id} succeeded and left no line in bms.run")
    return steps


def _table(title: str, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Table:
    # Fits a terminal of 80 columns.
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE,
        padding=0,
        show_edge=False,
    )
    for column in columns:
        words = column in {"entity", "days", "state", "currency"}
        table.add_column(
            column.replace("_", " "), justify="left" if words else "right", no_wrap=True
        )
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    return table


def _days(row: Mapping[str, Any]) -> str:
    first, last = row["window_start"], row["window_end"]
    return f"{first}/{last:%m-%d}" if first else ""


def _money(amount: Decimal) -> str:
    """Return an amount with two decimals, or with all it has: nothing is rounded away."""
    exponent = amount.normalize().as_tuple().exponent
    return f"{amount:,.{max(2, -exponent) if isinstance(exponent, int) else 2}f}"


def _failure(dag_id: str, run_id: str, running: Running) -> str:
    """Return which tasks of a run are in trouble, and the end of each one's log."""
    told = [f"{dag_id}: the run {run_id} did not succeed."]
    folder = airflow.task_logs(running.place) / f"dag_id={dag_id}" / f"run_id={run_id}"
    for task in running.api.tasks(dag_id, run_id):
        if task["state"] in TROUBLED:
            place = folder / f"task_id={task['task_id']}"
            if task["map_index"] >= 0:
                place /= f"map_index={task['map_index']}"
            logs = sorted(place.glob("attempt=*.log"), key=lambda log: log.stat().st_mtime)
            told.append(f"Task {task['task_id']} is {task['state']}.")
            told.extend(_readable(log) for log in logs[-1:])
    told.append("Mend it and run `make demo` again, or look at the run under `make up`.")
    return "\n".join(told)


def _readable(log: Path) -> str:
    """Return the last lines of a task's log, which Airflow writes as JSON, as text."""
    lines = [f"Last lines of {log}:"]
    for line in log.read_text(errors="replace").splitlines()[-TAIL:]:
        try:
            entry = json.loads(line)
        except ValueError:
            lines.append(f"  {line}")
            continue
        lines.append(f"  {entry.get('level', '')}: {entry.get('event', '')}")
        lines.extend(
            f"    {error.get('exc_type')}: {error.get('exc_value')}"
            for error in entry.get("error_detail", [])
        )
    return "\n".join(lines)
