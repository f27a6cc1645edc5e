"""Managers of the file together with managers that unfinished rows of earlier drops keep in the ledger."""

from datetime import date
from functools import partial
from typing import Any

import pytest
from msgspec import structs

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.ledger.entry import Entry, State
from bms_flows.onboarding.planning.managers import (
    ManagerCandidate,
    Managers,
    Unnumbered,
    candidate_of_record,
    candidate_of_row,
    reports_first,
)
from bms_flows.onboarding.planning.matching import PlanningView
from bms_flows.onboarding.planning.plan import Action, Plan
from bms_flows.onboarding.resources.body import body_digest
from tests.bms_flows.onboarding.planning.test_planner import (
    IDENTITY,
    SENT,
    entry,
    known,
    ledger,
    planned,
    values,
)


def below(n: int, manager: int) -> dict[str, Any]:
    """Row `n` with its manager."""
    return values(n, manager_payroll_number=f"{manager:04}")


def stored(n: int, manager: int | None = None, state: State = State.READY, **given: Any) -> Entry:
    """The ledger's row `n`, entered with a manager."""
    row = values(n) if manager is None else below(n, manager)
    key = None if manager is None else IDENTITY.key(values(manager))
    return entry(n, state, **{"digest": body_digest(row), "manager_key": key, **given})


def ended(plan: Plan) -> list[str]:
    """Each row's first fault, or its action."""
    assert all(fault.line == row.line for row in plan.rows for fault in row.faults)
    return [row.faults[0].code if row.faults else row.action.value for row in plan.rows]


def test_a_cycle_with_an_unchanged_unfinished_row_is_rejected_as_in_a_new_file() -> None:
    view = ledger(stored(1, 2), stored(2))
    plan = planned(view, below(1, 2), below(2, 1))
    assert ended(plan) == ["manager_cycle", "manager_cycle"]


def test_a_cycle_through_a_row_outside_the_file_is_rejected() -> None:
    view = ledger(stored(1, 3), stored(2), stored(3, 2))
    plan = planned(view, below(1, 3) | {"manager_payroll_number": "0003"}, below(2, 1), values(4))
    assert ended(plan)[1:] == ["manager_cycle_unfinished", "create"]


def test_a_corrected_hierarchy_replaces_the_one_in_the_ledger() -> None:
    view = ledger(stored(1, 2), stored(2))
    plan = planned(view, values(1), below(2, 1))
    assert ended(plan) == ["create", "create"]


@pytest.mark.parametrize("middle", [False, True], ids=["directly", "through another drop's row"])
def test_an_unfinished_row_below_a_rejected_row_is_rejected(middle: bool) -> None:
    rows = [stored(1, 3), stored(3, 2)] if middle else [stored(1, 2)]
    view = ledger(*rows, stored(2))
    plan = planned(view, below(1, 3 if middle else 2), values(2, last_name=None))
    assert ended(plan) == ["manager_rejected", "missing_value"]


def test_a_row_in_review_keeps_its_manager_and_is_not_rejected() -> None:
    view = ledger(stored(1, 2, State.REVIEW, reason="same_name_only"))
    assert ended(planned(view, values(1), below(2, 1))) == ["review", "manager_cycle_unfinished"]


def test_a_sent_row_is_settled_whatever_is_wrong_with_its_manager_s_row() -> None:
    view = ledger(stored(1, 2, State.UNKNOWN, attempt=1, **SENT), stored(2, None, State.CREATED))
    plan = planned(view, below(1, 2), values(2, last_name=None))
    assert ended(plan) == ["resume", "missing_value"]


def test_a_row_whose_manager_exists_is_resumed_whatever_is_wrong_with_the_manager_s_row() -> None:
    view = ledger(stored(1, 2), stored(2, None, State.CREATED, remote_id="g"))
    plan = planned(view, below(1, 2), values(2, last_name=None))
    assert [row.action for row in plan.rows] == [Action.RESUME, Action.REJECTED]


@pytest.mark.parametrize(("row", "end"), [(below(1, 50), "manager_left"), (values(1), "create")])
def test_an_unreadable_day_of_departure_only_rejects_rows_of_that_manager(
    row: dict[str, Any], end: str
) -> None:
    view = PlanningView({}, {}, [known(50, departure_date="soon")])
    assert ended(planned(view, row)) == [end]


