"""Notification of the end of a drop to HR users: figures, plan, address of the report. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.runtime.notice import Notice
from bms_flows.runtime.settings import Language

WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "created": ("créées", "created"),
    "adopted": ("retrouvées", "adopted"),
    "already_there": ("déjà là", "already there"),
    "rejected": ("rejetées", "rejected"),
    "needs_review": ("à décider", "to be decided"),
    "waiting": ("en attente", "waiting"),
}
"""Outcomes of rows in French and English."""


@dataclass(frozen=True)
class _Texts:
    """Texts of a notice in one language."""

    title: str
    same: str
    rows: str
    none: str
    correct: str
    decide: str
    unread: str
    links: str


_FRENCH: Final = _Texts(
    title="{inbox}, dépôt {drop} : {what}",
    same="même contenu que le dépôt {drop}",
    rows="{rows} lignes : {what}.",
    none="aucune ligne",
    correct="Lignes rejetées : corrigez rejected.xlsx du compte rendu dans Excel et déposez-le.",
    decide="À décider : voir needs_review.csv.",
    unread="La raison est dans le fichier rejected du compte rendu.",
    links="Compte rendu : {report}\nTraitement : {run}",
)
_ENGLISH: Final = _Texts(
    title="{inbox}, drop {drop}: {what}",
    same="same content as drop {drop}",
    rows="{rows} rows: {what}.",
    none="no row",
    correct="Rejected rows: correct the report's rejected.xlsx in Excel and drop it.",
    decide="To be decided: see needs_review.csv.",
    unread="The reason is in the report's file rejected.",
    links="Report: {report}\nRun: {run}",
)


def notice(
    drop: Drop,
    inbox: str,
    counts: Mapping[str, int],
    *,
    language: Language,
    plan: str,
    report: str,
    run: str,
) -> Notice:
    """Return the message of a drop that has ended, for now or for good.

    `counts`: rows by outcome; `report` and `run`: where the report and the run's page are. Names
    of files may be names of people, so the drop goes by its number.
    """
    texts = _FRENCH if language == "FR" else _ENGLISH
    links = texts.links.format(report=report, run=run)
    if drop.state == "repeated":
        what = texts.same.format(drop=drop.same_as)
        return Notice(texts.title.format(inbox=inbox, drop=drop.id, what=what), (links,))
    what = ", ".join(
        f"{counts[state]} {words[language == 'EN']}"
        for state, words in WORDS.items()
        if counts[state]
    )
    return Notice(
        texts.title.format(inbox=inbox, drop=drop.id, what=what or texts.none),
        (
            texts.rows.format(rows=sum(counts.values()), what=what or texts.none),
            *([texts.correct] if counts["rejected"] else []),
            *([texts.decide] if counts["needs_review"] else []),
            *([] if what else [texts.unread]),
            f"Plan {plan[:12]}",
            links,
        ),
    )
