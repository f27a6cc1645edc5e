"""The whole planned row of every decision, compared by equality."""

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.ledger.entry import State
from bms_flows.onboarding.planning.matching import PlanningView
from bms_flows.onboarding.planning.plan import Action, Plan, PlanInputs, PlannedRow, digest
from bms_flows.onboarding.planning.planner import make
from bms_flows.onboarding.resources.body import Difference, body_digest, build
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.resources.evidence import ServiceRecord
from tests.bms_flows.onboarding.planning.test_planner import (
    IDENTITY,
    NOTHING,
    RULES,
    SENT,
    entry,
    known,
    ledger,
    planned,
    sheet,
    values,
)

ROW = values(1)
KEY = IDENTITY.key(ROW) or ""
CHEF = values(1, job_title="Chef")
RENUMBERED = values(1, payroll_number="9999")
UNMANAGED = values(1, manager_payroll_number="nobody")
PAID = values(1, salary_base=Decimal(2600), manager_payroll_number="7")
UNNAMED = values(1, last_name=None)
DETAILS = {"g": SimpleNamespace(**values(1, start_date="2026-05-15T00:00:00"))}
CREATED = {"state": State.CREATED, "remote_id": "g"}
IN_REVIEW: dict[str, Any] = {"reason": "attempts_used", "candidates": ("a", "b")}
DELETED = structs.replace(known(1), deleted=True)


def row(data: dict[str, Any], line: int = 2, **given: Any) -> PlannedRow:
    """The planned row of `data`: a creation, but for the fields in `given`."""
    key, body = IDENTITY.key(data), build(EMPLOYEE, data)
    made = PlannedRow(line=line, action=Action.CREATE, key=key, digest=body_digest(data), body=body)
    return replace(made, **given)


def rejected(data: dict[str, Any], code: str, line: int = 2, **given: Any) -> PlannedRow:
    """The planned row of `data` with one fault; `other`: the line of the other row."""
    other = given.pop("other", None)
    details = given.pop("details", {"other_line": other} if other else {})
    fault = Fault(code, line, field=given.pop("field", None), details=details)
    return row(data, line, action=Action.REJECTED, faults=(fault,), **given)


def entered(**given: Any) -> PlanningView:
    """A ledger that contains the row."""
    return ledger(entry(1, **given))


def listed(*records: ServiceRecord, **given: Any) -> PlanningView:
    """Lists that contain `records`."""
    return PlanningView({}, {}, list(records), **given)


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (NOTHING, row(ROW)),
        (PlanningView({}, {KEY: list(IDENTITY.rules_by_digest(ROW))}, []), row(ROW)),
        (
            PlanningView({}, {"another": IDENTITY.digests(ROW).other_digests[-1:]}, []),
            row(ROW, action=Action.REVIEW, reason="same_name_and_number"),
        ),
        (
            listed(known(1, "b"), known(1, "a")),
            row(ROW, action=Action.MANUAL_CHANGE, reason="several_records", candidates=("a", "b")),
        ),
        (
            listed(known(1)),
            row(ROW, action=Action.MANUAL_CHANGE, known=known(1), reason="not_readable"),
        ),
        (
            listed(DELETED, records=DETAILS),
            row(ROW, action=Action.MANUAL_CHANGE, known=DELETED, reason="record_deleted"),
        ),
        (listed(known(1), records=DETAILS), row(ROW, action=Action.ALREADY_THERE, known=known(1))),
        (entered(state=State.READY), row(ROW, action=Action.RESUME)),
        (
            entered(state=State.READY, digest="other", **SENT),
            row(ROW, action=Action.RESUME, reason="in_flight_other_data"),
        ),
        (entered(state=State.REVIEW, **IN_REVIEW), row(ROW, action=Action.REVIEW, **IN_REVIEW)),
        (entered(state=State.GIVEN_UP), row(ROW, action=Action.REVIEW, reason="given_up_before")),
        (
            replace(entered(**CREATED), shown=[known(1)]),
            row(ROW, action=Action.ALREADY_THERE, known=known(1), reason="by_us"),
        ),
        (
            replace(entered(**CREATED), read_back={1: ()}),
            row(
                ROW,
                action=Action.MANUAL_CHANGE,
                known=ServiceRecord(remote_id="g", key=KEY, deleted=True),
                reason="record_deleted",
            ),
        ),
        (
            entered(**CREATED),
            row(
                ROW,
                action=Action.MANUAL_CHANGE,
                known=ServiceRecord(remote_id="g", key=KEY, deleted=True),
                reason="created_not_found",
            ),
        ),
        (listed(unknown_scopes=frozenset({1})), rejected(ROW, "unknown_scope", field="id_entity")),
    ],
    ids=[
        "new",
        "the row itself is in flight",
        "another row of the person is in flight",
        "several records",
        "unreadable record",
        "deleted record",
        "equal record",
        "unfinished",
        "sent with other data",
        "in review",
        "given up in another drop",
        "created by a row",
        "created by a row and deleted",
        "created by a row and never seen",
        "unknown scope",
    ],
)
def test_the_ledger_and_the_service_determine_the_whole_row(
    view: PlanningView, expected: PlannedRow
) -> None:
    assert planned(view, ROW).rows == (expected,)


