"""Reports: three files for HR users, and the receipt after them."""

import csv
import os
import stat
from pathlib import Path

import pytest
from upath import UPath

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import FileFormat, Sheet
from bms_flows.onboarding.reporting import report
from bms_flows.onboarding.reporting.report import Candidate, RowOutcome
from bms_flows.onboarding.resources.body import Difference
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.runtime.settings import Language
from tests.support.excel import formulas

CONTENT = "Matricule;Nom;Entité\r\n001;Dupré;1\r\n002;Noël;un\r\n003;Côté;2\r\n".encode("cp1252")


def outcomes(sheet: Sheet) -> list[RowOutcome]:
    return [
        RowOutcome(line=2, state="created", key="=001", guid="g-1", id=7, is_standby=True),
        RowOutcome(line=3, state="rejected", faults=sheet.faults_of(sheet.rows[1])),
        RowOutcome(
            line=4,
            state="needs_review",
            key="003",
            candidates=[Candidate(guid="g-2", id=8, evidence="name, start date")],
            differences=[Difference("last_name", "Côté", "Coté")],
        ),
    ]


def written(folder: UPath) -> None:
    sheet = read(CONTENT, "a.csv", EMPLOYEE)
    report.write(folder, CONTENT, sheet, outcomes(sheet), b"{}")


def test_values_that_come_back_from_excel(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    written(UPath(folder))
    assert {path.name for path in folder.iterdir()} == {
        "created.csv", "needs_review.csv", "rejected.csv", "rejected.xlsx", "receipt.json"
    }  # fmt: skip
    assert (folder / "created.csv").read_text("utf-8-sig").split("\n") == [
        "_line;key;state;guid;id;is_standby;evidence", "2;'=001;créée;g-1;7;oui;", ""
    ]  # fmt: skip
    review = (folder / "needs_review.csv").read_text("utf-8-sig")
    assert "4;003;;;;Nom: Côté ≠ Coté;g-2 8 name, start date" in review
    rejected = (folder / "rejected.csv").read_text("cp1252")
    assert rejected.count("\n") == 2
    assert rejected.endswith(";002;Noël;un\n")
    assert ";Entité;3;" in rejected


@pytest.mark.parametrize(
    ("language", "hint"),
    [
        ("FR", "Modifier la fiche dans le logiciel de gestion."),
        ("EN", "Change the record in the service itself."),
    ],
)
def test_hints_for_a_reviewer_are_in_the_language_of_the_inbox(
    language: Language, hint: str
) -> None:
    row = RowOutcome(line=4, state="needs_review", key="003", faults=[Fault("not_readable", 4)])
    content = report.review_file([row], FileFormat("csv"), language).decode("utf-8-sig")
    [found] = csv.DictReader(content.splitlines(), delimiter=";")
    assert found["_hint"] == hint
    assert found["_reason_fr"] != found["_reason_en"]


def test_excel_runs_no_formula_of_a_reject_file() -> None:
    keys = ["=1", "x,=cmd|'/C calc'!A0", "x;@y", "x\n+33 6", 'x,"=1"', "x\t-A1"]
    made = [RowOutcome(line=n, state="created", key=key) for n, key in enumerate(keys, start=2)]
    assert formulas(report.created_file(made, "FR").decode("utf-8-sig")) == []


def test_files_with_personal_data_are_private_to_their_owner(tmp_path: Path) -> None:
    written(UPath(tmp_path / "r"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "r").iterdir()} == {0o600}


def test_writing_a_receipt_again_writes_the_same_bytes(root: UPath) -> None:
    written(root / "r")
    before = {path.name: path.read_bytes() for path in (root / "r").iterdir()}
    written(root / "r")
    assert {path.name: path.read_bytes() for path in (root / "r").iterdir()} == before


def test_a_receipt_exists_only_beside_all_report_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    rename = os.rename

    def renamed(source: str, target: str, **given: int) -> None:
        names.append(target)
        rename(source, target, **given)

    monkeypatch.setattr(os, "rename", renamed)
    written(UPath(tmp_path))
    assert names[-1] == report.RECEIPT
    assert len(names) == 5


def test_a_receipt_row_contains_no_cell_value() -> None:
    kept = str([each.as_dict() for each in outcomes(read(CONTENT, "a.csv", EMPLOYEE))])
    assert not [cell for cell in ("Dupré", "Noël", "Côté", "=001") if cell in kept]
