"""Question to the approver of a plan, in the language of the inbox: figures, no personal data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from bms_flows.onboarding.inbox.settings import InboxSettings
from bms_flows.onboarding.planning.limits import ApprovalReason
from bms_flows.onboarding.planning.plan import Action
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.notice import Links, Notice
from bms_flows.runtime.settings import Language
from bms_flows.runtime.typography import typeset

Words = Mapping[Language, tuple[str, str]]
"""A text for one and for several, by language."""

RECORDS: Final[Mapping[str, Words]] = {
    "employee": {"FR": ("salarié", "salariés"), "EN": ("employee", "employees")},
    "contact": {"FR": ("contact", "contacts"), "EN": ("contact", "contacts")},
    "consultant": {"FR": ("consultant", "consultants"), "EN": ("consultant", "consultants")},
}
"""Names of the records by resource."""

OUTCOMES: Final[Mapping[Action, Words]] = {
    Action.CREATE: {
        "FR": ("{n} {record} sera créé", "{n} {record} seront créés"),
        "EN": ("{n} {record} will be created", "{n} {record} will be created"),
    },
    Action.RESUME: {
        "FR": (
            "{n} création déjà approuvée sera reprise",
            "{n} créations déjà approuvées seront reprises",
        ),
        "EN": (
            "{n} creation approved before will continue",
            "{n} creations approved before will continue",
        ),
    },
    Action.REVIEW: {
        "FR": ("{n} ligne attend une décision", "{n} lignes attendent une décision"),
        "EN": ("{n} row waits for a decision", "{n} rows wait for a decision"),
    },
    Action.MANUAL_CHANGE: {
        "FR": ("{n} ligne diffère de sa fiche", "{n} lignes diffèrent de leur fiche"),
        "EN": ("{n} row differs from its record", "{n} rows differ from their records"),
    },
    Action.REJECTED: {
        "FR": ("{n} ligne est rejetée", "{n} lignes sont rejetées"),
        "EN": ("{n} row is rejected", "{n} rows are rejected"),
    },
    Action.ALREADY_THERE: {
        "FR": ("{n} ligne existe déjà", "{n} lignes existent déjà"),
        "EN": ("{n} row exists already", "{n} rows exist already"),
    },
}
"""Sentences by outcome, in the order in which the approver reads them."""

REASONS: Final[Mapping[str, Mapping[Language, str]]] = {
    "nothing": {"FR": "rien ne serait créé", "EN": "nothing would be created"},
    "setting": {"FR": "BMS_APPROVAL vaut {found}", "EN": "BMS_APPROVAL is {found}"},
    "rows_of_day": {
        "FR": "{found} sans approbation en un jour, la limite est {limit}",
        "EN": "{found} creations without approval in one day, the limit is {limit}",
    },
    "truncated": {
        "FR": "le fichier s'arrête sans fin de ligne à la ligne {found} ({limit} cellules), qui peut"
        " être coupée : lisez last_line.csv dans le compte rendu",
        "EN": "the file ends without a line break in line {found} ({limit} cells), which may be cut"
        " off: read last_line.csv in the report",
    },
    "empty_scope": {
        "FR": "le logiciel de gestion ne liste aucune fiche pour {found} liste(s) de ces lignes : vérifiez"
        " qu'il n'en a vraiment pas",
        "EN": "the service lists no record in {found} of the lists of these rows: check that it has none",
    },
    "rows": {
        "FR": "{found} lignes dans le fichier, la limite est {limit}",
        "EN": "{found} rows in the file, the limit is {limit}",
    },
    "rejected": {
        "FR": "{found} lignes sont rejetées, la limite est {limit}",
        "EN": "rejected rows: {found}, the limit is {limit}",
    },
    "created": {
        "FR": "créations du jour pour l'effectif : {found}, la limite est {limit}",
        "EN": "creations of the day compared with the headcount: {found}, the limit is {limit}",
    },
    "start_date": {
        "FR": "dates d'entrée éloignées : {found}, la période admise est de {limit} jours",
        "EN": "start dates far from today: {found}, the accepted period is {limit} days",
    },
    "more_rows": {
        "FR": "lignes en plus depuis l'approbation : {found}",
        "EN": "more rows since the approval: {found}",
    },
    "other_data": {
        "FR": "lignes dont les données ont changé depuis l'approbation : {found}",
        "EN": "rows with other data since the approval: {found}",
    },
}
"""Why a plan needs approval, or does not."""

TEXTS: Final[Mapping[Language, tuple[str, str, tuple[str, str], str]]] = {
    "FR": (
        "Dépôt {drop} : créer {n} {record} ?",
        "Approbation demandée : {why}.",
        (
            "Sans réponse dans l'heure, rien n'est créé.",
            "Sans réponse dans les {hours} heures, rien n'est créé.",
        ),
        "Voir le plan {plan}, ligne par ligne",
    ),
    "EN": (
        "Drop {drop}: create {n} {record}?",
        "Approval required: {why}.",
        (
            "Without an answer within an hour, nothing is created.",
            "Without an answer within {hours} hours, nothing is created.",
        ),
        "Read the plan {plan}, row by row",
    ),
}
"""Subject, reason, timeout, and the text of the link to the plan."""


MESSAGE: Final[Mapping[Language, tuple[str, str, str]]] = {
    "FR": ("Rappel : ", "Répondre dans Airflow", " : "),
    "EN": ("Reminder: ", "Answer in Airflow", ": "),
}
"""Start of a reminder's subject, text of the link to Airflow, and the colon."""


