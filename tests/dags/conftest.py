"""The project's DAGs as Airflow parses them, and one run of the example DAGs and of all operators."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bms.endpoints import ENDPOINTS
from bms_sandbox.serve import Sandbox, running
from bms_sandbox.tokens import Credentials
from tests.bms_provider.conftest import fields_of
from tests.dags.airflow_program import connection_to, documented, new_database, run_program
from tests.listeners import Statsd, statsd

FOLDER = Path(__file__).parent
EXAMPLES = "plugins/bms_provider/example_dags"
CREDENTIALS = Credentials("canary-client", "canary-application", "canary-secret-9d2c")
BODIES: dict[str, dict[str, Any]] = {
    "employee": {
        "id_entity": 1,
        "first_name": "Canari-Prénom",
        "last_name": "Canari-Nom",
        "social_security_number": "canary-ssn-2840677",
        "salary_base": 98765.43,
        "personal_email": "canary.perso@home.example",
    },
    "contact": {
        "first_name": "Canari-Prénom",
        "last_name": "Canari-Nom",
        "email": "canary.contact@client.example",
        "notes": "canary-notes",
    },
    "consultant": {
        "first_name": "Canari-Prénom",
        "last_name": "Canari-Nom",
        "rate": 1234.56,
        "email": "canary.consultant@indep.example",
    },
}
"""What the DAG of all operators creates."""
SIGNUPS = [
    (1, "Canari-Un", "Essai", "canary.1@client.example"),
    (2, "Canari-Deux", "{{ params.signup }}", "canary.2@client.example"),
]
"""What the example of created contacts reads from its table."""


@pytest.fixture(scope="session")
def dags(project: Path) -> dict[str, Any]:
    """The project's DAGs."""
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(str(project / "dags"))
    assert bag.import_errors == {}
    return dict(bag.dags)


@dataclass(frozen=True)
class Runs:
    """Results of the runs, and their traces: databases, output, logs, files, metrics."""

    results: dict[str, Any]
    output: str
    airflow: str
    mine: str
    team: str
    home: Path
    data: Path
    metrics: Statsd
    sandbox: Sandbox

    def returned(self, dag: str, task: str) -> list[Any]:
        """Return the values that a task returned, by map index."""
        values: list[Any] = self.results[dag]["returned"][task]
        return values


@pytest.fixture(scope="session")
def runs(
    project: Path, postgres: str, migrated: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runs]:
    """Run all operators, all examples, and the DAGs of the documentation, in a separate process."""
    folder = tmp_path_factory.mktemp("runs")
    dags, home, data = folder / "dags", folder / "home", folder / "data"
    shutil.copytree(project / EXAMPLES, dags)
    shutil.copy(FOLDER / "all_operators.py", dags)
    for name, code in documented(project).items():
        (dags / f"{name}.py").write_text(code)
    (data / "in").mkdir(parents=True)
    for each in ENDPOINTS:
        body = BODIES.get(each.noun, {"name": "New"})
        (data / f"in/{each.noun}.json").write_text(json.dumps(body))
    airflow, mine = new_database(postgres), new_database(postgres)
    warehouse, team = new_database(postgres, migrated), new_database(postgres, migrated)
    with psycopg.connect(mine) as connection:
        from bms_provider.example_dags.example_bms_create_contacts import TABLE

        connection.execute(TABLE)
        insert = "insert into signup (id, first_name, last_name, email) values (%s, %s, %s, %s)"
        connection.cursor().executemany(insert, SIGNUPS)
    options = ("--today", "2026-03-31", "--frozen", "--contacts", "6")
    with running(credentials=CREDENTIALS, options=options) as sandbox, statsd() as metrics:
        form = {"conn_type": "bms", **fields_of(sandbox)}
        last, output = run_program(
            FOLDER / "run_dags.py",
            dags,
            home=home,
            dags=dags,
            database=airflow,
            **metrics.variables,
            AIRFLOW_CONN_BMS_DEFAULT=json.dumps(form),
            AIRFLOW_CONN_BMS_WAREHOUSE=connection_to(warehouse),
            AIRFLOW_CONN_MY_DATABASE=connection_to(mine),
            AIRFLOW_CONN_TEAM_WAREHOUSE=connection_to(team),
            BMS_DATA_ROOT=f"file://{data}",
        )
        found = json.loads(last)
        assert found["errors"] == {}
        yield Runs(found["results"], output, airflow, mine, team, home, data, metrics, sandbox)
