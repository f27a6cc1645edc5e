"""French texts of the board's pages for HR users."""

import calendar
import re
from pathlib import Path

import pytest

from bms_flows.onboarding.faults.drops import WITHDRAWN
from bms_provider.board.french import FRENCH, row_reason
from bms_provider.board.states import STATES
from bms_warehouse.tables.creation import PLAN_STATES
from bms_warehouse.tables.drops import DROP_STATES


def test_every_text_of_the_pages_of_drops_has_a_translation_and_each_translation_a_use(
    project: Path,
) -> None:
    templates = project / "plugins/bms_provider/board/templates"
    pages = "".join(file.read_text() for file in templates.glob("*.html"))
    used = set(re.findall(r'\bt\("([^"]+)"\)', pages))
    for state in DROP_STATES:
        used |= {STATES[state].word, STATES[state].meaning}
    for reason in WITHDRAWN.values():
        used |= {reason.meaning, reason.remedy}
    used |= {*PLAN_STATES, "ready", "review", "sending", "unknown"}
    used |= set(calendar.month_abbr[1:])
    assert used == FRENCH.keys()


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("attempts_used", "Envoyée plusieurs fois sans réponse ni trace."),
        ("refused", "refused"),  # its sentence has a status, which the page does not read
        ("of another version", "of another version"),
        (None, ""),
    ],
)
def test_a_row_shows_the_sentence_of_its_reason_or_the_code(code: str | None, shown: str) -> None:
    assert row_reason(code, "FR") == shown
