"""The example DAGs of the wheel, each run against the service and a real PostgreSQL."""

import json
import re
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from bms_sandbox.serve import Sandbox, running
from tests.dags.airflow_program import run_program

PROGRAM = Path(__file__).parent / "run_example_dags.py"
EXAMPLES = "plugins/bms_provider/example_dags"
PAGES = ["docs/tutorials/own-dag.md"]
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
DAG = re.compile(r"^(\w+)\(\)$", re.MULTILINE)
"""Last line of a DAG file: the call that creates the DAG."""
SIGNUPS = [
    (1, "Canari-Un", "Essai", "canary.1@client.example"),
    (2, "Canari-Deux", "{{ params.signup }}", "canary.2@client.example"),
]


@dataclass(frozen=True)
class Runs:
    """Results of the runs, and the databases that they used."""

    results: dict[str, Any]
    output: str
    airflow: str
    mine: str
    team: str
    sandbox: Sandbox

    def returned(self, dag: str, task: str) -> list[Any]:
        """Return the values that a task returned, by map index."""
        values: list[Any] = self.results[dag]["returned"][task]
        return values

    def rows(self, statement: str) -> list[Any]:
        """Return rows of the database of the examples."""
        with psycopg.connect(self.mine) as connection:
            return connection.execute(statement).fetchall()


def _database(postgres: str, template: str = "template1") -> str:
    name = f"examples_{uuid.uuid4().hex}"
    statement = sql.SQL("create database {} template {}")
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
    return re.sub(r"/postgres\?", f"/{name}?", postgres)


def _connection(uri: str) -> str:
    url = make_url(uri)
    form = {
        "conn_type": "postgres",
        "host": url.query["host"],
        "login": url.username,
        "schema": url.database,
    }
    return json.dumps(form)


def documented(project: Path) -> dict[str, str]:
    """Return the DAGs of the documentation by id; equal code on two pages is one DAG."""
    texts = [(project / page).read_text() for page in PAGES]
    return {DAG.findall(code)[-1]: code for text in texts for code in CODE.findall(text)}


@pytest.fixture(scope="module")
def runs(
    project: Path, postgres: str, migrated: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runs]:
    """Run all examples, and the DAGs of the documentation, in a separate process."""
    folder = tmp_path_factory.mktemp("examples")
    dags = folder / "dags"
    shutil.copytree(project / EXAMPLES, dags)
    for name, code in documented(project).items():
        (dags / f"{name}.py").write_text(code)
    airflow, mine, team = _database(postgres), _database(postgres), _database(postgres, migrated)
    with psycopg.connect(mine) as connection:
        from bms_provider.example_dags.example_bms_create_contacts import TABLE

        connection.execute(TABLE)
        insert = "insert into signup (id, first_name, last_name, email) values (%s, %s, %s, %s)"
        connection.cursor().executemany(insert, SIGNUPS)
    options = ("--today", "2026-03-31", "--frozen", "--contacts", "6")
    with running(options=options) as sandbox:
        form = {
            "conn_type": "bms",
            "host": sandbox.url,
            "login": sandbox.credentials.client_id,
            "password": sandbox.credentials.secret,
            "extra": {"application_id": sandbox.credentials.application_id},
        }
        last, output = run_program(
            PROGRAM,
            dags,
            home=folder / "home",
            dags=dags,
            database=airflow,
            AIRFLOW_CONN_BMS_DEFAULT=json.dumps(form),
            AIRFLOW_CONN_BMS_WAREHOUSE=_connection(_database(postgres, migrated)),
            AIRFLOW_CONN_MY_DATABASE=_connection(mine),
            AIRFLOW_CONN_TEAM_WAREHOUSE=_connection(team),
            BMS_DATA_ROOT=f"file://{folder}/data",
        )
        found = json.loads(last)
        assert found["errors"] == {}
        yield Runs(found["results"], output, airflow, mine, team, sandbox)


def test_every_example_succeeds(runs: Runs, project: Path) -> None:
    examples = {file.stem for file in (project / EXAMPLES).glob("example_*.py")}
    assert {*runs.results} == examples | documented(project).keys()
    failed = {
        (dag, task): state
        for dag, result in runs.results.items()
        for task, state in result["states"].items()
        if state != "success"
    }
    assert failed == {}, re.findall(r"(?m)^\w*(?:Error|Exception|Manifest).*$", runs.output)


def test_the_hook_reads_in_tasks(runs: Runs) -> None:
    active = [row for row in runs.sandbox.rows("contacts") if row["active"]]
    [by_origin] = runs.returned("example_bms_hook", "count_contacts_by_origin")
    assert sum(by_origin.values()) == len(active) > 0
    assert runs.returned("example_bms_hook", "count_consultants") == [120]


