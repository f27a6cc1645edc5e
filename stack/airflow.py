"""Environment variables and commands of the stack's Airflow processes."""

import importlib.metadata
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from stack.paths import Secrets, StackPaths, write_private_json

USER = "admin"
HOST = "127.0.0.1"
PYTHON = (sys.executable, "-P")  # -P: do not import from the checkout's root
COMMAND = (*PYTHON, "-m", "airflow")
# The executor forks a process for each task: what the scheduler has imported, no task imports again.
PRELOADED = (
    "import bms_provider.callbacks, bms_provider.operators.flows.drops, bms_provider.operators.flows.loads,"
    " bms_flows.onboarding.onboarding, bms_flows.invoices.run, bms_flows.mirror.run;"
    "from airflow.__main__ import main; main()"
)
LOOPBACK = f"{HOST},localhost"
ENVIRONMENT = Path(__file__).with_name("environment.toml")


def environment(
    environ: Mapping[str, str],
    paths: StackPaths,
    secrets: Secrets,
    *,
    database: str,
    port: int,
    warehouse: str,
) -> dict[str, str]:
    """Return the environment of every process: defaults, then the user's, then required values.

    `database` is the SQLAlchemy URL of Airflow's metadata database, `warehouse` the default of the
    connection `bms_warehouse` in Airflow's JSON form.
    """
    given = {
        "paths": paths,
        "secrets": secrets,
        "database": database,
        "host": HOST,
        "port": port,
        "user": USER,
        "warehouse": warehouse,
    }
    declared = tomllib.loads(ENVIRONMENT.read_text())
    defaults, required = (
        {name: value.format_map(given) for name, value in declared[part].items()}
        for part in ("defaults", "required")
    )
    # A proxy of the company cannot reach this machine's loopback.
    no_proxy = {
        name: ",".join(filter(None, (environ.get(name), LOOPBACK)))
        for name in ("NO_PROXY", "no_proxy")
    }
    return {**defaults, **environ, **no_proxy, **required}


def write_passwords(paths: StackPaths, secrets: Secrets) -> None:
    """Set the user's password; SimpleAuthManager would otherwise generate one and print it."""
    write_private_json(paths.passwords, {USER: secrets.password})


def components(port: int) -> dict[str, tuple[str, ...]]:
    """Return the command of each of Airflow's long-running processes.

    Scheduler and triggerer run without their log servers, which would listen on all addresses.
    """
    return {
        "api-server": (*COMMAND, "api-server", "--host", HOST, "--port", str(port)),
        "scheduler": (*PYTHON, "-c", PRELOADED, "scheduler", "--skip-serve-logs"),
        "dag-processor": (*COMMAND, "dag-processor"),
        "triggerer": (*COMMAND, "triggerer", "--skip-serve-logs"),
    }


def version() -> str:
    """Return Airflow's version without importing Airflow, which takes seconds."""
    return importlib.metadata.version("apache-airflow-core")
