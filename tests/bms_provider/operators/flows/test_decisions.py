"""Decisions of reviewers and approvers on the rows of a drop."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.onboarding.inbox.archive import FileChanged
from bms_flows.onboarding.reporting.review import InvalidDecision
from bms_sandbox.serve import Sandbox
from bms_warehouse.queries import waiting
from tests.bms_provider.conftest import fields_of
from tests.bms_provider.operators.flows.execution import DROP, HEADER, enter, plan
from tests.bms_provider.operators.flows.test_drops import (
    carried,
    carry_through,
    connected,
    drop_row,
    run,
)
from tests.support.sql import execute, scalars

__all__ = ["connected"]  # a fixture


def refuse(run_id: str, message: str, **params: Any) -> None:
    """Decide on rows, which is refused with a message."""
    with run(run_id, **params), pytest.raises(InvalidDecision, match=message):
        plan("employee")


def test_a_decision_whose_report_can_t_be_written_is_not_carried_out(
    sandbox: Sandbox, warehouse: Engine, doubtful: str, data_root: Path, inbox: Path
) -> None:
    assert doubtful
    assert carried(path="mars.csv")["needs_review"] == 1
    for file in (data_root / drop_row(warehouse).archive, *inbox.glob(".taken-*")):
        file.unlink()  # its days are over
    decision = run("manual__2", drop=1, line="2", decision="create")
    with decision, pytest.raises(FileChanged, match="no longer kept; drop the file again"):
        plan("employee")
    assert not sandbox.truth()["created"]["employees"]
    assert drop_row(warehouse).state == "applied"


def test_a_row_of_an_earlier_drop_can_be_decided_in_a_later_drop(
    warehouse: Engine, doubtful: str, inbox: Path
) -> None:
    carried("manual__1", path="mars.csv")
    file = inbox / "mars.csv"
    file.write_text(f"{HEADER}810002;Roux;Léa;1;2027-01-04\r\n{doubtful}")
    assert carried("manual__2", path="mars.csv")["needs_review"] == 1
    with warehouse.connect() as connection:
        shown = [waiting.rows_of_drop(connection, drop) for drop in (1, 2)]
    assert [[(row.line, row.state) for row in rows] for rows in shown] == [
        [(2, "review")],
        [(3, "review")],
    ]
    assert carried("manual__3", drop=2, line="3", decision="create")["created"] == 2


def test_a_line_is_not_decided_in_the_place_of_another_with_other_data(
    warehouse: Engine, doubtful: str, inbox: Path, data_root: Path
) -> None:
    file = inbox / "mars.csv"
    carried("manual__1", path="mars.csv")
    header = HEADER.replace("\r\n", ";Fonction\r\n")
    file.write_text(header + doubtful.replace("\r\n", ";Analyste\r\n"))
    ended = carried("manual__2", path="mars.csv")
    assert ended["needs_review"] == 1
    review = (data_root / ended["report"] / "needs_review.csv").read_text("utf-8-sig")
    assert "Le dépôt 1 a cet identifiant avec d'autres données, et attend une décision." in review
    ended_at = drop_row(warehouse, 2).finished_at
    second = {"drop": 2, "line": "2", "decision": "create"}
    refuse("manual__3", "line 2 of drop 1 waits, with other data", **second)
    drop = drop_row(warehouse, 2)
    assert (drop.state, drop.finished_at) == ("applied", ended_at)
    assert carried("manual__4", drop=1, line="2", decision="create")["created"] == 1
    refuse("manual__5", "line 2 of drop 2 is not waiting for a decision$", **second)


def test_what_was_erased_is_given_up_and_dropped_again(
    warehouse: Engine, doubtful: str, inbox: Path
) -> None:
    carried("manual__1", path="mars.csv")
    execute(warehouse, "delete from bms.creation_body")
    refuse("manual__2", "give_up, then drop the row again", drop=1, line="2", decision="create")
    assert carried("manual__3", drop=1, line="2", decision="give_up")["rejected"] == 1
    file = inbox / "mars.csv"
    file.write_text(f"{HEADER}{doubtful}\r\n")
    assert carried("manual__4", path="mars.csv")["needs_review"] == 1
    assert carried("manual__5", drop=2, line="2", decision="create")["created"] == 1


@pytest.fixture
def four_alike(sandbox: Sandbox, inbox: Path) -> None:
    """A file of four who may be employees known under other numbers: all are in review."""
    for n in range(4):
        known = {"last_name": f"Dupré{n}", "first_name": "Zoé", "start_date": "2027-01-04"}
        sandbox.insert("employees", id_entity=1, payroll_number=f"70000{n}", **known)
    rows = "".join(f"81000{n};Dupré{n};Zoé;1;2027-01-04\r\n" for n in range(4))
    (inbox / "juin.csv").write_text(HEADER + rows)
    assert carried("manual__1", path="juin.csv")["needs_review"] == 4


@pytest.mark.usefixtures("four_alike")
def test_one_decision_applies_to_many_lines_and_an_invalid_one_to_none(
    sandbox: Sandbox, warehouse: Engine
) -> None:
    for given, message in (
        ({"line": "3, 77"}, "line 77 of drop 1 is not waiting"),
        ({"line": "70-77"}, "no such line of drop 1 is not waiting"),
        ({"line": "all", "decision": "0f0f"}, "a record belongs to one line"),
        ({"line": "3;4"}, "4 or 3-7, 9 or all"),
    ):
        refuse("manual__2", message, **{"drop": 1, "decision": "create", **given})
    assert scalars(warehouse, "select distinct state from bms.creation") == ["review"]
    with run("manual__2", drop=1, line="2-3, 5", decision="create"):
        proposed = plan("employee")
        assert proposed["text"].startswith("lines 2-3, 5, 3 rows: create, decided by")
        ended = carry_through(proposed)
    assert (ended["created"], ended["needs_review"]) == (3, 1)
    assert carried("manual__3", drop=1, line="4-5", decision="give_up")["rejected"] == 1
    made = [row["payroll_number"] for row in sandbox.truth()["created"]["employees"]]
    assert sorted(made) == ["810000", "810001", "810003"]


@pytest.mark.usefixtures("warehouse", "four_alike")
def test_released_rows_need_the_approval_that_planned_rows_need(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_APPROVAL", "always")
    for number, approved in enumerate((False, True), 2):
        with run(f"manual__{number}", drop=1, line="all", decision="create"):
            proposed = plan("employee")
            assert "4 salariés" in proposed["question"]["subject"]
            assert not sandbox.truth()["created"]["employees"]
            answer = {"approved": approved, "who": "ada"}
            ended = carry_through(proposed, answer)
        assert ended["created" if approved else "needs_review"] == 4


@pytest.mark.usefixtures("warehouse")
def test_a_released_row_of_an_entity_without_employees_needs_approval(
    sandbox: Sandbox, doubtful: str, connect: Callable[..., None], inbox: Path
) -> None:
    """A list without any record may be a failure."""
    connect(**fields_of(sandbox, entities="1, 3"))
    assert all(row["id_entity"] != 3 for row in sandbox.rows("employees"))
    file = inbox / "mars.csv"
    file.write_text(HEADER + doubtful.replace(";1;", ";3;", 1))
    assert carried("manual__1", path="mars.csv")["needs_review"] == 1
    with run("manual__2", drop=1, line="2", decision="create"):
        assert plan("employee")["ask"]


@pytest.mark.usefixtures("warehouse", "doubtful")
def test_released_rows_count_towards_the_limit_of_the_day(
    monkeypatch: pytest.MonkeyPatch, inbox: Path
) -> None:
    monkeypatch.setenv("BMS_APPROVAL", "1")
    carried("manual__1", path="mars.csv")
    assert carried("manual__2", drop=1, line="2", decision="create")["created"] == 1
    (inbox / "avril.csv").write_bytes(DROP.encode("cp1252"))
    with run("manual__3", path="avril.csv"):
        assert plan("employee")["ask"]


@pytest.mark.usefixtures("warehouse", "four_alike")
def test_a_decision_for_all_lines_resumes_after_a_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        """The task's process dies."""

    async def killed(*_: Any) -> None:
        raise Killed

    with run("manual__2", drop=1, line="all", decision="create"):
        with monkeypatch.context() as dying:
            dying.setattr("bms_flows.onboarding.sending.apply.Applier.apply", killed)
            with pytest.raises(Killed):
                plan("employee")
        assert carry_through(plan("employee"))["created"] == 4


