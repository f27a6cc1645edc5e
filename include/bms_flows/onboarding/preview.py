"""Preview of a file before it is dropped: how it is read, every fault, and what a drop would do.

Reader and planner are those of a drop. The records come from the mirror, so a preview reads no list
of the service; the plan of the drop reads the lists and decides. `answer` runs in a child process
with limits, since a file may be hostile.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

import msgspec
from sqlalchemy import Engine

from bms_flows.onboarding.faults import Fault, with_column
from bms_flows.onboarding.inbox import discovery
from bms_flows.onboarding.planning import planner
from bms_flows.onboarding.planning.plan import Action, Plan, PlannedRow
from bms_flows.onboarding.planning.rules import Reading
from bms_flows.onboarding.planning.views import mirror_view
from bms_flows.onboarding.reading.corrections import Corrections, corrected
from bms_flows.onboarding.reading.header import nearest
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Row, Sheet
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.texts import FAULTS
from bms_warehouse import database

Verdict = Literal["correct", "decide", "create", "exists", "resume", "unchecked"]
"""What a drop does with a row: its cells need correction; a reviewer decides; it is created; its
record exists; an earlier drop continues; or unknown, since the mirror lacks the row's entity."""

MAX_ROWS: Final = 500
"""Rows of a verdict that a preview shows."""

Reason = tuple[str, str]
"""What is wrong, and what to do."""


class Question(msgspec.Struct, frozen=True):
    """A file to preview; with corrections, to correct."""

    name: str
    resource: str
    content: bytes
    warehouse: str = ""
    mirrored: Mapping[str, datetime] = {}
    """Time of the mirror's latest complete read, by scope; empty text if the resource has none."""
    corrections: Corrections | None = None


class Column(msgspec.Struct, frozen=True):
    """A column of the file, and the field that it is read as; `missing`: a field without a column."""

    place: int
    header: str
    label: str | None
    reasons: Sequence[Reason] = ()
    proposals: Sequence[str] = ()
    """Headers of fields that the column may be, the nearest first."""
    missing: bool = False


class PreviewRow(msgspec.Struct, frozen=True):
    """A row: its cells in the order of the columns, reasons by column, and those of the whole row."""

    line: int
    verdict: Verdict
    cells: Sequence[str]
    wrong: Mapping[int, Sequence[Reason]] = {}
    reasons: Sequence[Reason] = ()
    record: str = ""
    """Number of the record that exists."""


class Preview(msgspec.Struct, frozen=True):
    """A preview, in the language of the inbox."""

    columns: Sequence[Column]
    rows: Sequence[PreviewRow]
    counts: Mapping[Verdict, int]
    reasons: Sequence[Reason] = ()
    """What is wrong with the whole file, besides its columns."""
    notes: Sequence[str] = ()
    """What was left out."""
    refused: bool = False
    """Whether no row of the file is used until the file is corrected."""
    truncated: bool = False
    """Whether the end of the file is missing."""
    read_at: datetime | None = None
    """Time of the mirror; None if it lacks every row's scope."""
    resource: str = ""
    """The resource of the inbox that the file is for, if it is another one."""


class Answer(msgspec.Struct, frozen=True):
    """A preview, or the content of a corrected file; neither for corrections that do not fit the file."""

    preview: Preview | None = None
    content: bytes | None = None


_QUESTION: Final = msgspec.msgpack.Decoder(Question)
_ANSWER: Final = msgspec.msgpack.Decoder(Answer)
encode = msgspec.msgpack.encode
decode_answer = _ANSWER.decode


def answer(request: bytes) -> bytes:
    """Answer an encoded question; the settings come from the environment."""
    asked = _QUESTION.decode(request)
    reading = Reading.of(asked.resource, OnboardingSettings.from_environment())
    if asked.corrections:
        form = read(asked.content, asked.name, reading.resource, reading.declared).form
        fits = asked.corrections.fits(form)
        content = corrected(asked.content, form, asked.corrections) if fits else None
        return encode(Answer(content=content))
    engine = database.connect(asked.warehouse)
    try:
        return encode(Answer(preview(asked.content, asked.name, reading, engine, asked.mirrored)))
    finally:
        engine.dispose()


def preview(
    content: bytes, name: str, reading: Reading, engine: Engine, mirrored: Mapping[str, datetime]
) -> Preview:
    """Return the preview of a file named `name`.

    No row of a refused file is used; its rows are planned as if the file's own faults were corrected.
    """
    sheet = read(content, name, reading.resource, reading.declared)
    of_rows = replace(
        sheet, faults=[each for each in sheet.faults if each not in sheet.file_faults]
    )
    view = mirror_view(engine, of_rows, reading, min(mirrored.values(), default=None))
    plan = planner.make(of_rows, reading.resource, reading.identity, reading.rules, view)
    found = _Preview(sheet, plan, reading, mirrored)
    return found.preview(truncated=not discovery.complete(content, name))


