"""A drop made by mistake: its undo sheet, the removals by hand, and the same file dropped again."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.planning.managers import reports_first
from bms_flows.onboarding.planning.rules import Reading
from bms_flows.onboarding.planning.views import mirror_view
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reporting.report import RowOutcome
from bms_flows.runtime.checks import LoadHeld
from bms_sandbox.serve import Sandbox
from bms_warehouse.queries import drops
from bms_warehouse.tables.mirror import MIRROR_TABLES
from tests.bms_flows.mirror.environment import Mirror
from tests.bms_flows.onboarding.conftest import Drop, csv
from tests.bms_flows.onboarding.crm import TWO
from tests.bms_flows.onboarding.onboarding import Run, onboard
from tests.support.sql import execute, scalar, scalars

PEOPLE = csv(
    "900002;Martin;Paul;2026-05-01;900001",
    "900001;Lefèvre;Aurélie;2026-05-01;",
    "900003;Petit;Inès;2026-05-01;900002",
)


def run(this: Run) -> dict[str, int]:
    """Carry a drop through; return the number of rows by state."""
    outcomes: list[RowOutcome] = onboard(replace(this, entities=(1,)))
    return dict(Counter(each.state for each in outcomes))


def sheet_of(warehouse: Engine, number: int) -> list[Any]:
    """Return the undo sheet of a drop."""
    with warehouse.connect() as connection:
        return reports_first(drops.created(connection, number, MIRROR_TABLES["employee"].current))


def test_the_sheet_lists_what_the_drop_created_and_a_re_drop_starts_clean(
    sandbox: Sandbox, warehouse: Engine, mirror: Mirror, drop: Drop
) -> None:
    """A record that it made without getting the response, too; one that existed is on no sheet."""
    known = sandbox.insert(
        "employees",
        id_entity=1,
        payroll_number="900009",
        last_name="Roux",
        first_name="Max",
        start_date="2026-05-01",
    )
    first = drop(PEOPLE + b"1;900009;Roux;Max;2026-05-01;\n")
    sandbox.set_fault("commit_then_500", "create_employee", count=1)
    assert run(first) == {"created": 2, "adopted": 1, "already_there": 1}
    mirror.run("employee", id_entity=1)
    sheet = sheet_of(warehouse, first.drop_id)
    created = {row["payroll_number"]: row["guid_employee"] for row in sandbox.rows("employees")}
    # Reports before their managers.
    assert [row["remote_id"] for row in sheet] == [
        created[each] for each in ("900003", "900002", "900001")
    ]
    assert [row["last_name"] for row in sheet] == ["Petit", "Martin", "Lefèvre"]
    assert known["guid_employee"] not in {row["remote_id"] for row in sheet}

    for row in sheet[:2]:
        sandbox.delete("employees", row["remote_id"])
    strict = replace(mirror.settings, mirror_gone_rows=0, mirror_gone_percent=0)
    mirror.settings = strict
    with pytest.raises(LoadHeld):
        mirror.run("employee", id_entity=1)
    claim.open_undo_sheet(warehouse, first.drop_id, "marie")
    mirror.run("employee", id_entity=1)  # they are no losses
    states = [row["_removal_reason"] for row in sheet_of(warehouse, first.drop_id)]
    assert states == ["missing", "missing", None]
    sandbox.delete("employees", sheet[2]["remote_id"])
    mirror.run("employee", id_entity=1)
    assert all(row["_removal_reason"] for row in sheet_of(warehouse, first.drop_id))

    reading = Reading.of("employee", first.settings)
    view = mirror_view(warehouse, read(PEOPLE, "drop.csv", reading.resource), reading, None)
    assert view.entries == {}
    again = drop(PEOPLE)
    assert run(again) == {"created": 3}
    assert run(drop(PEOPLE)) == {"already_there": 3}
    assert len(sheet_of(warehouse, again.drop_id)) == 3
    numbers = Counter(row["payroll_number"] for row in sandbox.rows("employees"))
    assert [numbers[each] for each in ("900001", "900002", "900003", "900009")] == [1, 1, 1, 1]


def test_a_removal_without_an_undo_sheet_stays_a_change_for_users(
    sandbox: Sandbox, warehouse: Engine, drop: Drop
) -> None:
    """Nobody said that it was a mistake: the person may have left."""
    first = drop(csv("900001;Lefèvre;Aurélie;2026-05-01;"))
    assert run(first) == {"created": 1}
    [row] = sheet_of(warehouse, first.drop_id)
    sandbox.delete("employees", row["remote_id"])
    # Lists may omit a record that is newer.
    execute(warehouse, "update bms.creation set changed_at = changed_at - interval '1 minute'")
    assert run(drop(csv("900001;Lefèvre;Aurélie;2026-05-01;"))) == {"needs_review": 1}
    assert scalar(warehouse, "select count(*) from bms.creation") == 1


def test_a_later_run_of_a_drop_still_reports_what_the_drop_created(
    sandbox: Sandbox, drop: Drop
) -> None:
    """A run that leaves a row unfinished asks for another one, which writes the report again."""
    sandbox.set_fault("commit_then_500", "create_employee", count=1)
    first = replace(drop(PEOPLE), kept="")
    assert run(first) == {"created": 2, "adopted": 1}
    assert run(first) == {"created": 2, "adopted": 1}


def test_a_deleted_record_is_no_duplicate_of_the_record_that_replaces_it(
    sandbox: Sandbox, warehouse: Engine, drop: Drop
) -> None:
    """The lists of contacts still show what users deleted, as deleted."""
    first = drop(TWO["contact"], "contact")
    assert run(first) == {"created": 2}
    claim.open_undo_sheet(warehouse, first.drop_id, "marie")
    for remote_id in scalars(warehouse, "select remote_id from bms.creation"):
        sandbox.edit("contacts", remote_id, deleted=True)
    assert run(drop(TWO["contact"], "contact")) == {"created": 2}
    assert run(drop(TWO["contact"], "contact")) == {"already_there": 2}
    assert scalar(warehouse, "select count(*) from bms.creation_event where what = 'double'") == 0
