"""Environment variables and commands of the stack's Airflow processes."""

import importlib.metadata
import sys
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
    defaults = {
        "AIRFLOW__CORE__DAGS_FOLDER": str(paths.root / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(paths.root / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "4",  # the executor forks all workers at once, 32 by default
        "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
        # Changed and new files are parsed at the next refresh; all others would take half a processor.
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "300",
        "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "1",  # default 5 s delays a slot's release
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "AIRFLOW_CONN_BMS_WAREHOUSE": warehouse,
        "BMS_DATA_ROOT": f"file://{paths.data}",
        "PYTHONUNBUFFERED": "1",
    }
    # The user's values of these could migrate the database of another installation, mix its secrets
    # with the stack's, open a port to the network or start processes that the stack does not manage.
    required = {
        "AIRFLOW_HOME": str(paths.airflow_home),
        "AIRFLOW__API__BASE_URL": f"http://{HOST}:{port}",
        "AIRFLOW__API__HOST": HOST,
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__SECRET_KEY": secrets.api,
        "AIRFLOW__API__SSL_CERT": "",
        "AIRFLOW__API__SSL_KEY": "",
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.jwt,
        "AIRFLOW__CORE__AUTH_MANAGER": (
            "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager"
        ),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://{HOST}:{port}/execution/",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__FERNET_KEY": secrets.fernet,
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(_passwords_file(paths)),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database,
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(task_logs(paths)),
        "AIRFLOW__LOGGING__DAG_PROCESSOR_CHILD_PROCESS_LOG_DIRECTORY": str(
            paths.logs / "dag-files"
        ),
        "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False",
    }
    # A proxy of the company cannot reach this machine's loopback.
    no_proxy = {
        name: ",".join(filter(None, (environ.get(name), LOOPBACK)))
        for name in ("NO_PROXY", "no_proxy")
    }
    return {**defaults, **environ, **no_proxy, **required}


def task_logs(paths: StackPaths) -> Path:
    """Return the folder of the task logs."""
    return paths.logs / "tasks"


def write_passwords(paths: StackPaths, secrets: Secrets) -> None:
    """Set the user's password; SimpleAuthManager would otherwise generate one and print it."""
    write_private_json(_passwords_file(paths), {USER: secrets.password})


def _passwords_file(paths: StackPaths) -> Path:
    return paths.secrets / "passwords.json"


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