SEPARATOR: Final[Mapping[Language, str]] = {"FR": " ; ", "EN": "; "}
"""Between two reasons."""


@dataclass(frozen=True)
class ApprovalRequest:
    """A plan that needs approval: its rows by action, and why."""

    drop: int
    resource: str
    plan: str
    counts: Mapping[str, int]
    reasons: Sequence[ApprovalReason]


@dataclass(frozen=True)
class Question:
    """A request for approval: a subject, sentences, and the address of the plan's page."""

    language: Language
    subject: str
    sentences: tuple[str, ...]
    link: str
    page: str

    @property
    def body(self) -> str:
        """The sentences and the link as Markdown."""
        return "\n\n".join((*self.sentences, f"[{self.link}]({self.page})"))

    def notice(self, answer: str, *, reminder: bool = False) -> Notice:
        """Return the message to the approvers; `answer` is the address of Airflow's page."""
        again, here, colon = (_typeset(each, self.language) for each in MESSAGE[self.language])
        return Notice(
            f"{again}{self.subject}" if reminder else self.subject,
            (*self.sentences, f"{self.link}{colon}{self.page}", f"{here}{colon}{answer}"),
        )


def ask(request: ApprovalRequest, links: Links, waited: timedelta = timedelta()) -> Question:
    """Return the question about a plan, as the settings of the inbox require it.

    `waited`: time since the request. Raises `InvalidSetting`.
    """
    inbox = REMOTES[request.resource].resource.inbox
    left = timedelta(hours=OnboardingSettings.from_environment().approval_hours) - waited
    return question(
        request,
        language=InboxSettings.from_environment().language_of(inbox),
        hours=max(1, round(left / timedelta(hours=1))),
        page=links.plan(request.drop, request.plan),
    )


def question(request: ApprovalRequest, *, language: Language, hours: int, page: str) -> Question:
    """Return the question about a plan that `page` shows; without an answer it expires in `hours`. Pure."""
    n = request.counts[Action.CREATE]
    record = _number(RECORDS[request.resource][language], n)
    subject, why, timeout, link = TEXTS[language]
    reasons = SEPARATOR[language].join(reason_text(each, language) for each in request.reasons)
    return Question(
        language,
        _typeset(subject.format(drop=request.drop, n=n, record=record), language),
        (
            outcome_text(request.counts, request.resource, language),
            _typeset(why.format(why=reasons), language),
            _number(timeout, hours).format(hours=hours),
        ),
        link.format(plan=request.plan[:12]),
        page,
    )


def outcome_text(counts: Mapping[str, int], resource: str, language: Language) -> str:
    """Return what happens to the rows of a plan, as one sentence."""
    found = ", ".join(
        _number(words[language], n).format(n=n, record=_number(RECORDS[resource][language], n))
        for action, words in OUTCOMES.items()
        if (n := counts[action])
    )
    return f"{found or reason_text(ApprovalReason('nothing'), language)}."


def reason_text(reason: ApprovalReason, language: Language) -> str:
    """Return why a plan needs approval; a code of another version as it is stored."""
    text = REASONS.get(reason.code, {}).get(language, f"{reason.code}: {{found}} / {{limit}}")
    found, limit = reason.found, reason.limit
    if language == "FR":
        found, limit = (
            each.replace(" / ", " sur ").replace("%", "\xa0%") for each in (found, limit)
        )
        if reason.code == "rows_of_day":
            now, plus, before = found.partition(" + ")
            found = f"{now} créations" + (f" et {before} déjà faites" if plus else "")
    return _typeset(text.format(found=found, limit=limit), language)


def _typeset(text: str, language: Language) -> str:
    return typeset(text) if language == "FR" else text


def _number(words: tuple[str, str], n: int) -> str:
    return words[n > 1]
