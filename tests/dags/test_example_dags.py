"""The example DAGs of the wheel, each run against the service and a real PostgreSQL."""

import re
from decimal import Decimal
from pathlib import Path

import psycopg

from tests.dags.airflow_program import documented
from tests.dags.conftest import EXAMPLES, SIGNUPS, Runs


def test_every_example_succeeds(runs: Runs, project: Path) -> None:
    examples = {file.stem for file in (project / EXAMPLES).glob("example_*.py")}
    assert {*runs.results} == examples | documented(project).keys() | {"all_operators"}
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
    consultants = len(runs.sandbox.rows("consultants"))
    assert runs.returned("example_bms_hook", "count_consultants") == [consultants]
    assert runs.returned("my_hook_tasks", "consultants") == [consultants]


def test_the_http_operator_reads_all_pages(runs: Runs) -> None:
    leads = [row["id"] for row in runs.sandbox.rows("contacts") if row["is_lead"]]
    [found] = runs.returned("example_bms_http", "list_leads")
    assert sorted(found) == sorted(leads)


def test_invoices_are_in_a_table_of_their_own(runs: Runs) -> None:
    [loaded] = runs.returned("example_bms_invoices_to_table", "load")
    with psycopg.connect(runs.mine) as connection:
        found = connection.execute("select id_invoice, total_due from invoice")
        rows: dict[int, Decimal] = dict(found.fetchall())
    with psycopg.connect(runs.airflow) as connection:
        first, last = connection.execute(
            "select (data_interval_start at time zone 'UTC')::date,"
            " (data_interval_end at time zone 'UTC')::date"
            " from dag_run where dag_id = 'example_bms_invoices_to_table'"
        ).fetchall()[0]
    stored = runs.sandbox.invoices(1, first, last)
    assert rows == {row["id_invoice"]: Decimal(row["total_due"]) for row in stored}
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
    with psycopg.connect(runs.mine) as connection:
        rows = connection.execute(
            "select first_name, last_name, email, state, id_contact from signup order by id"
        ).fetchall()
    assert [row[:3] for row in rows] == [signup[1:] for signup in SIGNUPS]
    for first_name, last_name, email, state, id_contact in rows:
        assert state == "created"
        contact = contacts[id_contact]
        assert (contact["first_name"], contact["last_name"]) == (first_name, last_name)
        assert contact["email"] == email


def test_the_dag_after_a_load_reads_the_warehouse(runs: Runs) -> None:
    assert runs.returned("example_bms_after_contacts", "count_leads") == [0]


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
    assert runs.returned("my_hook_tasks", "unsent")[0] >= 0
