"""Commands `demo` and `up` of the local stack: Airflow, PostgreSQL and the sandbox on loopback."""

import argparse
import os
from collections.abc import Callable

from bms_flows.catalog import FLOWS
from stack import demo
from stack.launcher import Running, Stack
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
    environ = dict(os.environ)
    options = arguments(argv, environ)
    paths = StackPaths.from_environ(environ)
    progress = Progress(read_json_cache(paths.durations))
    stack = Stack(
        paths,
        {**environ, **demo.ENVIRONMENT} if options.command == "demo" else environ,
        progress=progress,
        pause=signals.pause,
        port=options.port,
        sandbox_port=options.sandbox_port,
        command=f"make {options.command}",
    )
    command = {"demo": _demo, "up": _up}[options.command]
    try:
        code = _exit_code(progress, lambda: command(stack, stack.start(), signals))
    finally:  # an unexpected exception must not leave processes behind either
        stop_code = _exit_code(progress, stack.stop)
    return code or stop_code


def _exit_code(progress: Progress, action: Callable[[], None]) -> int:
    """Run an action, print its StackError or signal, and return the exit code."""
    try:
        action()
    except StackError as error:
        progress.close()
        progress.print(f"\n{error}")
        return 1
    except InterruptedBySignal as signal:
        progress.close()
        progress.print(f"\n{signal}")
        return signal.exit_code
    return 0


def _demo(stack: Stack, running: Running, signals: SignalHandler) -> None:
    scenarios = scenarios_for(running)
    for number, scenario in enumerate(scenarios, 1):
        stack.progress.print(f"\nScenario {number} of {len(scenarios)}: {scenario.title}")
        took = demo.run_scenario(scenario, running, stack.progress, signals.pause, stack.check)
        stack.save_durations({scenario.name: took})
    stack.progress.print(
        f"\nThe demo succeeded: {len(scenarios)} DAG runs through Airflow's scheduler.\n"
        f"Files:  {running.data_root} (inbox, reports, stored responses of the service)\n"
        f"Logs:   {running.paths.logs}\n"
        "Next:   `make up` starts the same stack and leaves it running, with Airflow's page and the\n"
        "        warehouse's tables; README.md explains the project.\n"
    )


def _up(stack: Stack, running: Running, signals: SignalHandler) -> None:
    for flow in FLOWS.values():
        if flow.unpause_group == "onboarding":
            running.api.set_paused(flow.dag_id, paused=False)
    stack.progress.print(
        "\nThe stack is running.\n"
        f"Airflow:    {running.url} (the board: {running.url}/bms/)\n"
        f"User:       {running.user}\n"
        f"Password:   {running.password}\n"
        f"Warehouse:  {running.warehouse} (schema bms)\n"
        f"Inbox:      {running.data_root}/inbox; DAGs process the files dropped there.\n"
        "Other DAGs: paused; trigger or unpause them on Airflow's page.\n"
        "Ctrl-C stops everything.\n"
    )
    while True:
        signals.pause()
        stack.check()
