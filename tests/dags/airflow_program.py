"""Run of a program with a whole Airflow in a separate process."""

import os
import subprocess
import sys
from pathlib import Path


def run_program(
    program: Path, *arguments: object, home: Path, dags: Path, database: str, **variables: str
) -> tuple[str, str]:
    """Run a program that ends with 0; return its last line, and all its output.

    `home` is Airflow's folder, `database` the URI of Airflow's own database.
    """
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, program, *map(str, arguments)],
        env={
            **os.environ,
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database.replace(
                "postgresql:", "postgresql+psycopg2:"
            ),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-3000:]
    return done.stdout.splitlines()[-1], output
