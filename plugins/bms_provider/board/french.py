"""French texts of what HR users see on the board: the list of drops and the page of a drop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bms_flows.onboarding.faults.fault import TEXTS, Fault
from bms_flows.onboarding.inbox.notices import WORDS
from bms_flows.runtime.settings import Language
from bms_flows.runtime.typography import typeset
from bms_provider.board.queries.trends import OUTCOMES

FRENCH: Final[Mapping[str, str]] = {
    # states of drops
    "Applied": "Terminé",
    "Every row of the drop has its final outcome.": "Chaque ligne a son résultat : lisez le compte rendu.",
    "Open": "En cours",
    "The run is in progress or waits for an approval.": "Le traitement est en cours, ou attend une approbation.",
    "Repeated": "Déjà déposé",
    "The same content was dropped before.": "Le même contenu a déjà été déposé.",
    "Withdrawn": "Annulé",
    "The dropped file could not be read.": "Le fichier n'a pas pu être lu.",
    "Waiting": "Pas encore pris",
    "The dropped file is still being written.": "La raison est dans _NON_PRIS.txt, dans la boîte.",
    "Not applied": "Pas terminé",
    "Rows are unfinished, or the plan was rejected.": "Des lignes restent à traiter, ou le plan est rejeté.",
    "Refused": "Refusé",
    "No row of the file may be used. See its report.": "Le fichier entier est refusé, rien n'est créé.",
    # reasons of withdrawn drops
    "The file was removed from the inbox before it was read.": "Le fichier a été retiré de la boîte avant sa lecture.",
    "None if the removal was intended; otherwise drop the file again.": "Si c'était voulu, rien à faire ; sinon, le déposer à nouveau.",
    "The file changed after the inbox scan; the changed file is a separate drop.": "Le fichier a été modifié avant sa lecture ; la nouvelle version est un autre dépôt.",
    "Check the later drop of the same file.": "Voir le dépôt suivant du même fichier.",
    "The original is no longer in the archive: BMS_KEEP_PEOPLE_DAYS have passed, or the file was deleted.": "Le fichier d'origine n'est plus disponible : sa durée de conservation est dépassée, ou il a été supprimé.",
    "Drop the file again.": "Déposer le fichier à nouveau.",
    # the page
    ":": " :",
    "Skip to content": "Aller au contenu",
    "As of": "État du",
    "Drop": "Dépôt",
    "Drops": "Dépôts",
    "The content equals": "Le contenu est celui du",
    "see its report.": "voir son compte rendu.",
    "Run in Airflow": "Traitement dans Airflow",
    "Run on the board": "Traitement sur le tableau de bord",
    "File": "Fichier",
    "State": "État",
    "Size": "Taille",
    "Claimed": "Pris le",
    "Ended": "Terminé le",
    # plans
    "made": "pas encore décidé",
    "approved": "approuvé",
    "refused": "rejeté",
    "applied": "approuvé, lignes prises en compte",
    "Decided by": "Décision de",
    "Approved automatically": "Approbation automatique",
    "Approve or reject it in Airflow": "Approuver ou rejeter dans Airflow",
    "Rows of the plan": "Lignes du plan",
    # report and rows
    "Report": "Compte rendu",
    "No report.": "Pas de compte rendu.",
    "The files hold personal data. Only users who may edit the DAG can download them.": "Les fichiers contiennent des données personnelles : seules les personnes qui ont le droit de modifier le traitement les téléchargent.",
    "Rejected rows: correct rejected.xlsx in Excel and drop it.": "Lignes rejetées : corrigez rejected.xlsx dans Excel et déposez-le.",
    "No row was read: the reason is in the file rejected.": "Aucune ligne n'est lue : la raison est dans rejected.csv.",
    "Correct your own file and drop it again: rejected.xlsx has the reason and the remedy.": "Corrigez votre propre fichier et déposez-le à nouveau : la raison et le remède sont dans rejected.xlsx, colonnes _reason_fr et _hint.",
    "Unfinished rows": "Lignes à traiter",
    "#Line": "#Ligne",
    "Reason": "Motif",
    "#Attempts": "#Envois",
    "Evidence": "Indices",
    "Candidates": "Fiches proposées",
    "Since": "Depuis",
    "review": "à décider",
    "ready": "pas encore envoyée",
    "sending": "en cours d'envoi",
    "unknown": "réponse attendue",
    "To decide on a row, find its line in needs_review.csv, then trigger the DAG with the number of the drop, the line and the decision.": "Pour décider d'une ligne, cherchez-la dans needs_review.csv, puis lancez le traitement (Trigger) avec le numéro du dépôt, la ligne et la décision.",
    "Jan": "janv.",
    "Feb": "févr.",
    "Mar": "mars",
    "Apr": "avr.",
    "May": "mai",
    "Jun": "juin",
    "Jul": "juil.",
    "Aug": "août",
    "Sep": "sept.",
    "Oct": "oct.",
    "Nov": "nov.",
    "Dec": "déc.",
}
"""By the English text."""


ERRORS: Final[Mapping[str, str]] = {
    "Page not found. Check the address, or start from the board.": "Page introuvable. Vérifiez l'adresse, ou partez du tableau de bord.",
    "Drop not found. Check its number in the list of drops.": "Dépôt introuvable. Vérifiez son numéro dans la liste des dépôts.",
    "The drop has no plan with this id. Open the drop's page for its plans.": "Ce dépôt n'a pas ce plan. Ses plans sont sur la page du dépôt.",
    "The report has no file of this name. It may be past its retention.": "Le compte rendu n'a pas ce fichier, ou sa durée de conservation est dépassée. Voyez la page du dépôt, ou demandez à votre service informatique.",
    "You may not view this DAG. Ask an Airflow administrator for access.": "Vous n'avez pas accès à ce traitement. Demandez ce droit à votre service informatique.",
    "You may view none of these DAGs. Ask an Airflow administrator for access.": "Vous n'avez accès à aucun traitement du tableau de bord. Demandez ce droit à votre service informatique.",
    "The page holds personal data: only users who may edit the DAG can read it. Ask an Airflow administrator for this right.": "Cette page contient des données personnelles : seules les personnes qui ont le droit de modifier le traitement la lisent. Demandez ce droit à votre service informatique.",
}
"""Errors that HR users and approvers can meet, by the English text. Their language is unknown, so pages show both."""


def translator(language: Language) -> Callable[[str], str]:
    """Return the function that gives a text of the pages in a language."""
    return (lambda text: typeset(FRENCH.get(text, text))) if language == "FR" else str


def outcome_labels(language: Language) -> dict[str, str]:
    """Return the headings of the outcomes of rows, by outcome."""
    return {
        key: WORDS[key]["FR"][1].capitalize() if language == "FR" else label
        for key, (label, _) in OUTCOMES.items()
    }


def file_fault(stored: Mapping[str, Any], language: Language) -> tuple[str, str]:
    """Return what is wrong with a whole file, and what to do; the code if another version stored it."""
    if stored["code"] not in TEXTS:
        return stored["code"], ""
    fault = Fault(stored["code"], None, details=stored["details"])
    return (fault.text_fr if language == "FR" else fault.text_en), fault.hint(language)


def row_reason(code: str | None, language: Language) -> str:
    """Return why a row is unfinished: the sentence, or the code if its sentence needs details."""
    if code is None or code not in TEXTS:
        return code or ""
    text = typeset(TEXTS[code].french) if language == "FR" else TEXTS[code].english
    return code if "{" in text else text