@pytest.mark.parametrize(
    ("data", "view", "expected"),
    [
        (
            CHEF,
            listed(known(1), records=DETAILS),
            row(
                CHEF,
                action=Action.MANUAL_CHANGE,
                known=known(1),
                reason="other_data",
                differences=(Difference("job_title", "Chef", None),),
            ),
        ),
        (
            RENUMBERED,
            listed(known(1)),
            row(
                RENUMBERED, action=Action.REVIEW, reason="same_person_other_key", candidates=("g",)
            ),
        ),
        (
            UNNAMED,
            listed(unknown_scopes=frozenset({1})),
            row(
                UNNAMED,
                action=Action.REJECTED,
                body={},
                faults=(
                    Fault("missing_value", 2, field="last_name"),
                    Fault("unknown_scope", 2, field="id_entity"),
                ),
            ),
        ),
        (
            UNMANAGED,
            NOTHING,
            rejected(UNMANAGED, "manager_unknown", field="manager_payroll_number"),
        ),
        (
            UNMANAGED,
            replace(entered(**CREATED, digest=body_digest(UNMANAGED)), shown=[known(1)]),
            row(UNMANAGED, action=Action.ALREADY_THERE, known=known(1), reason="by_us"),
        ),
        (
            PAID,
            replace(entered(**CREATED), shown=[known(1)], records=DETAILS),
            row(
                PAID,
                action=Action.MANUAL_CHANGE,
                known=known(1),
                reason="changed_unseen",
                details={"fields": "Salaire de base, Matricule du responsable"},
            ),
        ),
        (
            UNMANAGED,
            entered(state=State.REVIEW, **IN_REVIEW),
            row(UNMANAGED, action=Action.REVIEW, **IN_REVIEW),
        ),
    ],
    ids=[
        "other data",
        "other number",
        "invalid",
        "unknown manager",
        "unknown manager of a created row",
        "other data than created in fields that the service never returns",
        "unknown manager of a row in review",
    ],
)
def test_the_data_determine_the_whole_row(
    data: dict[str, Any], view: PlanningView, expected: PlannedRow
) -> None:
    assert planned(view, data).rows == (expected,)


def test_a_row_without_a_key_is_rejected_even_if_no_rule_requires_its_fields() -> None:
    data = values(1, payroll_number=None)
    plan = make(sheet(data), EMPLOYEE, IDENTITY, replace(RULES, required=()), NOTHING)
    fields = {"fields": "Entité [id_entity], Matricule [payroll_number]"}
    assert plan.rows == (rejected(data, "no_key", details=fields, body={}),)


def test_a_repeated_row_names_the_line_of_the_other_and_a_valid_row_is_not_an_invalid_ones_fault() -> (
    None
):
    other, undated = values(2, last_name="Autre"), values(3, start_date=None)
    plan = planned(NOTHING, ROW, ROW, values(2), other, values(2), undated, values(3))
    assert plan.rows == (
        row(ROW),
        rejected(ROW, "twice_in_file", 3, other=2),
        rejected(values(2), "key_twice_in_file", 4, other=5),
        rejected(other, "key_twice_in_file", 5, other=4),
        rejected(values(2), "key_twice_in_file", 6, other=4),
        row(
            undated,
            7,
            action=Action.REJECTED,
            body={},
            faults=(
                Fault("missing_value", 7, field="start_date"),
                Fault("key_twice_in_file", 7, details={"other_line": 8}),
            ),
        ),
        row(values(3), 8),
    )


def test_the_second_row_of_a_record_is_rejected_with_the_line_of_the_first() -> None:
    view = replace(
        ledger(*(entry(n, State.CREATED, remote_id=each) for n, each in enumerate("ggh", 1))),
        shown=[known(1), known(3, "h")],
    )
    ours: dict[str, Any] = {"known": known(1), "reason": "by_us"}
    assert planned(view, values(1), values(2), values(3)).rows == (
        row(values(1), action=Action.ALREADY_THERE, **ours),
        rejected(values(2), "record_twice_in_file", 3, other=2, **ours),
        row(values(3), 4, action=Action.ALREADY_THERE, known=known(3, "h"), reason="by_us"),
    )


def test_a_plan_is_bound_to_its_file_its_ledger_rows_its_records_and_its_rules() -> None:
    first, second = entry(1, State.CREATED, remote_id="g", attempt=1), entry(2, State.REJECTED)
    view = replace(ledger(first, second, entry(9, State.READY)), shown=[known(1), known(9, "h")])
    bound = PlanInputs(
        file="sha",
        ledger=digest(
            sorted(
                [
                    (first.key, "created", 1, first.digest, "g"),
                    (second.key, "rejected", 0, second.digest, ""),
                ]
            )
        ),
        seen=digest([("g", known(1).fingerprint, False, 101)]),
        rules=RULES.version,
    )
    rows = (
        row(ROW, action=Action.ALREADY_THERE, known=known(1), reason="by_us"),
        row(values(2), 3),
    )
    plan = planned(replace(view, headcount=9), ROW, values(2))
    assert plan == Plan("employee", bound, rows, headcount=9)