def test_an_answer_to_another_plan_approves_nothing(
    sandbox: Sandbox, dropped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user clears the planning task and the entering task, but not the approval between them."""
    monkeypatch.setenv("BMS_APPROVAL", "always")
    with run(path=dropped):
        proposed = plan("employee")
        answer = {"plan": "another", "approved": True, "who": "ada"}
        entered = enter(proposed, answer)
        assert (entered["ask"], entered["chunks"]) == (True, [])
        assert entered["question"] == proposed["question"]
        assert sandbox.truth()["created"]["employees"] == []
        refusal = {**answer, "approved": False}
        assert enter(proposed, refusal)["ask"], "nor does it refuse"
        assert carry_through(entered, {"approved": True, "who": "ada"})["created"] > 0


def test_a_decision_applies_to_rows_with_one_reason(
    sandbox: Sandbox, warehouse: Engine, doubtful: str, inbox: Path
) -> None:
    sandbox.insert("employees", id_entity=1, payroll_number="700700")
    (inbox / "mars.csv").write_text(f"{HEADER}{doubtful}00700700;Roux;Léa;1;2027-01-04\r\n")
    assert carried("manual__1", path="mars.csv")["needs_review"] == 2
    reasons = "2: same_person_other_key; 3: same_number_other_form"
    refuse("manual__2", reasons, drop=1, line="all", decision="create")
    assert drop_row(warehouse).state == "applied"
    assert carried("manual__3", drop=1, line="all", decision="give_up")["rejected"] == 2


def test_a_drop_that_was_only_looked_at_is_decided_once_it_comes_again(
    warehouse: Engine, doubtful: str, inbox: Path
) -> None:
    assert carried("manual__1", path="mars.csv", dry_run=True)["needs_review"] == 1
    refuse("manual__2", "trigger with drop=1 alone", drop=1, line="2", decision="create")
    assert drop_row(warehouse).state == "not_applied"
    (inbox / "mars.csv").write_text(HEADER + doubtful)
    carried("manual__3", path="mars.csv")
    assert drop_row(warehouse, 2).state == "applied"
    assert carried("manual__4", drop=2, line="2", decision="create")["created"] == 1
