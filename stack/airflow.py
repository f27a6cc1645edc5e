"""Airflow as the stack runs it: one environment for all its processes, and their commands."""

import importlib.metadata
import sys
from collections.abc import Mapping
from pathlib import Path

from stack.place import Keys, Place, write_private

USER = "admin"
HOST = "127.0.0.1"
COMMAND = (sys.executable, "-P", "-m", "airflow")  # -P: the checkout's folders are no packages
LOOPBACK = f"{HOST},localhost"


def environment(
    given: Mapping[str, str],
    place: Place,
    keys: Keys,
    *,
    database: str,
    port: int,
    warehouse: str,
) -> dict[str, str]:
    """Return the environment of every process: our defaults, what the user preset, what must be.

    `given` is the launcher's own environment, `database` the SQLAlchemy URL of Airflow's metadata,
    `warehouse` Airflow's form of the connection `bms_warehouse`.
    """
    defaults = {
        "AIRFLOW__CORE__DAGS_FOLDER": str(place.root / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(place.root / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "4",  # all workers are forked ahead, 32 by default
        "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "10",
        "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "1",  # else a slot is held 5 s after a task
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "AIRFLOW_CONN_BMS_WAREHOUSE": warehouse,
        "BMS_DATA_ROOT": f"file://{place.data}",
        "PYTHONUNBUFFERED": "1",
    }
    # A preset of these would reach into another installation (its database would be migrated, its
    # secrets written beside ours), open a port to the network, or name processes that the stack
    # does not run.
    ours = {
        "AIRFLOW_HOME": str(place.airflow_home),
        "AIRFLOW__API__BASE_URL": f"http://{HOST}:{port}",
        "AIRFLOW__API__HOST": HOST,
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__SECRET_KEY": keys.api,
        "AIRFLOW__API__SSL_CERT": "",
        "AIRFLOW__API__SSL_KEY": "",
        "AIRFLOW__API_AUTH__JWT_SECRET": keys.jwt,
        "AIRFLOW__CORE__AUTH_MANAGER": (
            "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager"
        ),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://{HOST}:{port}/execution/",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__FERNET_KEY": keys.fernet,
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(_passwords(place)),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database,
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(task_logs(place)),
        "AIRFLOW__LOGGING__DAG_PROCESSOR_CHILD_PROCESS_LOG_DIRECTORY": str(
            place.logs / "dag-files"
        ),
        "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False",
    }
    # A company's proxy knows nothing of this machine's loopback.
    direct = {
        name: ",".join(filter(None, (given.get(name), LOOPBACK)))
        for name in ("NO_PROXY", "no_proxy")
    }
    return {**defaults, **given, **direct, **ours}


def task_logs(place: Place) -> Path:
    """Return the folder below which tasks write their logs."""
    return place.logs / "tasks"


def write_passwords(place: Place, keys: Keys) -> None:
    """Give SimpleAuthManager its one user's password, which it would else draw and print."""
    write_private(_passwords(place), {USER: keys.password})


def _passwords(place: Place) -> Path:
    return place.secrets / "passwords.json"


def components(port: int) -> dict[str, tuple[str, ...]]:
    """Return the command of each of Airflow's lasting processes by its name.

    The log servers of scheduler and triggerer would listen on all addresses; logs are files here.
    """
    return {
        "api-server": (*COMMAND, "api-server", "--host", HOST, "--port", str(port)),
        "scheduler": (*COMMAND, "scheduler", "--skip-serve-logs"),
        "dag-processor": (*COMMAND, "dag-processor"),
        "triggerer": (*COMMAND, "triggerer", "--skip-serve-logs"),
    }


def version() -> str:
    """Return the installed Airflow's version, without the seconds that importing it takes."""
    return importlib.metadata.version("apache-airflow-core")


def dag_files(folder: Path) -> set[str]:
    """Return the DAG files below a folder, as Airflow names them: relative to it."""
    return {path.name for path in folder.glob("*.py")}
