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


def in_drop(number: int, **given: Any) -> PlanningView:
    """A ledger that contains the row, entered by the drop that is planned."""
    return replace(entered(drop_id=number, **given), drop_id=number)


def listed(*records: ServiceRecord, **given: Any) -> PlanningView:
    """Lists that contain `records`."""
    return PlanningView({}, {}, list(records), **given)


def manual_change(data: dict[str, Any], reason: str, **given: Any) -> PlannedRow:
    """The planned row of `data` whose record differs; the record is `known(1)`."""
    return row(
        data, **{"action": Action.MANUAL_CHANGE, "known": known(1), "reason": reason, **given}
    )


def in_review(data: dict[str, Any], reason: str, **given: Any) -> PlannedRow:
    return row(data, action=Action.REVIEW, reason=reason, **given)


def resumed(data: dict[str, Any], reason: str | None = None) -> PlannedRow:
    return row(data, action=Action.RESUME, reason=reason)


def there(data: dict[str, Any], reason: str | None = None) -> PlannedRow:
    return row(data, action=Action.ALREADY_THERE, known=known(1), reason=reason)


OTHER: dict[str, Any] = {"attempt": 1, "digest": "other"}
ITSELF = PlanningView({}, {KEY: list(IDENTITY.rules_by_digest(ROW))}, [])
ANOTHER = PlanningView({}, {"another": IDENTITY.digests(ROW).other_digests[-1:]}, [])
GONE = ServiceRecord(remote_id="g", key=KEY, deleted=True)
UNKNOWN_SCOPE = listed(unknown_scopes=frozenset({1}))
OURS = replace(entered(**CREATED), shown=[known(1)])
OURS_UNMANAGED = replace(entered(**CREATED, digest=body_digest(UNMANAGED)), shown=[known(1)])
TO_REVIEW = entered(state=State.REVIEW, **IN_REVIEW)
JOB = (Difference("job_title", "Chef", None),)
UNSEEN = {"fields": "Salaire de base, Matricule du responsable"}
TWO_FAULTS = (
    Fault("missing_value", 2, field="last_name"),
    Fault("unknown_scope", 2, field="id_entity"),
)
CASES: dict[str, tuple[dict[str, Any], PlanningView, PlannedRow]] = {
    "new": (ROW, NOTHING, row(ROW)),
    "the row itself is in flight": (ROW, ITSELF, row(ROW)),
    "another row of the person is in flight": (
        ROW,
        ANOTHER,
        in_review(ROW, "similar_name"),
    ),
    "several records": (
        ROW,
        listed(known(1, "b"), known(1, "a")),
        manual_change(ROW, "several_records", known=None, candidates=("a", "b")),
    ),
    "unreadable record": (ROW, listed(known(1)), manual_change(ROW, "not_readable")),
    "deleted record": (
        ROW,
        listed(DELETED, records=DETAILS),
        manual_change(ROW, "record_deleted", known=DELETED),
    ),
    "equal record": (ROW, listed(known(1), records=DETAILS), there(ROW)),
    "unfinished": (ROW, entered(state=State.READY), resumed(ROW)),
    "being sent": (ROW, entered(state=State.SENDING, attempt=1), resumed(ROW)),
    "sent": (ROW, entered(state=State.UNKNOWN, attempt=1), resumed(ROW)),
    "unfinished with other data, not sent": (ROW, entered(state=State.READY, **OTHER), row(ROW)),
    "rejected before": (ROW, entered(state=State.REJECTED), row(ROW)),
    "given up in this drop": (ROW, in_drop(7, state=State.GIVEN_UP), resumed(ROW)),
    "given up with other data": (ROW, in_drop(7, state=State.GIVEN_UP, **OTHER), row(ROW)),
    **{
        f"sent with other data, {state}": (
            ROW,
            entered(state=state, **OTHER, **SENT),
            resumed(ROW, "in_flight_other_data"),
        )
        for state in (State.READY, State.UNKNOWN)
    },
    "in review": (ROW, TO_REVIEW, in_review(ROW, **IN_REVIEW)),
    "given up in another drop": (
        ROW,
        entered(state=State.GIVEN_UP),
        in_review(ROW, "given_up_before"),
    ),
    "created by a row": (ROW, OURS, there(ROW, "by_us")),
    "created by a row and deleted": (
        ROW,
        replace(entered(**CREATED), read_back={1: ()}),
        manual_change(ROW, "record_deleted", known=GONE),
    ),
    "created by a row and never seen": (
        ROW,
        entered(**CREATED),
        manual_change(ROW, "created_not_found", known=GONE),
    ),
    "unknown scope": (ROW, UNKNOWN_SCOPE, rejected(ROW, "unknown_scope", field="id_entity")),
    "other data": (
        CHEF,
        listed(known(1), records=DETAILS),
        manual_change(CHEF, "other_data", differences=JOB),
    ),
    "other number": (
        RENUMBERED,
        listed(known(1)),
        in_review(RENUMBERED, "same_person_other_key", candidates=("g",)),
    ),
    "invalid": (
        UNNAMED,
        UNKNOWN_SCOPE,
        row(UNNAMED, action=Action.REJECTED, body={}, faults=TWO_FAULTS),
    ),
    "unknown manager": (
        UNMANAGED,
        NOTHING,
        rejected(UNMANAGED, "manager_unknown", field="manager_payroll_number"),
    ),
    "unknown manager of a created row": (UNMANAGED, OURS_UNMANAGED, there(UNMANAGED, "by_us")),
    "other data than created in fields that the service never returns": (
        PAID,
        replace(OURS, records=DETAILS),
        manual_change(PAID, "changed_unseen", details=UNSEEN),
    ),
    "unknown manager of a row in review": (
        UNMANAGED,
        TO_REVIEW,
        in_review(UNMANAGED, **IN_REVIEW),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_data_ledger_and_service_determine_the_whole_row(name: str) -> None:
    data, view, expected = CASES[name]
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
