"""Message about a drop: counts and links, no personal data."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.onboarding.inbox.closing import notice
from bms_flows.runtime.settings import Language

DROP = Drop(
    id=12, resource="employee", path="Dupré.csv", size=1, stamp="1", state="applied",
    dag_run_id="employee-drop-12", entered_at=datetime(2026, 4, 1, tzinfo=UTC),
    expires_at=datetime(2026, 4, 1, tzinfo=UTC), sha256="", same_as=None, archive="archive/000012/Dupré.csv",
    report="reports/employees/000012", counts=None, started_at=None,
)  # fmt: skip
COUNTS = {
    "created": 3, "adopted": 0, "already_there": 0, "rejected": 1, "needs_review": 0, "waiting": 0,
}  # fmt: skip
PLACES: Any = {
    "plan": "ab" * 32,
    "report": "/data/reports/employees/000012",
    "run": "http://a/runs/r",
}


NOTICES: dict[Language, str] = {
    "FR": """\
employees, dépôt 12\xa0: 3 créées, 1 rejetée
4 lignes\xa0: 3 créées, 1 rejetée.
Lignes rejetées\xa0: corrigez rejected.xlsx du compte rendu dans Excel et déposez-le.
Plan abababababab
Compte rendu\xa0: /data/reports/employees/000012
Traitement\xa0: http://a/runs/r""",
    "EN": """\
employees, drop 12: 3 created, 1 rejected
4 rows: 3 created, 1 rejected.
Rejected rows: correct the report's rejected.xlsx in Excel and drop it.
Plan abababababab
Report: /data/reports/employees/000012
Run: http://a/runs/r""",
}


@pytest.mark.parametrize("language", NOTICES)
def test_a_notice_counts_rows_by_outcome_and_links_the_report_in_the_language_of_the_inbox(
    language: Language,
) -> None:
    told = notice(DROP, "employees", COUNTS, language=language, **PLACES)
    assert f"{told.title}\n{told.body}" == NOTICES[language]


def test_a_notice_gives_remedies_only_for_rejected_and_ambiguous_rows() -> None:
    doubt = {**COUNTS, "rejected": 0, "needs_review": 2}
    told = notice(DROP, "employees", doubt, language="EN", **PLACES)
    assert "needs_review.csv" in told.body
    assert "drop it" not in told.body


def test_a_notice_of_a_refused_file_names_the_file_with_the_reason() -> None:
    refused = replace(DROP, state="refused")
    told = notice(refused, "employees", dict.fromkeys(COUNTS, 0), language="FR", **PLACES)
    assert told.title == "employees, dépôt 12\xa0: fichier refusé, aucune ligne"
    assert told.body.splitlines()[0] == "La raison est sur la page du dépôt."
    rows = {**COUNTS, "created": 0}
    told = notice(refused, "employees", rows, language="FR", **PLACES)
    assert told.title == "employees, dépôt 12\xa0: fichier refusé, 1 rejetée"
    assert told.body.splitlines()[0] == "1 ligne\xa0: 1 rejetée."


@pytest.mark.parametrize(
    ("language", "said"),
    [("FR", "même contenu que le dépôt 12"), ("EN", "same content as drop 12")],
)
def test_repeated_content_links_to_the_earlier_report(language: Language, said: str) -> None:
    again = replace(DROP, id=15, state="repeated", same_as=12)
    told = notice(again, "employees", COUNTS, language=language, **PLACES)
    assert told.title.endswith(said)
    assert PLACES["report"] in told.body
