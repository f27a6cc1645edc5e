"""Texts of the board's pages for HR users."""

import re
from pathlib import Path

import pytest

from bms_flows.texts import PAGES, STATES
from bms_provider.board.states import TONES
from bms_provider.board.texts import row_reason
from bms_warehouse.tables.creation import PLAN_STATES
from bms_warehouse.tables.drops import DROP_STATES
from bms_warehouse.tables.monitoring import RECONCILIATION_STATES
from bms_warehouse.tables.step_runs import STEP_RUN_STATES


def test_every_text_of_the_pages_of_drops_has_an_entry_and_each_entry_a_use(project: Path) -> None:
    templates = project / "plugins/bms_provider/board/templates"
    pages = "".join(file.read_text() for file in templates.glob("*.html"))
    used = set(re.findall(r'\bt\("(\w+[^_])"\)', pages))
    used |= {f"plan_{state}" for state in PLAN_STATES}
    used |= {f"row_{state}" for state in ("ready", "review", "sending", "unknown")}
    used |= {f"file_{name}" for name in ("created", "needs_review", "rejected")}
    assert used == PAGES.keys()


def test_every_state_has_a_tone_and_those_of_drops_have_a_french_label() -> None:
    assert STATES.keys() == TONES.keys() >= {*STEP_RUN_STATES, *DROP_STATES, *RECONCILIATION_STATES}
    of_runs = {"never", "running", "partial", "failed"}
    assert {state for state, text in STATES.items() if "FR" in text} == {*DROP_STATES, *of_runs}


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("attempts_used", "Envoyée plusieurs fois sans réponse exploitable ni trace."),
        ("refused", "refused"),  # its sentence has a status, which the page does not read
        ("of another version", "of another version"),
        (None, ""),
    ],
)
def test_a_row_shows_the_sentence_of_its_reason_or_the_code(code: str | None, shown: str) -> None:
    assert row_reason(code, "FR") == shown
