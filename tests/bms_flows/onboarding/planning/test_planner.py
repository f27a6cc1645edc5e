"""Every decision of a plan, on sheets and views made by hand."""

from dataclasses import replace
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.ledger.entry import Entry, State
from bms_flows.onboarding.planning import rules
from bms_flows.onboarding.planning.matching import PlanningView, match_keys_of, records_to_read
from bms_flows.onboarding.planning.plan import (
    Action,
    ApprovalReason,
    Plan,
    approval_decision,
    breaches,
)
from bms_flows.onboarding.planning.planner import make
from bms_flows.onboarding.reading.sheet import FileFormat, Row, Sheet
from bms_flows.onboarding.resources.body import body_digest
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.remotes import Employees

IDENTITY = Employees.identity
RULES = rules.read(EMPLOYEE)
TODAY = date(2026, 3, 31)
NOTHING = PlanningView({}, {}, [])
SENT = {"first_intended_at": datetime(2026, 3, 31, tzinfo=UTC)}


def values(n: int, **given: Any) -> dict[str, Any]:
    made = {
        "id_entity": 1,
        "payroll_number": f"{n:04}",
        "last_name": f"Nom{n}",
        "first_name": "Zoé",
        "start_date": date(2026, 5, 15),
        **given,
    }
    return {name: value for name, value in made.items() if value is not None}


def sheet(*rows: dict[str, Any], faults: tuple[Fault, ...] = ()) -> Sheet:
    lines = tuple(Row(line, row, ()) for line, row in enumerate(rows, 2))
    return Sheet(FileFormat("csv"), lines, faults, "sha")


def planned(view: PlanningView, *rows: dict[str, Any]) -> Plan:
    return make(sheet(*rows), EMPLOYEE, IDENTITY, RULES, view)


def test_a_corrected_sheet_has_its_own_match_keys() -> None:
    before = sheet(values(1))
    keys = match_keys_of(before, IDENTITY)
    after = replace(before, rows=sheet(values(2)).rows)
    assert keys.isdisjoint(match_keys_of(after, IDENTITY))
    assert match_keys_of(before, IDENTITY) == keys == {*IDENTITY.rules_by_digest(values(1))}


def known(n: int, remote_id: str = "g", **given: Any) -> ServiceRecord:
    shown = values(n, **given)
    return ServiceRecord(
        remote_id=remote_id,
        number=100 + n,
        key=IDENTITY.key(shown),
        other_digests=IDENTITY.digests(shown).other_digests,
        comparison_fields=IDENTITY.comparison_digests(shown),
        values=shown,
    )


def entry(n: int, state: State, **given: Any) -> Entry:
    key, digest = IDENTITY.key(values(n)) or "", body_digest(values(n))
    made = Entry(id=n, key=key, digest=digest, max_attempts=5, state=state)
    return structs.replace(made, **given)


def ledger(*entries: Entry) -> PlanningView:
    return PlanningView({each.key: each for each in entries}, {}, [])


def test_new_rows_are_created_with_the_specified_body() -> None:
    [row] = planned(NOTHING, values(1, mission2="B", salary_variable3_type="PRIME")).rows
    assert row.action is Action.CREATE
    assert row.body == {
        **values(1),
        "missions": {"mission2": "B"},
        "salary_variable": [{"type": "PRIME"}],
    }


def test_a_row_without_a_manager_does_not_report_to_a_row_without_a_key() -> None:
    plan = planned(NOTHING, values(1), values(2, payroll_number=None))
    assert [row.action for row in plan.rows] == [Action.CREATE, Action.REJECTED]


def test_leading_zeros_are_another_number_that_a_reviewer_decides_on() -> None:
    plan = planned(NOTHING, values(1, payroll_number="0042"), values(2, payroll_number="42"))
    assert [row.action for row in plan.rows] == [Action.CREATE, Action.REVIEW]
    assert plan.rows[1].reason == "like_another_row"
    assert plan.rows[1].details == {"nearest": " (l. 2)"}


@pytest.mark.parametrize(
    "seen",
    [{"shown": [known(1)]}, {"in_flight": {IDENTITY.key(values(1)): ()}}, {"records": {"g": 1}}],
    ids=["listed", "made just now", "readable"],
)
@pytest.mark.parametrize("state", [State.CREATED, State.ADOPTED])
def test_a_created_record_exists_unless_proven_missing(state: State, seen: dict[str, Any]) -> None:
    view = replace(ledger(entry(1, state, remote_id="g")), **seen)
    [row] = planned(view, values(1)).rows
    assert (row.action, row.reason) == (Action.ALREADY_THERE, "by_us")


def test_a_live_record_with_the_same_number_replaces_a_missing_employee() -> None:
    record = SimpleNamespace(**values(1, start_date="2026-05-15T00:00:00"))
    ours = ledger(entry(1, State.CREATED, remote_id="g"))
    view = replace(ours, shown=[known(1, "new")])
    assert records_to_read(sheet(values(1)), EMPLOYEE, IDENTITY, view) == {"g", "new"}
    [row] = planned(replace(view, records={"new": record}), values(1)).rows
    assert (row.action, row.known and row.known.remote_id) == (Action.ALREADY_THERE, "new")


