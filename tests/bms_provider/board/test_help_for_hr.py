"""What an HR user or approver reads on the board when a page or a file can't be had."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, text

from tests.bms_provider.board.conftest import Visit
from tests.support.drops import add_plan

pytestmark = pytest.mark.usefixtures("report")


@pytest.mark.parametrize(
    ("user", "path", "status", "english", "french"),
    [
        ("viewer", "nothing", 404, "start from the board", "partez du tableau de bord"),
        ("viewer", "drops/999", 404, "in the list of drops", "dans la liste des dépôts"),
        ("viewer", "drops/1/files/rejected.csv", 403, "for this right", "ce droit à votre"),
        ("recruiter", "drops/1/files/none.csv", 404, "past its retention", "durée de conservation"),
        ("recruiter", "drops/1/plans/a1", 404, "drop&#39;s page", "sur la page du dépôt"),
        (
            "nobody",
            "drops/1",
            403,
            "Ask an Airflow administrator",
            "droit à votre service informatique",
        ),
        (None, "drops/1", 401, "Sign in to Airflow", "Connectez-vous à Airflow"),
    ],
)
def test_an_error_page_says_what_to_do_in_the_language_of_the_browser_alone(
    visit: Visit, user: str | None, path: str, status: int, english: str, french: str
) -> None:
    client = visit(user) if user else visit()
    for language, shown, other in (("en-GB", english, french), ("fr-FR", french, english)):
        answer = client.get(f"/bms/{path}", headers={"Accept-Language": f"{language},en;q=0.5"})
        assert answer.status_code == status
        assert f'<html lang="{language[:2]}">' in answer.text
        assert shown in answer.text
        assert other not in answer.text


@pytest.fixture
def page_of(visit: Visit, report: int, warehouse: Engine) -> Callable[[str, str], str]:
    """Return the page of a drop in a state, with a rejected row and a plan decided by a user or setting."""

    def shown(state: str, decided_by: str) -> str:
        changes = (
            "update bms.dropped_file set state = :state",
            """update bms.step_run set details = details || '{"rejected": 1, "file_faults":
            [{"code": "merged_cells", "details": {"cells": "A1:C1"}}, {"code": "of_later", "details": {}}]}'""",
        )
        with warehouse.begin() as connection:
            for change in changes:
                connection.execute(text(change), {"state": state})
            decided = {"decided_by": decided_by, "decided_at": datetime.now(UTC)}
            add_plan(connection, id="ab" * 32, state="applied", counts={"rejected": 1}, **decided)
        return visit("recruiter").get(f"/bms/drops/{report}").text

    return shown


def test_a_refused_file_asks_for_the_users_own_file_and_shows_no_plan(
    page_of: Callable[[str, str], str],
) -> None:
    page = page_of("refused", "BMS_APPROVAL")
    assert "des cellules fusionnées, par exemple A1:C1. <span" in page
    assert "Défusionner et remplir chaque cellule." in page
    assert "of_later" in page
    assert "Corrigez votre propre fichier" in page
    assert "corrigez-les dans Excel" not in page
    assert "plan-1" not in page


@pytest.mark.parametrize(
    ("decided_by", "shown"),
    [("BMS_APPROVAL", "Approbation automatique, "), ("marc", "Décision de marc, ")],
)
def test_a_plan_that_needed_no_approval_names_no_setting(
    page_of: Callable[[str, str], str], decided_by: str, shown: str
) -> None:
    page = page_of("applied", decided_by)
    assert shown in page
    assert "BMS_APPROVAL" not in page
