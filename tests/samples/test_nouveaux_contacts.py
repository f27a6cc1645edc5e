"""Sample files of contacts and consultants, with valid and invalid rows."""

from pathlib import Path
from typing import Any

import pytest

from bms_flows.onboarding.inbox.discovery import complete
from bms_flows.onboarding.planning import rules
from bms_flows.onboarding.planning.matching import PlanningView
from bms_flows.onboarding.planning.plan import Action
from bms_flows.onboarding.planning.planner import make
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.resources.consultant import CONSULTANT, consultant_identity
from bms_flows.onboarding.resources.contact import CONTACT, contact_identity


@pytest.mark.parametrize(
    ("name", "resource", "identity", "creates", "others"),
    [
        (
            "nouveaux_contacts.csv",
            CONTACT,
            contact_identity(CONTACT),
            4,
            {
                5: "like_another_row",
                7: "bad_email",
                8: "missing_value",
                9: "no_key",
                10: "bad_boolean",
            },
        ),
        (
            "nouveaux_consultants.csv",
            CONSULTANT,
            consultant_identity(CONSULTANT),
            3,
            {5: "out_of_range"},
        ),
    ],
    ids=["contacts", "consultants"],
)
def test_it_is_planned_as_it_says(
    name: str, resource: Any, identity: Any, creates: int, others: dict[int, str], project: Path
) -> None:
    content = (project / "include/samples" / name).read_bytes()
    assert complete(content, name)
    sheet = read(content, name, resource)
    assert (sheet.form.encoding, sheet.form.delimiter, sheet.file_faults) == ("cp1252", ";", ())
    plan = make(sheet, resource, identity, rules.read(resource), PlanningView({}, {}, []))
    assert len(plan.creates) == creates
    found = {
        row.line: row.faults[0].code if row.faults else row.reason
        for row in plan.rows
        if row.action is not Action.CREATE
    }
    assert found == others
