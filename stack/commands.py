"""The local stack of this checkout: Airflow, PostgreSQL and the sandbox service, on loopback."""

import argparse
import os
from collections.abc import Callable

from stack import acts, demo
from stack.interruption import InterruptedBySignal, Interruption
from stack.launcher import UNPAUSED, Running, Stack
from stack.place import Place, read_kept
from stack.processes import StackError
from stack.progress import Progress


def arguments(argv: list[str] | None, environ: dict[str, str]) -> argparse.Namespace:
    """Return what the command line says; ports may also stand in the environment."""
    parser = argparse.ArgumentParser(prog="python -m stack", description=__doc__)
    parser.add_argument(
        "command",
        choices=["demo", "up"],
        help="demo: start, extract, print a table, stop; up: leave it running until Ctrl-C",
    )
    for option, variable, what in (
        ("--port", "BMS_STACK_PORT", "Airflow's page and API"),
        ("--sandbox-port", "BMS_SANDBOX_PORT", "the sandbox service"),
    ):
        parser.add_argument(
            option,
            type=int,
            default=environ.get(variable),
            metavar="N",
            help=f"loopback port of {what} (default: ${variable}, else any free one)",
        )
    return parser.parse_args(argv)


def main(interruption: Interruption, argv: list[str] | None = None) -> int:
    """Run one command; 0 when all went well, 1 when not, 128 and the number after a signal."""
    environ = dict(os.environ)
    options = arguments(argv, environ)
    place = Place.of(environ)
    progress = Progress(read_kept(place.durations))
    stack = Stack(
        place,
        {**environ, **demo.ENVIRONMENT} if options.command == "demo" else environ,
        progress=progress,
        pause=interruption.pause,
        port=options.port,
        sandbox_port=options.sandbox_port,
        command=f"make {options.command}",
    )
    act = {"demo": _demo, "up": _up}[options.command]
    try:
        code = _ended(progress, lambda: act(stack, stack.start(), interruption))
    finally:  # whatever is not told as a StackError is a defect, and leaves nothing running either
        stopped = _ended(progress, stack.stop)
    return code or stopped


def _ended(progress: Progress, act: Callable[[], None]) -> int:
    """Do something and return the exit code that tells how it ended."""
    try:
        act()
    except StackError as error:
        progress.settle()
        progress.say(f"\n{error}")
        return 1
    except InterruptedBySignal as signal:
        progress.settle()
        progress.say(f"\n{signal}")
        return signal.exit_code
    return 0


def _demo(stack: Stack, running: Running, interruption: Interruption) -> None:
    for act in acts.acts_for(running):
        took = demo.perform(act, running, stack.progress, interruption.pause, stack.check)
        stack.remember({act.name: took})
    demo.conclude(running, stack.progress)


def _up(stack: Stack, running: Running, interruption: Interruption) -> None:
    for dag_id in UNPAUSED:
        running.api.pause(dag_id, paused=False)
    stack.progress.say(
        f"\nAirflow:   {running.url}\n"
        f"user:      {running.user}\n"
        f"password:  {running.password}\n"
        f"warehouse: {running.warehouse}\n"
        "Ctrl-C stops everything.\n"
    )
    while True:
        interruption.pause()
        stack.check()
