"""Managers of the file together with managers that unfinished rows of earlier drops keep in the ledger."""

from typing import Any

import pytest

from bms_flows.onboarding.ledger.entry import Entry, State
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
