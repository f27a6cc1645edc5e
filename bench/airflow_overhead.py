"""Overhead of Airflow and of our tasks; writes Markdown.

    python -m bench.airflow_overhead [--repeat 5]

One day of one entity through the real scheduler, from trigger to loaded; the parse time of each DAG
file and the import time of the provider, each in a fresh interpreter on top of Airflow's own; the
size of every XCom that a run of each DAG leaves.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from stack.launcher import Running, running
from tests.support.measurement import PROJECT, load_average
from tests.support.published import stamp

RESULTS = PROJECT / "bench/results"
DAY = "2026-03-03"
DONE = {"success", "failed"}
LIMIT = 300.0

IMPORT = """
import json, sys, time
import airflow.sdk, airflow.configuration, airflow.sdk.log, airflow.sdk.exceptions
from airflow.sdk import (
    DAG, Asset, AssetAlias, AssetWatcher, BaseAsyncOperator, BaseHook, CronDataIntervalTimetable,
    CronTriggerTimetable, ObjectStoragePath, Param, RetryPolicy, dag, get_current_context, task,
)
started, worked = time.perf_counter(), time.process_time()
{what}
print(json.dumps([time.perf_counter() - started, time.process_time() - worked]))
"""
PROVIDER = """
import importlib, pkgutil
import bms_provider.hooks.bms, bms_provider.operators, bms_provider.policy
for each in pkgutil.iter_modules(bms_provider.operators.__path__, "bms_provider.operators."):
    importlib.import_module(each.name)
"""


@dataclass(frozen=True)
class Run:
    """Seconds of one run: from trigger to loaded and to its end, of its tasks, of our work in them."""

    loaded: float
    ended: float
    tasks: float
    ours: float


def fresh(what: str, home: str, repeat: int) -> tuple[float, float]:
    """Return the median seconds, of the clock and of the processor, that code takes beyond Airflow."""
    took = []
    for _ in range(repeat):
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-W", "ignore", "-c", IMPORT.format(what=what)],
            env={**os.environ, "AIRFLOW_HOME": home},
            cwd=PROJECT,
            check=True,
            capture_output=True,
            text=True,
        )
        took.append(json.loads(done.stdout.splitlines()[-1]))
    return median(each[0] for each in took), median(each[1] for each in took)


@contextmanager
def stack() -> Iterator[Running]:
    """Run the local stack with its files in a separate folder."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW", "BMS_"))}
    with tempfile.TemporaryDirectory() as folder:
        given = {"BMS_LOCAL_DIR": folder, "BMS_APPROVAL": "never", "BMS_SETTLE_S": "1"}
        with running({**own, **given}) as found:
            yield found


def run(
    up: Running, dag: str, number: int, conf: Mapping[str, Any]
) -> tuple[str, float, dict[str, Any]]:
    """Trigger a run; return its id, when it was asked for, and how it ended."""
    asked = time.time()
    run_id = up.api.trigger(dag, f"overhead-{number}", conf)
    end = time.monotonic() + LIMIT
    while (found := up.api.run(dag, run_id))["state"] not in DONE:
        if time.monotonic() > end:
            raise TimeoutError(f"{dag} has not ended: {found['state']}")
        time.sleep(0.2)
    if found["state"] != "success":
        ends = [(task["task_id"], task["state"]) for task in up.api.tasks(dag, run_id)]
        raise RuntimeError(f"{dag} ended as {found['state']}: {ends}")
    return run_id, asked, found


def one_day(up: Running, number: int) -> Run:
    """Extract one day of one entity."""
    conf = {"start_date": DAY, "end_date": DAY, "entities": [1]}
    run_id, asked, found = run(up, "invoice_extraction", number, conf)
    tasks = up.api.tasks("invoice_extraction", run_id)
    with psycopg.connect(up.warehouse) as connection:
        steps = connection.execute(
            "select step, started_at, finished_at from bms.step_run where dag_run_id = %s", [run_id]
        ).fetchall()
    return Run(
        loaded=max(end for _, _, end in steps).timestamp() - asked,
        ended=datetime.fromisoformat(found["end_date"]).timestamp() - asked,
        tasks=sum(each["duration"] for each in tasks),
        ours=sum((end - start).total_seconds() for _, start, end in steps),
    )


