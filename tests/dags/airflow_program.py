"""A whole Airflow in a separate process: its program, its databases, and the DAGs of the documentation."""

import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy import make_url

CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
DAG = re.compile(r"^(\w+)\(\)$", re.MULTILINE)
"""Last line of a DAG file: the call that creates the DAG."""


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


def new_database(postgres: str, template: str = "template1") -> str:
    """Create a database on a server; return its URI."""
    name = f"airflow_{uuid.uuid4().hex}"
    statement = sql.SQL("create database {} template {}")
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
    return re.sub(r"/postgres\?", f"/{name}?", postgres)


def connection_to(uri: str) -> str:
    """Return an Airflow connection to a database of the tests' server."""
    url = make_url(uri)
    login = {"host": url.query["host"], "login": url.username, "schema": url.database}
    return json.dumps({"conn_type": "postgres", **login})


def documented(project: Path) -> dict[str, str]:
    """Return the DAGs of the documentation by id."""
    text = (project / "docs/tutorials/own-dag.md").read_text()
    return {DAG.findall(code)[-1]: code for code in CODE.findall(text)}
