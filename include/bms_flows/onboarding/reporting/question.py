"""Question to the approver of a plan, in the language of the inbox: figures, no personal data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from bms_flows.onboarding.planning.limits import ApprovalReason
from bms_flows.onboarding.planning.plan import Action
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.notice import Links, Notice
from bms_flows.runtime.settings import Language
from bms_flows.texts import APPROVAL, PLANNED, RECORDS, REQUEST


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
        again, here, colon = (
            REQUEST[each][self.language] for each in ("reminder", "answer", "colon")
        )
        return Notice(
            f"{again}{self.subject}" if reminder else self.subject,
            (*self.sentences, f"{self.link}{colon}{self.page}", f"{here}{colon}{answer}"),
        )


def ask(
    request: ApprovalRequest, settings: OnboardingSettings, waited: timedelta = timedelta()
) -> Question:
    """Return the question about a plan, as the settings of the inbox require it.

    `waited`: time since the request.
    """
    inbox = REMOTES[request.resource].resource.inbox
    left = timedelta(hours=settings.approval_hours) - waited
    return question(
        request,
        language=settings.language_of(inbox),
        hours=max(1, round(left / timedelta(hours=1))),
        page=Links.of(settings).plan(request.drop, request.plan),
    )


def question(request: ApprovalRequest, *, language: Language, hours: int, page: str) -> Question:
    """Return the question about a plan that `page` shows; without an answer it expires in `hours`. Pure."""
    n = request.counts[Action.CREATE]
    record = RECORDS[request.resource][language][n > 1]
    texts = {code: text[language] for code, text in REQUEST.items()}
    why = texts["separator"].join(reason_text(each, language) for each in request.reasons)
    return Question(
        language,
        texts["subject"].format(drop=request.drop, n=n, record=record),
        (
            outcome_text(request.counts, request.resource, language),
            texts["why"].format(why=why),
            texts["timeout"][hours > 1].format(hours=hours),
        ),
        texts["link"].format(plan=request.plan[:12]),
        page,
    )


def outcome_text(counts: Mapping[str, int], resource: str, language: Language) -> str:
    """Return what happens to the rows of a plan, as one sentence."""
    found = ", ".join(
        text[language][n > 1].format(n=n, record=RECORDS[resource][language][n > 1])
        for action, text in PLANNED.items()
        if (n := counts[action])
    )
    return f"{found or reason_text(ApprovalReason('nothing'), language)}."


def reason_text(reason: ApprovalReason, language: Language) -> str:
    """Return why a plan needs approval; a code of another version as it is stored."""
    text = APPROVAL.get(reason.code, {}).get(language, f"{reason.code}: {{found}} / {{limit}}")
    found, limit = reason.found, reason.limit
    if language == "FR":
        found, limit = (
            each.replace(" / ", " sur ").replace("%", "\xa0%") for each in (found, limit)
        )
        if reason.code == "rows_of_day":
            now, plus, before = found.partition(" + ")
            found = f"{now} créations" + (f" et {before} déjà faites" if plus else "")
    return text.format(found=found, limit=limit)