def every_dag(up: Running) -> None:
    """Let every DAG run once, the drops' through their inboxes."""
    sample = PROJECT / "include/samples/nouveaux_salaries.csv"
    inbox = Path(up.data_root.removeprefix("file://")) / "inbox/employees"
    inbox.mkdir(parents=True, exist_ok=True)
    (inbox / sample.name).write_bytes(sample.read_bytes())
    drops = {"inbox_dispatch", "employee_onboarding", "contact_creation", "consultant_creation"}
    for dag in drops:
        up.api.set_paused(dag, paused=False)
    for dag in sorted({each["dag_id"] for each in up.api.dags()} - drops - {"invoice_extraction"}):
        up.api.set_paused(dag, paused=False)
        run(up, dag, 0, {})
    with psycopg.connect(up.warehouse) as connection:
        end = time.monotonic() + LIMIT
        while not connection.execute(
            "select 1 from bms.dropped_file where state <> %s", ["open"]
        ).fetchone():
            connection.rollback()
            if time.monotonic() > end:
                raise TimeoutError("the dropped sample has not ended")
            time.sleep(0.5)


def xcoms(up: Running) -> list[tuple[str, str, int]]:
    """Return the biggest XCom of each task, in bytes."""
    metadata = up.environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"].replace("+psycopg2", "")
    with psycopg.connect(metadata) as connection:
        return connection.execute(
            "select dag_id, task_id, max(octet_length(value::text))::int from xcom"
            " group by 1, 2 order by 1, 2"
        ).fetchall()


def table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def main() -> None:
    """Measure, print and keep the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeat", type=int, default=5)
    given = options.parse_args()
    load = load_average()
    with tempfile.TemporaryDirectory() as home:
        provider = fresh(PROVIDER, home, given.repeat)
        files = sorted((PROJECT / "dags").glob("*.py"))
        parsed = [
            (file.name, fresh(f"import runpy; runpy.run_path({str(file)!r})", home, given.repeat))
            for file in files
        ]
    with stack() as up:
        up.api.set_paused("invoice_extraction", paused=False)
        one_day(up, -1)  # the first loads what the next find loaded
        runs = [one_day(up, number) for number in range(given.repeat)]
        every_dag(up)
        sizes = xcoms(up)
    spans = {
        name: sorted(getattr(each, name) for each in runs)
        for name in ("loaded", "ended", "tasks", "ours")
    }
    said = {
        "loaded": "trigger to loaded",
        "ended": "trigger to the run's end",
        "tasks": "the tasks, their processes' start included",
        "ours": "our work in them, as `bms.step_run` has it",
    }
    text = "\n\n".join(
        [
            "# What Airflow adds, and what of it is ours",
            (
                f"{stamp()} {given.repeat} repetitions, medians; "
                f"load average at the start {load:.1f}."
            ),
            "## One day of one entity, through the real scheduler",
            table(
                ("what", "s", "range"),
                [
                    (
                        text,
                        f"{median(spans[name]):.1f}",
                        f"{spans[name][0]:.1f} to {spans[name][-1]:.1f}",
                    )
                    for name, text in said.items()
                ],
            ),
            "## Parsing and importing, beyond Airflow's own imports",
            table(
                ("what", "ms", "ms of the processor"),
                [
                    (
                        "hook, operators and policy",
                        f"{provider[0] * 1000:.0f}",
                        f"{provider[1] * 1000:.0f}",
                    ),
                    *(
                        (name, f"{wall * 1000:.0f}", f"{cpu * 1000:.0f}")
                        for name, (wall, cpu) in parsed
                    ),
                ],
            ),
            "## XComs",
            table(("DAG", "task", "biggest, bytes"), list(sizes)),
            "",
        ]
    )
    print(text)
    (RESULTS / "airflow_overhead.md").write_text(text)


if __name__ == "__main__":
    main()
