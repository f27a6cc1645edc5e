"""Commands `demo` and `up` of the local stack: Airflow, PostgreSQL and the sandbox on loopback."""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bms_flows.catalog import FLOWS
from stack import airflow, browser, demo
from stack.launcher import IDLE_GRACE, Stack
from stack.paths import StackPaths, read_json_cache
from stack.processes import StackError
from stack.progress import Progress
from stack.scenarios import scenarios_for
from stack.signals import InterruptedBySignal, SignalHandler


def arguments(argv: list[str] | None, environ: dict[str, str]) -> argparse.Namespace:
    """Parse the command line; the environment provides the default ports."""
    parser = argparse.ArgumentParser(prog="python -m stack", description=__doc__)
    parser.add_argument(
        "command",
        choices=["demo", "up"],
        help="demo: start the stack, run the scenarios, stop; up: run the stack until Ctrl-C",
    )
    for option, variable, service in (
        ("--port", "BMS_STACK_PORT", "Airflow's page and API"),
        ("--sandbox-port", "BMS_SANDBOX_PORT", "the sandbox service"),
    ):
        parser.add_argument(
            option,
            type=int,
            default=environ.get(variable),
            metavar="N",
            help=f"loopback port of {service} (default: ${variable}, otherwise any free port)",
        )
    return parser.parse_args(argv)


def main(signals: SignalHandler, argv: list[str] | None = None) -> int:
    """Run a command and return 0 on success, 1 on failure, 128 + number after a signal."""
    began = time.monotonic()
    environ = dict(os.environ)
    options = arguments(argv, environ)
    is_demo = options.command == "demo"
    paths = StackPaths.from_environ(environ)
    progress = Progress(read_json_cache(paths.durations))
    stack = Stack(
        paths,
        {**demo.SETTLE, **environ, **demo.ENVIRONMENT} if is_demo else environ,
        progress=progress,
        pause=signals.pause,
        port=options.port,
        sandbox_port=options.sandbox_port,
        command=f"make {options.command}",
        without=demo.UNUSED if is_demo else (),
    )
    command = {"demo": _demo, "up": _up}[options.command]
    try:
        code = _exit_code(progress, lambda: command(stack, signals))
    finally:  # an unexpected exception must not leave processes behind either
        stop_code = _exit_code(progress, stack.stop)
    if is_demo and not (code or stop_code):
        progress.row("Took", f"{time.monotonic() - began:.0f} s, with start and stop")
    return code or stop_code


def _exit_code(progress: Progress, action: Callable[[], None]) -> int:
    """Run an action, print its StackError or signal, and return the exit code."""
    try:
        action()
    except StackError as error:
        progress.end()
        progress.print(f"\n{error}")
        return 1
    except InterruptedBySignal as signal:
        progress.end()
        progress.print(f"\n{signal}")
        return signal.exit_code
    return 0


def _demo(stack: Stack, signals: SignalHandler) -> None:
    progress, paths = stack.progress, stack.paths
    start = "start" if paths.durations.exists() else "first start"
    progress.print(
        f"Airflow {airflow.version()}, PostgreSQL and a sandbox in place of the service run on this"
        f" machine: about {progress.expected(start, 'scenarios', 'stop')} s.\n"
    )
    running = stack.start()
    progress.begin("scenarios")
    scenarios = scenarios_for(running)
    reports = demo.run_scenarios(scenarios, running, progress, signals.pause, stack.check)
    stack.save_durations({"scenarios": progress.end()})
    stack.grace = IDLE_GRACE
    proofs = [report.proof for report in reports if report.proof]
    if proofs:
        progress.print(f"\n{progress.bold('Proven')} by comparison with the sandbox's own records:")
    for subject, finding in proofs:
        progress.print(f"  {subject:15}{finding}")
    progress.print("")
    data = running.data_root.removeprefix("file://")
    progress.row("Files", f"{data}: inbox, reports, raw responses")
    progress.row("Logs", str(paths.logs))
    progress.row("Next", "make up: the same stack until Ctrl-C, with Airflow's pages and the board")


def _up(stack: Stack, signals: SignalHandler) -> None:
    progress = stack.progress
    start = "start" if stack.paths.durations.exists() else "first start"
    progress.print(f"Starting the local stack; about {progress.expected(start)} s.")
    running = stack.start()
    for flow in FLOWS.values():
        if flow.unpause_group == "onboarding":
            running.api.set_paused(flow.dag_id, paused=False)
    running.api.parse("inbox_dispatch")
    board = f"{running.url}/bms/"
    inbox = Path(f"{running.data_root.removeprefix('file://')}/inbox/employees")
    if running.data_root.startswith("file://"):
        inbox.mkdir(parents=True, exist_ok=True)
    user, password = progress.bold(running.user), progress.bold(running.password)
    progress.print(
        f"\nThe stack runs until Ctrl-C. Sign in as {user} with the password {password}\n"
    )
    progress.row("Board", board, "Flows, dropped files, alarms, and what waits for a decision.")
    progress.row(
        "Airflow",
        f"{running.url}/dags",
        "Trigger invoice_extraction or contact_sync. Only the onboarding DAGs are unpaused.",
    )
    progress.row(
        "Approvals",
        f"{running.url}/required_actions",
        "Copy include/samples/nouveaux_salaries.csv to the inbox, wait a minute, then approve.",
    )
    progress.row("Inbox", str(inbox))
    progress.row(
        "Warehouse", running.warehouse, "Schema bms; docs/how-to/sql-recipes.md has queries."
    )
    progress.print("")
    program = browser.command(os.environ, sys.platform, on_terminal=progress.on_terminal)
    opened = browser.open_page(program, board) if program else None
    if opened:
        progress.print(f"The board opens in {program}; set BROWSER= (empty) to prevent this.\n")
    while True:
        signals.pause()
        stack.check()
