"""Workbooks of several sheets: rows on two of them, values of dropdown cells, explanations."""

from collections.abc import Sequence
from typing import Any

import pytest

from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.resources.consultant import CONSULTANT
from tests.support.workbooks import of_rows, saved

LISTS = ["Type", "Langue 1", "Pays"], ["IND", "FR", "BE"]
NEXT_MONTH = ["Nom", "Prénom", "E-mail"], ["Petit", "Luc", "luc@exemple.fr"]
WHOLE_NAMES = ["Nom et prénom", "E-mail"], ["Petit Luc", "luc@exemple.fr"]


@pytest.mark.parametrize(
    ("second", "fault"),
    [(LISTS, None), (NEXT_MONTH, "n° 1, 3"), (WHOLE_NAMES, "n° 1, 3"), (NEXT_MONTH[1:], "n° 1, 3")],
)
def test_values_of_dropdown_cells_may_have_a_sheet_of_their_own(
    second: Sequence[Sequence[Any]], fault: str | None
) -> None:
    made = of_rows([["Nom", "Prénom", "E-mail"], ["Girard", "Élodie", "elodie@exemple.fr"]])
    made.create_sheet("Vide")
    others = made.create_sheet("Autre")
    for row in second:
        others.append(row)
    found = read(saved(made), "a.xlsx", CONSULTANT)
    if fault is None:
        assert (found.faults, [each.code for each in found.notes]) == ((), ["sheets_left_out"])
        assert "n° 3" in found.notes[0].reason("FR")
    else:
        assert [each.code for each in found.faults] == ["several_sheets"]
        assert fault in found.faults[0].reason("FR")
