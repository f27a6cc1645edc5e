"""Every fault of every row in the first round, and codes compared with those that mirrored records have."""

from dataclasses import replace
from typing import Any

import pytest

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.ledger.entry import State
from bms_flows.onboarding.planning.plan import Action, Plan
from bms_flows.onboarding.planning.planner import make
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.resources.employee import EMPLOYEE
from tests.bms_flows.onboarding.planning.test_planner import (
    IDENTITY,
    NOTHING,
    RULES,
    entry,
    known,
    ledger,
    planned,
    sheet,
    values,
)

HEADER = "Entité;Matricule;Nom;Prénom;Date d'entrée;Matricule du responsable;Civilité"
CODES = {"salutation_code": ["M", "MME"], "category_code": ["CADRE", "ETAM"]}


def plan_of(header: str, *rows: str, **view: Any) -> Plan:
    read_sheet = read("\n".join([header, *rows, ""]).encode(), "a.csv", EMPLOYEE)
    return make(read_sheet, EMPLOYEE, IDENTITY, RULES, replace(NOTHING, **view))


def faults(plan: Plan) -> list[list[tuple[str, str | None]]]:
    return [[(each.code, each.field) for each in row.faults] for row in plan.rows]


def test_faults_of_reading_planning_and_of_other_rows_come_together() -> None:
    plan = plan_of(
        HEADER,
        "1;0001;Durand;Zoé;31/02/2026;nobody;Mme",
        "1;0002;Petit@x;;01/04/2026;;MME",
        "9;0003;Roux;Luc;un jour;;",
        "1;0001;Durand;Zoé;01/04/2026;;",
        codes=CODES,
        unknown_scopes=frozenset({9}),
    )
    assert faults(plan) == [
        [
            ("bad_date", "start_date"),
            ("code_written_otherwise", "salutation_code"),
            ("key_twice_in_file", None),
            ("manager_unknown", "manager_payroll_number"),
        ],
        [("missing_value", "first_name"), ("not_a_name", "last_name")],
        [("bad_date", "start_date"), ("unknown_scope", "id_entity")],
        [],
    ]


def test_a_header_that_is_not_known_hides_no_fault_of_a_row() -> None:
    header = HEADER.replace("Prénom", "Prénon")
    plan = plan_of(header, "1;0001;Durand;;31/02/2026;;Mme", codes=CODES)
    assert faults(plan) == [
        [
            ("unknown_column", "first_name"),
            ("bad_date", "start_date"),
            ("missing_value", "first_name"),
            ("code_written_otherwise", "salutation_code"),
        ]
    ]


def test_without_any_header_no_value_is_missing() -> None:
    assert faults(plan_of("a;b", "1;2")) == [[("no_header", None)]]


@pytest.mark.parametrize(
    ("code", "nearest"), [("Mme", "MME"), ("M.", "M"), ("mme ", "MME"), ("m", "M")]
)
def test_a_code_in_another_form_is_rejected_with_the_known_one(code: str, nearest: str) -> None:
    view = replace(NOTHING, codes=CODES)
    [row] = planned(view, values(1, salutation_code=code.strip())).rows
    [fault] = row.faults
    assert fault == Fault(
        "code_written_otherwise", 2, field="salutation_code", details={"nearest": nearest}
    )
    assert nearest in fault.hint("FR")


def test_a_code_that_no_record_has_is_decided_by_a_reviewer() -> None:
    view = replace(NOTHING, codes=CODES)
    [row] = planned(view, values(1, category_code="CADRES", salutation_code="M")).rows
    assert (row.action, row.reason) == (Action.REVIEW, "code_not_in_use")
    reason = Fault(row.reason or "", 2, details=row.details).reason("FR")
    assert "(Catégorie → CADRE, ETAM)" in reason
    assert "CADRES" not in reason, "no text quotes a cell"


@pytest.mark.parametrize(
    "given",
    [
        {"salutation_code": "MME", "category_code": "ETAM"},
        {"contract_type_code": "no employee of the mirror has one"},
        {"postal_code": "75001", "country": "FR"},
        {},
    ],
)
def test_known_codes_and_fields_without_known_codes_ask_nothing(given: dict[str, Any]) -> None:
    view = replace(NOTHING, codes={**CODES, "contract_type_code": []})
    [row] = planned(view, values(1, **given)).rows
    assert row.action is Action.CREATE


def test_codes_of_the_rules_take_precedence_over_those_of_the_mirror() -> None:
    ruled = replace(RULES, codes={"category_code": ("CADRES",)})
    given = sheet(values(1, category_code="CADRES"))
    plan = make(given, EMPLOYEE, IDENTITY, ruled, replace(NOTHING, codes=CODES))
    assert plan.rows[0].action is Action.CREATE


def test_an_existing_record_and_a_created_row_ask_nothing() -> None:
    given = values(1, category_code="CADRES")
    there = replace(NOTHING, codes=CODES, shown=[known(1)])
    assert planned(there, given).rows[0].action is Action.MANUAL_CHANGE
    ready = replace(ledger(entry(1, State.READY)), codes=CODES)
    assert planned(ready, values(1)).rows[0].action is Action.RESUME


def test_a_row_dropped_again_in_review_names_the_nearest_codes_again() -> None:
    given = values(1, category_code="CADRES")
    view = replace(ledger(entry(1, State.REVIEW, reason="code_not_in_use")), codes=CODES)
    [row] = planned(view, given).rows
    assert (row.action, row.details) == (Action.REVIEW, {"nearest": " (Catégorie → CADRE, ETAM)"})
