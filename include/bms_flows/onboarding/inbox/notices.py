"""Notification of the end of a drop to HR users: figures, plan, address of the report. Pure."""

from collections.abc import Mapping
from typing import Final

from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.runtime.notice import Notice

WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "created": ("créées", "created"),
    "adopted": ("retrouvées", "adopted"),
    "already_there": ("déjà là", "already there"),
    "rejected": ("rejetées", "rejected"),
    "needs_review": ("à décider", "to be decided"),
    "waiting": ("en attente", "waiting"),
}
"""Outcomes of rows in French and English."""

CORRECT: Final = (
    "Lignes rejetées : corriger rejected.xlsx du rapport dans Excel et le déposer."
    " / Rejected rows: correct the report's rejected.xlsx in Excel and drop it."
)
DECIDE: Final = "À décider : voir needs_review.csv. / To be decided: see needs_review.csv."


def notice(
    drop: Drop, inbox: str, counts: Mapping[str, int], *, plan: str, report: str, run: str
) -> Notice:
    """Return the message of a drop that has ended, for now or for good.

    `counts`: rows by outcome; `report` and `run`: where the report and the run's page are. Names
    of files may be names of people, so the drop goes by its number.
    """
    if drop.state == "repeated":
        what = f"même contenu que le dépôt {drop.same_as} / same content as drop {drop.same_as}"
        return Notice(f"{inbox}, {drop.id}: {what}", (f"Report: {report}", f"Run: {run}"))
    french, english = (
        ", ".join(
            f"{counts[state]} {words[place]}" for state, words in WORDS.items() if counts[state]
        )
        for place in (0, 1)
    )
    rows = sum(counts.values())
    return Notice(
        f"{inbox}, {drop.id}: {english or 'no row'}",
        (
            f"{rows} lignes : {french or 'aucune'}. / {rows} rows: {english or 'none'}.",
            *([CORRECT] if counts["rejected"] else []),
            *([DECIDE] if counts["needs_review"] else []),
            f"Plan: {plan[:12]}",
            f"Report: {report}",
            f"Run: {run}",
        ),
    )
