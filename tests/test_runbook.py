"""The runbook has a section for every code that a message, the board or a table names."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bms import errors
from bms_flows import texts
from bms_flows.onboarding.sending import breaker
from bms_flows.runtime import service_identity, storage
from bms_flows.runtime.notice import Links
from bms_flows.runtime.settings import FlowSettings
from bms_warehouse import errors as warehouse_errors
from bms_warehouse.tables.step_runs import STEP_RUN_STATES
from tests.test_docs import anchors

pytestmark = pytest.mark.bookkeeping

RUNBOOK = (Path(__file__).parent.parent / "docs/runbook.md").read_text()
SECTIONS = {
    part.partition("\n")[0]: part for part in re.split(r"^### ", RUNBOOK, flags=re.MULTILINE)[1:]
}
PLAIN = [texts.WAITING, texts.WITHDRAWN]


@pytest.mark.parametrize("group", texts.RUNBOOK)
def test_every_section_answers_the_four_questions_itself_or_in_its_chapter(group: str) -> None:
    """An answer that most codes of a chapter share is above the chapter's first section."""
    chapter = RUNBOOK.partition(f"<!-- {group} -->")[2].partition(f"<!-- /{group} -->")[0]
    linked = re.compile(r"\[(`\w+`)\]\(#\w+\)")
    head, *sections = re.split(r"^### ", linked.sub(r"\1", chapter), flags=re.MULTILINE)
    assert [part.partition("\n")[0] for part in sections] == [*texts.RUNBOOK[group]]
    for part, section in zip(sections, texts.RUNBOOK[group].values(), strict=True):
        assert section.happened in part
        for label, answer in (
            ("", section.means),
            ("- **Wait?** ", section.wait),
            ("- ", section.do),
        ):
            own = label in part.replace("- **Wait?**", "") if label == "- " else label in part
            own = own if label else f"{section.happened}\n" not in part
            assert f"{label}{answer}" in (part if own else head)


def test_no_code_is_in_two_groups() -> None:
    codes = [code for group in (*texts.RUNBOOK.values(), *PLAIN) for code in group]
    assert len(codes) == len({*codes})


@pytest.mark.parametrize("code", sorted(texts.SECTIONS))
def test_every_section_says_yes_or_no_to_waiting(code: str) -> None:
    assert re.match(r"(Yes|No)[.,:]", texts.SECTIONS[code].wait)


def test_every_error_is_one_of_a_task() -> None:
    """So that the section of a renamed error does not stay behind."""
    modules = [errors, storage, service_identity, breaker, warehouse_errors]
    assert [
        code for code in texts.ERRORS_OF_TASKS if not any(hasattr(m, code) for m in modules)
    ] == []


@pytest.mark.parametrize("code", sorted({code for codes in PLAIN for code in codes}))
def test_every_wait_has_meaning_and_remedy(code: str) -> None:
    (text,) = (codes[code]["EN"] for codes in PLAIN if code in codes)
    assert f"| `{code}` | {text.meaning} | {text.remedy} |" in RUNBOOK


@pytest.mark.parametrize("code", sorted(texts.FAULTS))
def test_every_fault_of_a_drop_with_a_common_remedy_is_in_the_list_of_it(code: str) -> None:
    remedies = [fault["EN"].remedy for fault in texts.FAULTS.values()]
    found = re.findall(rf"^\| (.+) \| .*`{code}`.* \|$", RUNBOOK, re.MULTILINE)
    own = texts.FAULTS[code]["EN"].remedy
    assert found == [own] * (remedies.count(own) > 2)


def test_every_state_but_the_good_ones_has_a_section() -> None:
    assert {*STEP_RUN_STATES} - {"running", "complete"} <= SECTIONS.keys()


def test_every_section_is_of_a_known_code() -> None:
    assert SECTIONS.keys() == texts.SECTIONS.keys()


@pytest.mark.parametrize("code", sorted(texts.SECTIONS))
def test_the_link_of_a_message_leads_to_its_section(code: str) -> None:
    own = replace(FlowSettings(), runbook_url="https://wiki.example.com/runbook")
    assert Links.of(own).section(code) == f"https://wiki.example.com/runbook#{code.lower()}"
    assert code.lower() in anchors(RUNBOOK)