def test_a_record_created_since_is_found_despite_an_abandoned_attempt() -> None:
    record = SimpleNamespace(**values(1, start_date="2026-05-15T00:00:00"))
    given_up = ledger(entry(1, State.GIVEN_UP, drop_id=7))
    view = replace(given_up, shown=[known(1)], records={"g": record}, drop_id=7)
    assert planned(view, values(1)).rows[0].action is Action.ALREADY_THERE


def test_managers_are_found_by_number_mail_and_in_the_file() -> None:
    view = PlanningView({}, {}, [known(50, business_email="boss@x.example")])
    rows = planned(
        view,
        values(1, manager_payroll_number="0050"),
        values(2, manager_email="BOSS@x.example"),
        values(3, id_manager=7),
        values(4, manager_payroll_number="0003"),
    ).rows
    assert [row.body.get("id_manager") for row in rows] == [150, 150, 7, None]
    assert rows[3].manager_key == rows[2].key


TWINS = [known(n, f"g{n}", business_email="twin@x.example") for n in (50, 51)]
LEFT = {"departure_date": "2026-05-14", "business_email": "boss@x.example"}


@pytest.mark.parametrize(
    ("records", "given", "code"),
    [
        (TWINS, {"manager_email": "twin@x.example"}, "manager_ambiguous"),
        (TWINS, {"manager_payroll_number": "0001"}, "manager_cycle"),
        ([known(50, **LEFT)], {"manager_email": "boss@x.example"}, "manager_left"),
    ],
)
def test_an_ambiguous_manager_rejects_the_row(
    records: list[ServiceRecord], given: dict[str, Any], code: str
) -> None:
    """So does one who has left before the row's start."""
    [row] = planned(PlanningView({}, {}, records), values(1, **given)).rows
    assert [fault.code for fault in row.faults] == [code]


def test_a_manager_in_the_service_and_a_new_row_with_one_address_are_ambiguous() -> None:
    view = PlanningView({}, {}, [known(50, business_email="boss@x.example")])
    reporting, _ = planned(
        view, values(1, manager_email="boss@x.example"), values(2, business_email="boss@x.example")
    ).rows
    assert [fault.code for fault in reporting.faults] == ["manager_ambiguous"]


@pytest.mark.parametrize(("listed", "id_manager"), [([], 150), ([known(60)], None)])
def test_a_file_that_gives_a_listed_person_the_address_of_another_is_ambiguous(
    listed: list[ServiceRecord], id_manager: int | None
) -> None:
    """The file says that the address is the address of 50, the list that it is the address of 60."""
    owners = [
        structs.replace(
            each, remote_id="g60", values={**each.values, "business_email": "boss@x.example"}
        )
        for each in listed
    ]
    view = PlanningView({}, {}, [known(50), *owners])
    reporting, changed = planned(
        view, values(1, manager_email="boss@x.example"), values(50, business_email="boss@x.example")
    ).rows
    assert changed.known is not None
    assert reporting.body.get("id_manager") == id_manager
    assert [f.code for f in reporting.faults] == ([] if id_manager else ["manager_ambiguous"])


@pytest.mark.parametrize(
    ("shared", "code"),
    [
        ({"last_name": "Girard", "business_email": "g@x.example"}, "same_name_and_email"),
        ({"social_security_number": "2 84 05 78 006 084 91"}, "same_social_security_number"),
        ({"last_name": "Girar", "business_email": "g@x.example"}, "same_email_other_name"),
    ],
)
def test_a_likely_person_under_another_number_goes_to_review(
    shared: dict[str, Any], code: str
) -> None:
    view = PlanningView({}, {}, [known(50, start_date=date(2020, 1, 6), **shared)])
    typed = {name: text.replace(" ", "").upper() for name, text in shared.items()}
    typed |= {"last_name": "GIRARD"} if shared.get("last_name") == "Girar" else {}
    [row] = planned(view, values(50, payroll_number="0099", **typed)).rows
    assert (row.action, row.reason, row.candidates) == (Action.REVIEW, code, ("g",))


def test_a_manager_cycle_is_rejected_with_all_its_reports() -> None:
    plan = planned(
        NOTHING,
        values(1, manager_payroll_number="0002"),
        values(2, manager_payroll_number="0001"),
        values(3, manager_payroll_number="0002"),
        values(4, manager_payroll_number="0003"),
        values(5),
    )
    assert [[f.code for f in row.faults] for row in plan.rows] == [
        ["manager_cycle"],
        ["manager_cycle"],
        ["manager_rejected"],
        ["manager_rejected"],
        [],
    ]


