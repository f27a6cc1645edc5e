"""Ordinary HR files as dropped files: accepted in one round, and codes that are compared with the mirror's."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, insert

from bms_sandbox.serve import Sandbox
from bms_warehouse.tables import employee
from tests.bms_provider.operators.flows.execution import plan
from tests.bms_provider.operators.flows.test_drops import carry_through, connected, drop_row, run
from tests.support.awkward_workbooks import PEOPLE, WORKBOOKS

__all__ = ["connected"]  # a fixture
APPROVED = {"approved": True, "who": "ada"}
HEADER = "Matricule;Nom;Prénom;Entité;Date d'entrée;Civilité;Catégorie\n"


@pytest.mark.parametrize("name", ["title", "euros", "extra_columns"])
def test_an_awkward_workbook_is_accepted_in_one_round(
    name: str, inbox: Path, sandbox: Sandbox, warehouse: Engine, data_root: Path
) -> None:
    (inbox / f"{name}.xlsx").write_bytes(WORKBOOKS[name]())
    with run(path=f"{name}.xlsx"):
        proposed = plan("employee")
        assert proposed["ask"] is (name == "extra_columns")
        if proposed["ask"]:
            assert "ne seront pas envoyées" in proposed["question"]["body"]
        ended = carry_through(
            proposed, APPROVED if proposed["ask"] else {"approved": None, "who": None}
        )
    assert {state: n for state, n in ended.items() if n and isinstance(n, int)} == {
        "drop": 1,
        "created": 3,
    }
    created = {row["payroll_number"]: row for row in sandbox.rows("employees")}
    for each in PEOPLE:
        row = created[each["number"]]
        assert (row["last_name"], row["start_date"][:10]) == (each["last"], each["start"])
        assert float(row["salary_base"]) == float(each["pay"])
    assert len(sandbox.truth()["created"]["employees"]) == len(PEOPLE)
    report = data_root / (drop_row(warehouse).report or "")
    left_out = json.loads((report / "receipt.json").read_text())["left_out"]
    assert bool(left_out) is (name != "euros")


def mirrored(warehouse: Engine, **codes: str) -> None:
    """Add an employee to the mirror."""
    ours: dict[str, Any] = {
        "guid_employee": f"g-{'-'.join(codes.values())}",
        "deleted": False,
        "_row_hash": b"",
        "_version": 1,
        "_first_seen_at": datetime.now(UTC),
        "_changed_at": datetime.now(UTC),
        "_step_run_id": 1,
        "_detailed": False,
        "_entity": 1,
        "_standby": False,
        "_former": False,
    }
    with warehouse.begin() as connection:
        connection.execute(insert(employee), ours | codes)


def test_codes_are_compared_with_those_of_mirrored_employees(
    inbox: Path, sandbox: Sandbox, warehouse: Engine, data_root: Path
) -> None:
    mirrored(warehouse, salutation_code="MME", category_code="CADRE")
    mirrored(warehouse, salutation_code="M", category_code="ETAM")
    (inbox / "codes.csv").write_text(
        HEADER
        + "810001;Dupré;Zoé;1;2027-01-04;Mme;CADRE\n"
        + "810002;Petit;Luc;1;2027-01-04;M;CADRES\n"
        + "810003;Roux;Léa;1;2027-01-04;MME;ETAM\n"
    )
    with run(path="codes.csv"):
        ended = carry_through(plan("employee"))
    assert (ended["created"], ended["rejected"], ended["needs_review"]) == (1, 1, 1)
    report = data_root / (drop_row(warehouse).report or "")
    rejected = (report / "rejected.csv").read_text()
    assert "Le logiciel de gestion écrit ce code autrement\xa0: MME." in rejected
    review = (report / "needs_review.csv").read_text("utf-8-sig")
    assert "Un code n'est porté par aucune fiche connue (Catégorie → CADRE, ETAM)." in review
    with run("manual__2", drop=1, line="3", decision="create"):
        decided = carry_through(plan("employee"))
    assert decided["created"] == 2
    created = {row["payroll_number"]: row["category_code"] for row in sandbox.rows("employees")}
    assert (created["810002"], created["810003"]) == ("CADRES", "ETAM")
