"""Request for the approval of a plan, in the language of the inbox: a question of figures, without personal data, and the plan as a file of rows."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from bms_flows.onboarding.faults import Fault, with_column
from bms_flows.onboarding.planning.plan import Action, ApprovalReason, Plan, PlannedRow
from bms_flows.onboarding.reading.sheet import Row, Sheet
from bms_flows.onboarding.resources.description import Value
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.excel_csv import csv_file, unescape
from bms_flows.runtime.notice import Links, Notice
from bms_flows.runtime.settings import Language
from bms_flows.texts import APPROVAL, HEADCOUNT, PLANNED, RECORDS, REQUEST

LEADING: Final = ("_line", "_action")
TRAILING: Final = ("_reason_fr", "_reason_en", "_candidates")
"""Columns of a plan's file around those of the dropped file."""


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
    def options(self) -> list[str]:
        """The answers: approve, reject."""
        return list(REQUEST["options"][self.language])

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
    why = texts["separator"].join(
        reason_text(each, language, request.resource) for each in request.reasons
    )
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


def reason_text(reason: ApprovalReason, language: Language, resource: str = "employee") -> str:
    """Return why a plan of `resource` needs approval; a code of another version as it is stored."""
    text = APPROVAL.get(reason.code, {}).get(language, f"{reason.code}: {{found}} / {{limit}}")
    found, limit = reason.found, reason.limit
    if reason.code == "created":
        new, existing = map(int, found.split(" / "))
        share = f"{new / existing:.1%}"
        written = text.format(
            new=new,
            existing=HEADCOUNT[resource][language].format(n=existing),
            share=share.replace(".", ",") if language == "FR" else share,
            limit=limit,
        )
        return written.replace("%", "\xa0%" if language == "FR" else " %")
    if language == "FR":
        found, limit = (
            each.replace(" / ", " sur ").replace("%", "\xa0%") for each in (found, limit)
        )
        if reason.code == "rows_of_day":
            now, plus, before = found.partition(" + ")
            found = f"{now} création{'s' * (now != '1')}"
            found += f" et {before} déjà faite{'s' * (before != '1')}" * bool(plus)
    return text.format(found=found, limit=limit)


@dataclass(frozen=True)
class PlanRow:
    """A row of a plan file."""

    line: str
    action: str
    cells: Sequence[str]
    reason_fr: str
    reason_en: str
    candidates: str


def plan_file_name(plan_id: str) -> str:
    """Return the name of a plan's file in the report of its drop."""
    return f"plan-{plan_id[:12]}.csv"


def plan_file(plan: Plan, sheet: Sheet) -> bytes:
    """Return a plan as a CSV: the columns of the drop between the action and the reasons.

    The cells are the values as read, such as a date with its month; a cell without a value is as
    written.
    """
    columns = [(sheet.form.headers[place], sheet.form.columns[place]) for place in sheet.form.own]
    read = {row.line: row for row in sheet.rows}

    def rows() -> Iterator[Sequence[Any]]:
        for planned in plan.rows:
            row = read[planned.line]
            faults = _faults(planned, sheet, row)
            yield (
                planned.line,
                planned.action,
                *(_cell(row, index, name) for index, (_, name) in enumerate(columns)),
                " | ".join(_reason(fault, sheet, "FR") for fault in faults),
                " | ".join(_reason(fault, sheet, "EN") for fault in faults),
                " | ".join(planned.candidates),
            )

    return csv_file((*LEADING, *(header for header, _ in columns), *TRAILING), rows())


def read_plan_file(content: bytes) -> tuple[Sequence[str], list[PlanRow]]:
    """Return the headers of the dropped file and the rows of a plan file."""
    lines = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=";")
    header, *rows = ([unescape(cell) for cell in line] for line in lines)
    width = len(header) - len(TRAILING)
    return header[len(LEADING) : width], [
        PlanRow(row[0], row[1], row[len(LEADING) : width], *row[width:]) for row in rows
    ]


def _faults(planned: PlannedRow, sheet: Sheet, row: Row) -> Sequence[Fault]:
    if planned.action is Action.REJECTED:
        return planned.faults or sheet.faults_of(row)
    if planned.action in (Action.REVIEW, Action.MANUAL_CHANGE) and planned.reason:
        return [Fault(planned.reason, planned.line, details=planned.details)]
    return []


def _reason(fault: Fault, sheet: Sheet, language: Language) -> str:
    column = fault.column or sheet.form.header(fault.field)
    return with_column(column, fault.reason(language), language)


def _cell(row: Row, index: int, name: str | None) -> Any:
    value: Value | None = row.values.get(name) if name else None
    if value is not None:
        return value
    return row.cells[index] if index < len(row.cells) else None
