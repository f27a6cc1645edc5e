"""The runbook has a section for every code that a message, the board or a table names."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bms_flows import texts
from bms_flows.runtime.notice import Links
from bms_flows.runtime.settings import FlowSettings
from bms_warehouse.tables.step_runs import STEP_RUN_STATES
from tests.test_docs import anchors

pytestmark = pytest.mark.bookkeeping

RUNBOOK = (Path(__file__).parent.parent / "docs/runbook.md").read_text()
SECTIONS = {
    part.partition("\n")[0]: part for part in re.split(r"^### ", RUNBOOK, flags=re.MULTILINE)[1:]
}
CHECKED = [texts.ALARMS, texts.VIOLATIONS, texts.MIRROR_REASONS, texts.AUDIT_REASONS]
PLAIN = [texts.ROW_FAULTS, texts.WAITING, texts.WITHDRAWN]


@pytest.mark.parametrize("code", sorted({code for codes in CHECKED for code in codes}))
def test_every_alarm_and_check_has_meaning_check_and_remedy(code: str) -> None:
    assert re.findall(r"^- \*\*(\w+)\*\*", SECTIONS[code], re.MULTILINE) == [
        "Means",
        "Check",
        "Remedy",
    ]


@pytest.mark.parametrize("code", sorted({code for codes in PLAIN for code in codes}))
def test_every_row_fault_and_every_wait_has_meaning_and_remedy(code: str) -> None:
    assert re.findall(r"^- \*\*(\w+)\*\*", SECTIONS[code], re.MULTILINE) == ["Means", "Remedy"]


@pytest.mark.parametrize("code", sorted(texts.FAULTS))
def test_every_fault_of_a_drop_has_a_line(code: str) -> None:
    assert f"| `{code}` |" in RUNBOOK


def test_every_state_but_the_good_ones_has_a_section() -> None:
    assert {*STEP_RUN_STATES} - {"running", "complete"} <= SECTIONS.keys()


def test_every_section_is_of_a_known_code() -> None:
    known = {code for codes in CHECKED + PLAIN for code in codes}
    assert SECTIONS.keys() <= known


@pytest.mark.parametrize("code", sorted(texts.ALARMS))
def test_the_link_of_a_message_leads_to_its_section(code: str) -> None:
    own = replace(FlowSettings(), runbook_url="https://wiki.example.com/runbook")
    assert Links.of(own).section(code) == f"https://wiki.example.com/runbook#{code}"
    assert code in anchors(RUNBOOK)


def test_a_freshness_target_can_be_switched_off() -> None:
    given = {"BMS_FRESH_HOURS": '{"contact_sync": "off"}'}
    assert FlowSettings.from_environment(given).fresh_hours == {"contact_sync": "off"}
