"""Fault injection that kills a task once, at one of its durable steps.

A step is the moment before or after a COMMIT, a rename, or a creation request. Wrappers around these
calls count the steps of each task of each run in a separate file. A file `<run>.order` names the task
and the step at which to kill its process. The DAG files of the tested stack install the wrappers.
"""

import fcntl
import json
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

FOLDER = "KILLS_FOLDER"
"""Variable that names the folder of the orders and the counts."""
RETRY_DELAY = timedelta(seconds=2)


def arm() -> None:
    """Wrap commits, renames and sends, and shorten the wait between tries, in this process."""
    from airflow.sdk.definitions import dag as _  # noqa: F401 - Airflow is whole before its parts are wrapped

    from bms_provider import policy
    from proofs import interruptions

    if getattr(policy, "armed", False):
        return
    policy.armed = True  # type: ignore[attr-defined]  # of this process only
    arguments = policy.dag_arguments

    def quick(*tags: str, **given: Any) -> dict[str, Any]:
        made = arguments(*tags, **given)
        made["default_args"] |= {"retry_delay": RETRY_DELAY, "retry_exponential_backoff": False}
        return made

    policy.dag_arguments = quick
    interruptions.wrap_durable(lambda _point: step())
    os.replace = _around(os.replace)
    os.rename = _around(os.rename)


def _around(act: Callable[..., Any]) -> Callable[..., Any]:
    def stepped(*arguments: Any, **given: Any) -> Any:
        step()
        done = act(*arguments, **given)
        step()
        return done

    return stepped


def step() -> None:
    """Count a step of the current task; kill this process if an order names the step."""
    folder = Path(os.environ.get(FOLDER) or ".")
    task = _task()
    if task is None or FOLDER not in os.environ:
        return
    run, name = task
    with (folder / f"{run}.{name}.steps").open("a+") as counted:
        fcntl.flock(counted, fcntl.LOCK_EX)
        counted.write(".")
        counted.flush()
        number = counted.tell()
    order = folder / f"{run}.order"
    if order.exists() and json.loads(order.read_text()) == [name, number]:
        (folder / f"{run}.killed").write_text(f"{name} {number}")
        order.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def _task() -> tuple[str, str] | None:
    """Return the run and the task of this process, or None."""
    from airflow.sdk import get_current_context

    try:
        context = get_current_context()
    except RuntimeError:
        return None
    return context["dag_run"].run_id, context["ti"].task_id
