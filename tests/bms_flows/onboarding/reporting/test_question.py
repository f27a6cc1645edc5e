"""Questions to approvers: sentences of figures in both languages."""

from dataclasses import replace
from typing import Any

import pytest

from bms_flows.onboarding.planning.plan import Action, ApprovalReason
from bms_flows.onboarding.reporting.approval_request import (
    ApprovalRequest,
    ask,
    question,
    reason_text,
)
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.texts import APPROVAL, PLANNED, RECORDS

NONE = dict.fromkeys(map(str, Action), 0)
REQUEST = ApprovalRequest(
    12,
    "employee",
    "ab" * 32,
    {**NONE, "create": 12, "review": 2, "rejected": 1},
    [ApprovalReason("rows_of_day", "12", "10")],
)
SETTINGS = OnboardingSettings(airflow_url="https://airflow.example.com/")
PAGE = "https://airflow.example.com/bms/drops/12/plans/abababababab"


def test_the_question_is_french_sentences_with_the_address_of_the_plan() -> None:
    asked = ask(REQUEST, SETTINGS)
    assert asked.subject == "Dépôt 12\xa0: créer 12 salariés\xa0?"
    assert asked.options == ["Approuver", "Rejeter"]
    assert asked.body == (
        "12 salariés seront créés, 2 lignes attendent une décision, 1 ligne est rejetée.\n\n"
        "Approbation demandée\xa0: 12 créations sans approbation en un jour, la limite est 10.\n\n"
        "Sans réponse dans les 72 heures, rien n'est créé.\n\n"
        f"[Voir le plan abababababab, ligne par ligne]({PAGE})"
    )


def test_figures_are_written_as_the_language_writes_them() -> None:
    reasons = [ApprovalReason("rejected", "14 / 26", "50%"), ApprovalReason("rows", "1200", "1000")]
    french, english = (
        question(replace(REQUEST, reasons=reasons), language=language, hours=1, page=PAGE)
        for language in ("FR", "EN")
    )
    assert french.sentences[1] == (
        "Approbation demandée\xa0: 14 sur 26 lignes sont rejetées, la limite est 50\xa0%\xa0; "
        "1200 lignes dans le fichier, la limite est 1000."
    )
    assert "rejected rows: 14 / 26, the limit is 50%; 1200 rows" in english.sentences[1]


@pytest.mark.parametrize(
    ("found", "said"),
    [("7 + 17", "7 créations et 17 déjà faites"), ("1 + 1", "1 création et 1 déjà faite")],
)
def test_rows_created_before_on_the_same_day_are_counted_apart(found: str, said: str) -> None:
    reasons = [ApprovalReason("rows_of_day", found, "20")]
    asked = question(replace(REQUEST, reasons=reasons), language="FR", hours=1, page=PAGE)
    assert asked.sentences[1] == (
        f"Approbation demandée\xa0: {said} sans approbation en un jour, la limite est 20."
    )


SHARES = {
    ("EN", "employee"): "for 250 employees (9.6 %); above 5 %, approval is required",
    ("EN", "contact"): "for 250 contacts (9.6 %); above 5 %, approval is required",
    ("FR", "employee"): "pour un effectif de 250 (9,6\xa0%)\xa0; au-delà de 5\xa0%",
    (
        "FR",
        "consultant",
    ): "pour 250 consultants (9,6\xa0%)\xa0; au-delà de 5\xa0%, approbation requise",
}
CREATIONS = {"EN": "24 new records", "FR": "24 créations"}


@pytest.mark.parametrize(("language", "resource"), SHARES)
def test_the_creations_of_the_day_are_a_share_of_the_headcount(
    language: Any, resource: str
) -> None:
    reasons = [ApprovalReason("created", "24 / 250", "5%")]
    asked = replace(REQUEST, resource=resource, reasons=reasons)
    sentence = question(asked, language=language, hours=1, page=PAGE).sentences[1]
    assert f"{CREATIONS[language]} {SHARES[language, resource]}" in sentence


@pytest.mark.parametrize("setting", [{"language": "EN"}, {"inbox_languages": {"employees": "EN"}}])
def test_the_question_is_english_where_the_inbox_is(setting: dict[str, Any]) -> None:
    request = replace(REQUEST, counts={**NONE, "create": 1, "already_there": 3})
    asked = ask(request, replace(SETTINGS, **setting))
    assert asked.subject == "Drop 12: create 1 employee?"
    assert asked.options == ["Approve", "Reject"]
    assert asked.sentences == (
        "1 employee will be created, 3 rows exist already.",
        "Approval required: 12 creations without approval in one day, the limit is 10.",
        "Without an answer within 72 hours, nothing is created.",
    )


@pytest.mark.parametrize("language", ["FR", "EN"])
def test_every_outcome_reason_and_resource_has_its_words(language: Any) -> None:
    assert PLANNED.keys() == {*Action}
    assert RECORDS.keys() == REMOTES.keys()
    for n in (1, 2):
        request = replace(REQUEST, counts=dict.fromkeys(NONE, n))
        asked = question(request, language=language, hours=n, page=PAGE)
        assert asked.sentences[0].count(f"{n} ") == len(Action)
    for code in APPROVAL:
        text = reason_text(ApprovalReason(code, "3 / 7", "9"), language)
        assert "{" not in text
    assert reason_text(ApprovalReason("of_another_version", "3", "9"), language)
