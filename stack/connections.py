"""The warehouse connection of the stack: the user's preset as a libpq URI, or the embedded server."""

import json
import subprocess
import sys
from collections.abc import Mapping
from tempfile import TemporaryDirectory

from stack.processes import StackError

SERVICE = "AIRFLOW_CONN_BMS_DEFAULT"
WAREHOUSE = "AIRFLOW_CONN_BMS_WAREHOUSE"
CONVERT = """
import sys
from airflow.sdk import BaseHook
from bms_provider.flow_context import WAREHOUSE_CONN_ID, warehouse_uri
connection = BaseHook.get_connection(WAREHOUSE_CONN_ID)
if connection.conn_type not in ("postgres", "postgresql"):
    sys.exit(1)
print(warehouse_uri(connection))
"""
"""Program that prints the URI in the last line, behind what Airflow may log."""


def warehouse_url(environ: Mapping[str, str]) -> str | None:
    """Return the libpq URI of the user's warehouse as tasks convert it, None if none is preset.

    Raises StackError for a preset that no task could use; the text never contains the value.
    """
    if not environ.get(WAREHOUSE, "").strip():
        return None
    with TemporaryDirectory() as home:  # Airflow writes its configuration to its home
        converted = subprocess.run(  # noqa: S603 - the program above
            (sys.executable, "-P", "-c", CONVERT),
            env={**environ, "AIRFLOW_HOME": home},
            capture_output=True,
            text=True,
            check=False,
        )
    if converted.returncode:
        raise StackError(
            f"{WAREHOUSE} is no connection of type postgres that tasks can use: check its form (URI or"
            " JSON), its port, and that each extra is a parameter of libpq."
        )
    return converted.stdout.splitlines()[-1]


def embedded_warehouse(socket_folder: str, port: int, database: str) -> str:
    """Return a connection to the embedded server in Airflow's JSON form."""
    return json.dumps(
        {
            "conn_type": "postgres",
            "host": socket_folder,
            "port": port,
            "login": "postgres",
            "schema": database,
        }
    )
