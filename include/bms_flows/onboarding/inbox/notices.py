"""Notification of the end of a drop to HR users: figures, plan, address of the report. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.runtime.notice import Notice
from bms_flows.runtime.settings import Language
from bms_flows.runtime.typography import typeset

WORDS: Final[Mapping[str, Mapping[Language, tuple[str, str]]]] = {
    "created": {"FR": ("créée", "créées"), "EN": ("created", "created")},
    "adopted": {"FR": ("retrouvée", "retrouvées"), "EN": ("adopted", "adopted")},
    "already_there": {"FR": ("déjà là", "déjà là"), "EN": ("already there", "already there")},
    "rejected": {"FR": ("rejetée", "rejetées"), "EN": ("rejected", "rejected")},
    "needs_review": {"FR": ("à décider", "à décider"), "EN": ("to be decided", "to be decided")},
    "waiting": {"FR": ("en attente", "en attente"), "EN": ("waiting", "waiting")},
}
"""Outcomes of one row and of several rows, by language."""


@dataclass(frozen=True)
class _Texts:
    """Texts of a notice in one language."""

    title: str
    same: str
    refused: str
    rows: tuple[str, str]
    none: str
    correct: str
    decide: str
    unread: str
    links: str


_FRENCH: Final = _Texts(
    title="{inbox}, dépôt {drop} : {what}",
    same="même contenu que le dépôt {drop}",
    refused="fichier refusé",
    rows=("{rows} ligne : {what}.", "{rows} lignes : {what}."),
    none="aucune ligne",
    correct="Lignes rejetées : corrigez rejected.xlsx du compte rendu dans Excel et déposez-le.",
    decide="À décider : voir needs_review.csv.",
    unread="La raison est sur la page du dépôt.",
    links="Compte rendu : {report}\nTraitement : {run}",
)
_ENGLISH: Final = _Texts(
    title="{inbox}, drop {drop}: {what}",
    same="same content as drop {drop}",
    refused="file refused",
    rows=("{rows} row: {what}.", "{rows} rows: {what}."),
    none="no row",
    correct="Rejected rows: correct the report's rejected.xlsx in Excel and drop it.",
    decide="To be decided: see needs_review.csv.",
    unread="The reason is on the page of the drop.",
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
    found = _notice(drop, inbox, counts, language, (plan, report, run))
    if language == "EN":
        return found
    return Notice(typeset(found.title), tuple(map(typeset, found.lines)))


def _notice(
    drop: Drop,
    inbox: str,
    counts: Mapping[str, int],
    language: Language,
    pages: tuple[str, str, str],
) -> Notice:
    texts = _FRENCH if language == "FR" else _ENGLISH
    plan, report, run = pages
    links = texts.links.format(report=report, run=run)
    if drop.state == "repeated":
        what = texts.same.format(drop=drop.same_as)
        return Notice(texts.title.format(inbox=inbox, drop=drop.id, what=what), (links,))
    what = ", ".join(
        f"{counts[state]} {words[language][counts[state] > 1]}"
        for state, words in WORDS.items()
        if counts[state]
    )
    rows = sum(counts.values())
    refused = [texts.refused] if drop.state == "refused" else []
    return Notice(
        texts.title.format(
            inbox=inbox, drop=drop.id, what=", ".join([*refused, what or texts.none])
        ),
        (
            *([texts.rows[rows > 1].format(rows=rows, what=what)] if what else []),
            *([texts.correct] if counts["rejected"] else []),
            *([texts.decide] if counts["needs_review"] else []),
            *([] if what else [texts.unread]),
            f"Plan {plan[:12]}",
            links,
        ),
    )
