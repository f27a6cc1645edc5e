"""Drops of contacts and consultants on a real Airflow: created, matched, reported differences."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from stack.launcher import Running
from tests.e2e.airflow_api import DONE, Airflow, inbox_of, query, until
from tests.e2e.canaries import in_logs, stored_in_airflow

FLOWS = {"contacts": "contact_creation", "consultants": "consultant_creation"}
UNPAUSED = ("inbox_dispatch", *FLOWS.values())
SECRET_NAME = "Canari-Zoé"
HEADS = {
    "contacts": "Nom;Prénom;E-mail;Société;Ville;Domaines\r\n",
    "consultants": "Nom;Prénom;E-mail;Année de naissance;Compétence 1;Langue 1\r\n",
}
ROWS = {
    "contacts": f"{SECRET_NAME};Alix;alix@canari.example;Canari SA;Lyon;3|7\r\n"
    f"{SECRET_NAME};;sans.prenom@canari.example;Canari SA;Lyon;\r\n",
    "consultants": f"{SECRET_NAME};Alix;alix@canari.example;1988;4;EN\r\n",
}

pytestmark = pytest.mark.prove


class Drops:
    """Files dropped into the inboxes, and the outcome of each."""

    def __init__(self, stack: Running, airflow: Airflow) -> None:
        self.stack, self.airflow = stack, airflow
        self.root = Path(stack.data_root.removeprefix("file://"))

    def drop(self, inbox: str, name: str, rows: str) -> dict[str, Any]:
        """Drop a file, wait until its run ends, return the result of the run."""
        (inbox_of(self.stack, inbox) / name).write_bytes((HEADS[inbox] + rows).encode("cp1252"))
        dag = FLOWS[inbox]
        until(lambda: self._ended(dag, name), lambda: self.airflow.runs(dag))
        run = self._run(name)
        assert self.airflow.runs(dag)[run] == "success", self.airflow.why(dag, run)
        return self.airflow.result(dag, run, "conclude")

    def report(self, outcome: dict[str, Any], name: str) -> list[dict[str, str]]:
        content = (self.root / outcome["report"] / name).read_text("utf-8-sig")
        return list(csv.DictReader(io.StringIO(content), delimiter=";"))

    def _ended(self, dag: str, name: str) -> bool:
        run = self._run(name)
        return run != "" and self.airflow.runs(dag).get(run) in DONE

    def _run(self, name: str) -> str:
        found = query(self.stack, "select dag_run_id from bms.dropped_file where path = %s", name)
        return str(found[0][0]) if found else ""


@pytest.fixture(scope="module")
def drops(stack: Running, airflow: Airflow) -> Drops:
    return Drops(stack, airflow)


@pytest.mark.parametrize("inbox", FLOWS)
def test_a_file_is_created_in_the_crm(inbox: str, drops: Drops) -> None:
    outcome = drops.drop(inbox, f"{inbox}.csv", ROWS[inbox])
    assert outcome["created"] == 1
    assert outcome["rejected"] == ROWS[inbox].count("\r\n") - 1
    [row] = drops.report(outcome, "created.csv")
    assert (row["key"], row["state"]) == ("alix@canari.example", "créée")
    templates = {path.name for path in (drops.root / "inbox" / inbox).glob("[!.]*")}
    assert templates == {"_LISEZMOI.txt", f"_modele_{inbox}.csv", f"_modele_{inbox}.xlsx"}


def test_a_changed_contact_is_reported_once_by_field(drops: Drops) -> None:
    """Continues with the file above, whose values are the agreed base."""
    changed = ROWS["contacts"].partition("\r\n")[0].replace("Lyon", "Nantes") + "\r\n"
    outcome = drops.drop("contacts", "moved.csv", changed)
    assert (outcome["created"], outcome["needs_review"]) == (0, 1)
    [row] = drops.report(outcome, "differences.csv")
    assert (row["field"], row["base"], row["ours"], row["theirs"]) == (
        "city",
        "Lyon",
        "Nantes",
        "Lyon",
    )
    assert row["changed_by"] == "fichier"
    outcome = drops.drop("contacts", "moved_again.csv", changed + "\r\n")
    assert outcome["needs_review"] == 1
    assert drops.report(outcome, "differences.csv") == []


def test_no_personal_datum_is_in_airflow_s_database_or_logs(drops: Drops, stack: Running) -> None:
    """Reads the traces of the tests above."""
    assert drops.airflow.runs("contact_creation")
    for text in (SECRET_NAME, "alix@canari"):
        assert stored_in_airflow(stack, text) == set()
        assert in_logs(stack, text) == []