@dataclass(frozen=True)
class _Preview:
    """A sheet and its plan as a preview."""

    sheet: Sheet
    plan: Plan
    reading: Reading
    mirrored: Mapping[str, datetime]

    def preview(self, *, truncated: bool) -> Preview:
        """Return the preview."""
        form, rows = self.sheet.form, {row.line: row for row in self.sheet.rows}
        language = self.reading.language
        counts = Counter[Verdict]()
        chosen: list[tuple[Verdict, PlannedRow]] = []
        for each in self.plan.rows:
            verdict = self.verdict(each, rows[each.line])
            counts[verdict] += 1
            if counts[verdict] <= MAX_ROWS:
                chosen.append((verdict, each))
        lacking = self.missing_fields([each for _, each in chosen])
        scopes = {self.scope(each) for each in self.sheet.rows} & self.mirrored.keys()
        of_file = [each for each in self.sheet.file_faults if each.column not in form.headers]
        return Preview(
            list(self.columns(lacking)),
            [self.row(verdict, each, rows[each.line], lacking) for verdict, each in chosen],
            counts,
            list(dict.fromkeys(map(self.reason, of_file))),
            [
                with_column(each.column, each.reason(language), language)
                for each in self.sheet.notes
            ],
            self.sheet.refused,
            truncated,
            min((self.mirrored[each] for each in scopes), default=None),
            next(
                (str(each.details["resource"]) for each in of_file if "resource" in each.details),
                "",
            ),
        )

    def verdict(self, planned: PlannedRow, row: Row) -> Verdict:
        """Return the verdict on a row."""
        unmirrored = self.scope(row) not in self.mirrored
        match planned.action:
            case Action.REJECTED:
                # Managers are searched among the records, too.
                codes = {each.code.startswith("manager_") for each in planned.faults}
                return "unchecked" if unmirrored and codes == {True} else "correct"
            case Action.CREATE:
                return "unchecked" if unmirrored else "create"
            case Action.RESUME:
                return "resume"
            case Action.ALREADY_THERE:
                return "exists"
            case Action.MANUAL_CHANGE if planned.known is not None:
                return "exists"
        return "decide"

    def scope(self, row: Row) -> str:
        """Return the scope of a row as the mirrors name it."""
        scope = self.reading.identity.scope_of(row.values)
        return "" if scope is None else str(scope)

    def missing_fields(self, planned: Sequence[PlannedRow]) -> Mapping[str, int]:
        """Return the fields that rows need and no column has, with the places of new columns."""
        form = self.sheet.form
        named = dict.fromkeys(
            fault.field
            for row in planned
            for fault in row.faults
            if fault.field in form.labels and fault.field not in form.columns
        )
        if not form.headers:
            return {}
        return {str(name): len(form.headers) + n for n, name in enumerate(named)}

    def columns(self, lacking: Mapping[str, int]) -> Iterator[Column]:
        """Yield the columns of the file without those of a report, and the missing ones."""
        form, fields = self.sheet.form, self.reading.resource.by_name
        free = [
            each.label for each in self.reading.resource.fields if each.name not in form.columns
        ]
        for place, (header, name) in enumerate(zip(form.headers, form.columns, strict=True)):
            if place not in form.own:
                continue
            reasons = [
                self.reason(fault) for fault in self.sheet.file_faults if fault.column == header
            ]
            proposals: Sequence[str] = ()
            if reasons:
                near = [each.label for each in nearest(header, self.reading.resource)]
                proposals = [*near, "", *(each for each in free if each not in near)]
            label = fields[name].label if name else None
            yield Column(place, header, label, reasons, proposals)
        for name, place in lacking.items():
            yield Column(place, fields[name].label, fields[name].label, missing=True)

    def row(
        self, verdict: Verdict, planned: PlannedRow, row: Row, lacking: Mapping[str, int]
    ) -> PreviewRow:
        """Return a planned row as the page shows it."""
        form = self.sheet.form
        width = len(form.own)
        cells = [*row.cells, *[""] * (width - len(row.cells))][:width]
        wrong: dict[int, list[Reason]] = {}
        reasons: list[Reason] = []
        for fault in planned.faults:
            place = lacking.get(fault.field or "")
            if fault.field in form.columns:
                place = form.columns.index(fault.field)
            if place is None:
                reasons.append(self.reason(fault))
            else:
                wrong.setdefault(place, []).append(self.reason(fault))
        # Without their details, which the mirror may lack, records aren't compared with rows.
        if planned.reason and planned.reason in FAULTS and planned.reason != "not_readable":
            reasons.append(self.reason(Fault(planned.reason, row.line, details=planned.details)))
        known = planned.known
        return PreviewRow(
            row.line,
            verdict,
            [*cells, *[""] * len(lacking)],
            wrong,
            list(dict.fromkeys(reasons)),
            str(known.number or known.remote_id) if known else "",
        )

    def reason(self, fault: Fault) -> Reason:
        """Return what is wrong and what to do, in the language of the inbox."""
        return fault.reason(self.reading.language), fault.hint(self.reading.language)