def test_the_http_operator_reads_all_pages(runs: Runs) -> None:
    leads = [row["id"] for row in runs.sandbox.rows("contacts") if row["is_lead"]]
    [found] = runs.returned("example_bms_http", "list_leads")
    assert sorted(found) == sorted(leads)


def test_invoices_are_in_a_table_of_their_own(runs: Runs) -> None:
    [loaded] = runs.returned("example_bms_invoices_to_table", "load")
    rows = dict(runs.rows("select id_invoice, total_due from open_invoice"))
    with psycopg.connect(runs.airflow) as connection:
        first, last = connection.execute(
            "select (data_interval_start at time zone 'UTC')::date,"
            " (data_interval_end at time zone 'UTC')::date"
            " from dag_run where dag_id = 'example_bms_invoices_to_table'"
        ).fetchall()[0]
    stored = runs.sandbox.invoices(1, first, last)
    unpaid = {row["id_invoice"]: Decimal(row["total_due"]) for row in stored}
    assert rows == {key: due for key, due in unpaid.items() if due != 0}
    assert len(rows) == loaded > 0


def test_each_contact_is_read_by_a_mapped_task(runs: Runs) -> None:
    [ids] = runs.returned("example_bms_contact_details", "list_ids")
    manifests = runs.returned("example_bms_contact_details", "read_contact")
    assert len(manifests) == len(ids) > 1
    [by_client] = runs.returned("example_bms_contact_details", "count_by_client")
    contacts = [row for row in runs.sandbox.rows("contacts") if row["id"] in ids]
    assert sum(by_client.values()) == sum(row["id_client"] is not None for row in contacts) > 0


def test_each_row_becomes_one_contact(runs: Runs) -> None:
    contacts = {row["id"]: row for row in runs.sandbox.rows("contacts")}
    rows = runs.rows(
        "select first_name, last_name, email, state, id_contact from signup order by id"
    )
    assert [row[:3] for row in rows] == [signup[1:] for signup in SIGNUPS]
    for first_name, last_name, email, state, id_contact in rows:
        assert state == "created"
        contact = contacts[id_contact]
        assert (contact["first_name"], contact["last_name"]) == (first_name, last_name)
        assert contact["email"] == email


def test_the_dag_after_a_load_reads_the_warehouse(runs: Runs) -> None:
    assert runs.returned("example_bms_after_contacts", "count_leads") == [0]


def test_airflow_stores_no_personal_data_of_the_created_contacts(runs: Runs) -> None:
    """Not in rendered fields, XCom, the serialized DAG or any other table, and not in a log."""
    personal = {value for signup in SIGNUPS for value in (signup[1], signup[3])}
    with psycopg.connect(runs.airflow) as connection:
        tables = connection.execute(
            "select tablename from pg_tables where schemaname = 'public'"
        ).fetchall()
        stored = {
            name: repr(
                connection.execute(
                    sql.SQL("select * from {}").format(sql.Identifier(name))
                ).fetchall()
            )
            for (name,) in tables
        }
    assert "create_contact" in stored["rendered_task_instance_fields"]
    stored["output"] = runs.output
    found = {
        (place, value) for place, text in stored.items() for value in personal if value in text
    }
    assert found == set()


def test_the_lines_that_documents_quote_are_marked(project: Path) -> None:
    """In the form of Airflow's documentation; the hook in ten lines, a mapped read in five."""
    for file, name, most in (
        ("example_bms_hook", "hook", 10),
        ("example_bms_contact_details", "mapped read", 5),
    ):
        text = (project / EXAMPLES / f"{file}.py").read_text()
        quoted = re.search(rf"# \[START {name}\]\n(.*?)\n *# \[END {name}\]", text, re.DOTALL)
        assert quoted is not None
        assert len([line for line in quoted[1].splitlines() if line.strip()]) <= most


def test_ten_lines_load_two_entities_into_another_warehouse(runs: Runs, project: Path) -> None:
    lines = [line for line in documented(project)["my_invoices"].splitlines() if line.strip()]
    assert len(lines) <= 10
    loads = runs.returned("my_invoices", "load")
    assert {each["id_entity"] for each in loads} == {1, 2}
    with psycopg.connect(runs.team) as connection:
        [(rows,)] = connection.execute("select count(*) from bms.client_invoice").fetchall()
    assert rows == sum(each["inserted"] for each in loads) > 0


def test_the_dags_of_the_documentation_return_what_they_describe(runs: Runs, project: Path) -> None:
    assert len(documented(project)) == 5
    [unpaid] = runs.returned("my_unpaid_invoices", "unpaid")
    assert set(unpaid) <= {"CHF", "EUR", "USD"}
    assert sum(map(Decimal, unpaid.values()))
    assert len(runs.returned("my_contact_details", "read_contact")) > 1
    assert runs.returned("my_hook_tasks", "consultants") == [120]
    assert runs.returned("my_hook_tasks", "unsent")[0] >= 0
