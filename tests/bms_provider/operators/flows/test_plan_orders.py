"""Plans cleared, approved and entered in any order: only rows of a plan that was approved are created."""

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine, text

from bms_sandbox.serve import Sandbox
from tests.bms_provider.operators.flows import execution
from tests.bms_provider.operators.flows.test_drops import connected, run

__all__ = ["connected"]  # a fixture

TASKS = ("plan", "approve", "enter", "approve_again", "enter_again", "create")
PEOPLE = {f"81000{n}": f"Dupré{'abc'[n]}" for n in range(3)}
SEEDS = range(100) if os.environ.get("BMS_PROVE") else (0, 10)
"""Seed 10 creates unapproved rows if an answer to another plan counts."""
Returned = dict[str, Any]


class History:
    """One run: what its tasks returned, and the rows of the plans that an approver approved."""

    def __init__(self, random: Random, sandbox: Sandbox, warehouse: Engine) -> None:
        self.random, self.sandbox, self.warehouse = random, sandbox, warehouse
        self.returned: dict[str, Returned] = {}
        self.approved: set[str] = set()
        self.typed: dict[str, str] = {}

    def act(self) -> None:
        """Run the next task, clear tasks, or change the service."""
        left = [task for task in TASKS if task not in self.returned]
        chance = self.random.random()
        if left and chance < 0.6:
            self.returned[left[0]] = getattr(self, left[0])()
        elif chance < 0.8:
            number = self.random.choice(list(PEOPLE))
            if guid := self.typed.pop(number, None):
                self.sandbox.delete("employees", guid)
            else:
                self.type_in(number)
        else:
            # Alone, or with all that follow; most often a plan whose approval stays.
            cleared = self.random.choice(({0}, {0, 2}, {0, 2, 4, 5}, {1}, {4, 5}, set(range(6))))
            for task in cleared:
                self.returned.pop(TASKS[task], None)

    def type_in(self, number: str) -> None:
        """Let an HR user type in one of the persons."""
        given = {"last_name": PEOPLE[number], "first_name": "Zoé", "start_date": "2027-01-04"}
        made = self.sandbox.insert("employees", id_entity=1, payroll_number=number, **given)
        self.typed[number] = made["guid_employee"]

    def plan(self) -> Returned:
        return execution.plan("employee")

    def approve(self, of: str = "plan") -> Returned:
        """Answer the request for a plan, as an approver who sees its rows."""
        proposed = self.returned[of]
        answer: Returned = {"plan": proposed.get("plan"), "approved": None, "who": None}
        if proposed.get("ask"):
            answer |= {"approved": self.random.random() < 0.8, "who": "ada"}
        if answer["approved"]:
            query = text("select jsonb_path_query(rows, '$[*] ? (@.action == \"create\").line')::int"
                         " from bms.creation_plan where id = :id")  # fmt: skip
            with self.warehouse.connect() as connection:
                lines = connection.scalars(query, {"id": proposed["plan"]}).all()
            self.approved |= {list(PEOPLE)[line - 2] for line in lines}
        return answer

    def approve_again(self) -> Returned:
        return self.approve("enter")

    def enter(self) -> Returned:
        return execution.enter(self.returned["plan"], self.returned["approve"])

    def enter_again(self) -> Returned:
        again = self.returned["approve_again"]
        return execution.enter(self.returned["enter"], again)

    def create(self) -> Returned:
        entered = self.returned["enter_again"]
        for chunk in entered["chunks"]:
            execution.create(entered, chunk)
        return {}


@pytest.mark.parametrize("seed", SEEDS)
def test_only_rows_of_approved_plans_are_created(
    seed: int, sandbox: Sandbox, warehouse: Engine, data_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_APPROVAL", "always")
    inbox = data_root / "inbox" / "employees"
    inbox.mkdir(parents=True)
    rows = "".join(f"{number};{name};Zoé;1;2027-01-04\r\n" for number, name in PEOPLE.items())
    (inbox / "a.csv").write_bytes((execution.HEADER + rows).encode("cp1252"))
    history = History(Random(seed), sandbox, warehouse)
    for number in list(PEOPLE)[: seed % 3]:
        history.type_in(number)
    with run(path="a.csv"):
        for _ in range(25):
            history.act()
            made = sandbox.truth()["created"]["employees"]
            created = {row["payroll_number"] for row in made} & PEOPLE.keys()
            assert created <= history.approved