def candidate(name: str, who: int | str | Unnumbered, **given: Any) -> ManagerCandidate:
    return ManagerCandidate(given.pop("entity", "1"), name, f"{name}@x", who, **given)


MANAGERS = Managers(
    [
        candidate("here", 150),
        candidate("elsewhere", 151, entity="2"),
        candidate("deleted", 152, deleted=True),
        *(candidate("rehired", 153, deleted=True), candidate("rehired", 154)),
        *(candidate("left", 155, left_on=date(2026, 5, 14)), candidate("left", 155)),
        candidate("unnumbered", Unnumbered("g")),
        *(candidate("twins", 156), candidate("twins", 157)),
        candidate("row", "key"),
        *(candidate("both", 158, left_on=None), candidate("both", "key")),
        *(candidate("two", 159), candidate("two", "key", creates=True)),
    ]
)


@pytest.mark.parametrize(
    ("way", "named", "start", "found"),
    [
        ("id_manager", "", None, None),
        ("id_manager", "150", None, 150),
        ("id_manager", 152, None, "manager_deleted"),
        ("manager_payroll_number", "HERE", None, 150),
        ("manager_payroll_number", "elsewhere", None, "manager_elsewhere"),
        ("manager_payroll_number", "nobody", None, "manager_unknown"),
        ("manager_email", "nobody@x", None, "manager_unknown"),
        ("manager_email", "ELSEWHERE@x", None, 151),
        ("manager_email", "deleted@x", None, "manager_deleted"),
        ("manager_email", "rehired@x", None, 154),
        ("manager_email", "left@x", None, "manager_left"),
        ("manager_email", "left@x", date(2026, 5, 15), "manager_left"),
        ("manager_email", "left@x", date(2026, 5, 14), 155),
        ("manager_email", "unnumbered@x", None, "manager_without_number"),
        ("manager_email", "twins@x", None, "manager_ambiguous"),
        ("manager_email", "row@x", None, "key"),
        ("manager_email", "both@x", None, 158),
        ("manager_email", "two@x", None, "manager_ambiguous"),
    ],
)
def test_the_manager_of_a_row(way: str, named: Any, start: date | None, found: Any) -> None:
    if str(found).startswith("manager_"):
        found = Fault(found, 7, field=way)
    assert MANAGERS.of(7, {"id_entity": 1, "start_date": start, way: named}) == found


def test_two_ways_to_name_a_manager_are_a_fault() -> None:
    fault = MANAGERS.of(7, {"manager_email": "here@x", "id_manager": 150})
    other = {"other": "Id responsable"}
    assert fault == Fault("manager_twice", 7, field="manager_email", details=other)


def test_a_row_is_the_manager_that_its_undeleted_record_is() -> None:
    record = known(50, business_email="B@x", departure_date="2026-05-14")
    assert candidate_of_record(record) == ManagerCandidate(
        "1", "0050", "b@x", 150, left_on=date(2026, 5, 14)
    )
    unnumbered = structs.replace(record, number=None, deleted=True)
    assert candidate_of_record(unnumbered) == ManagerCandidate(
        "1", "0050", "b@x", Unnumbered("g"), left_on=date(2026, 5, 14), deleted=True
    )
    of_row = partial(candidate_of_row, values(1, business_email="C@x"), "key")
    own = partial(ManagerCandidate, "1", "0001", "c@x")
    assert of_row(record, creates=False) == own(150, left_on=date(2026, 5, 14))
    assert (
        of_row(unnumbered, creates=True) == of_row(None, creates=True) == own("key", creates=True)
    )


@pytest.mark.parametrize(
    ("above", "order"),
    [
        ({"a": None, "b": "a", "c": "b"}, "cba"),
        ({"a": "x", "b": "a", "c": None, "d": "e", "e": "d"}, "debac"),  # d and e on a cycle
    ],
)
def test_reports_precede_their_managers(above: dict[str, str | None], order: str) -> None:
    rows = [{"key": key, "manager_key": manager} for key, manager in above.items()]
    assert [row["key"] for row in reports_first(rows)] == [*order]