def test_the_plan_id_covers_every_input_of_the_plan() -> None:
    plan = planned(NOTHING, values(1))
    assert plan.id == planned(NOTHING, values(1)).id
    others = [
        planned(NOTHING, values(1, job_title="Chef")),
        planned(PlanningView({}, {}, [known(1)]), values(1)),
        planned(ledger(entry(1, State.REJECTED)), values(1)),
        make(sheet(values(1)), EMPLOYEE, IDENTITY, replace(RULES, version="2"), NOTHING),
    ]
    assert len({plan.id, *(other.id for other in others)}) == 5
    assert planned(PlanningView({}, {}, [known(2)]), values(1)).id == plan.id, "it concerns no row"


def test_a_plan_is_within_another_only_with_the_same_data_and_no_more_rows() -> None:
    agreed = planned(NOTHING, values(1), values(2)).creates
    assert planned(NOTHING, values(1)).within(agreed)
    assert not planned(NOTHING, values(1), values(2), values(3)).within(agreed)
    assert not planned(NOTHING, values(1, job_title="Chef"), values(2)).within(agreed)


def test_no_repr_contains_personal_data() -> None:
    plan = planned(NOTHING, values(1, social_security_number="2840578006084"))
    assert "2840578006084" not in repr(plan)
    assert "2840578006084" not in repr(plan.rows)
    assert "Nom1" not in repr(plan.rows)


@pytest.mark.parametrize(
    ("approval", "rows", "ask"),
    [("always", 1, True), ("never", 30, False), (20, 20, False), (20, 21, True), (0, 1, True)],
)
def test_approval_requirements(approval: Any, rows: int, ask: bool) -> None:
    plan = planned(NOTHING, *(values(n) for n in range(1, rows + 1)))
    assert approval_decision(plan, RULES.plan, approval, TODAY).ask is ask


@pytest.mark.parametrize(("unapproved", "ask"), [(0, False), (15, False), (16, True)])
def test_rows_created_unapproved_today_count(unapproved: int, ask: bool) -> None:
    plan = planned(NOTHING, *(values(n) for n in range(1, 6)))
    assert approval_decision(plan, RULES.plan, 20, TODAY, unapproved).ask is ask
    assert not approval_decision(planned(NOTHING), RULES.plan, 20, TODAY, unapproved).ask


def test_the_headcount_limit_counts_a_whole_day() -> None:
    view = PlanningView({}, {}, [], headcount=100)
    plan = planned(view, *(values(n) for n in range(1000, 1020)))
    assert breaches(plan, RULES.plan, TODAY, 30) == ()
    [breach] = breaches(plan, RULES.plan, TODAY, 31)
    assert breach == ApprovalReason("created", "51 / 100", "50%")


@pytest.mark.parametrize("approval", ["never", 10**6])
def test_a_filled_column_that_is_not_sent_always_needs_approval(approval: Any) -> None:
    plan = planned(NOTHING, values(1))
    found = approval_decision(plan, RULES.plan, approval, TODAY, columns_left_out=2)
    assert (found.ask, [each.code for each in found.reasons]) == (True, ["columns_left_out"])
    nothing = approval_decision(planned(NOTHING), RULES.plan, approval, TODAY, columns_left_out=2)
    assert not nothing.ask


@pytest.mark.parametrize(
    ("rows", "shown", "code"),
    [
        ([values(n) for n in range(1001)], 0, "rows"),
        ([values(1), *(values(n, last_name=None) for n in (2, 3))], 0, "rejected"),
        ([values(n) for n in range(1000, 1051)], 100, "created"),
        ([values(1, start_date=date(2028, 3, 31))], 0, "start_date"),
        ([values(1, start_date=date(2024, 3, 30))], 0, "start_date"),
    ],
    ids=["rows", "rejected", "created", "too late", "too early"],
)
def test_an_exceeded_limit_requires_approval_or_is_reported_when_approval_is_never(
    rows: list[dict[str, Any]], shown: int, code: str
) -> None:
    plan = planned(PlanningView({}, {}, [], headcount=shown), *rows)
    asked = approval_decision(plan, RULES.plan, 10_000, TODAY)
    assert asked.ask
    assert [breach.code for breach in asked.breaches] == [code]
    never = approval_decision(plan, RULES.plan, "never", TODAY)
    assert not never.ask
    assert never.breaches == asked.breaches


def test_a_plan_at_its_limits_needs_no_approval() -> None:
    plan = planned(
        PlanningView({}, {}, [], headcount=100),
        *(values(n, start_date=date(2028, 3, 30)) for n in range(1000, 1050)),
        *(values(n, last_name=None) for n in range(2000, 2050)),
    )
    assert breaches(plan, RULES.plan, TODAY) == ()


def test_a_plan_for_a_list_without_records_needs_approval() -> None:
    """The list may be empty although the service has records."""
    plan = planned(PlanningView({}, {}, [], empty_scopes=1), values(1))
    decision = approval_decision(plan, RULES.plan, "never", TODAY)
    assert decision.ask
    assert [reason.code for reason in decision.reasons] == ["empty_scope"]
