"""Notification of the end of a drop to HR users: figures, plan, address of the report. Pure."""

from collections.abc import Mapping

from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.runtime.notice import Notice
from bms_flows.runtime.settings import Language
from bms_flows.texts import NOTICE, OUTCOMES


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
    texts = {code: text[language] for code, text in NOTICE.items()}
    links = texts["links"].format(report=report, run=run)
    if drop.state == "repeated":
        what = texts["same"].format(drop=drop.same_as)
        return Notice(texts["title"].format(inbox=inbox, drop=drop.id, what=what), (links,))
    what = ", ".join(
        f"{counts[state]} {words[language][counts[state] > 1]}"
        for state, words in OUTCOMES.items()
        if counts[state]
    )
    rows = sum(counts.values())
    refused = [texts["refused"]] if drop.state == "refused" else []
    return Notice(
        texts["title"].format(
            inbox=inbox, drop=drop.id, what=", ".join([*refused, what or texts["none"]])
        ),
        (
            *([texts["rows"][rows > 1].format(rows=rows, what=what)] if what else []),
            *([texts["correct"]] if counts["rejected"] else []),
            *([texts["decide"]] if counts["needs_review"] else []),
            *([] if what else [texts["unread"]]),
            f"Plan {plan[:12]}",
            links,
        ),
    )
