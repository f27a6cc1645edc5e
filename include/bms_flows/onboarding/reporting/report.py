"""Outcome of each row of a drop, and the report files: created, rejected and review rows, and the receipt."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from upath import UPath

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.planning.matching import finders_of
from bms_flows.onboarding.reading.sheet import FileFormat, LastLine, Sheet
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.onboarding.resources.body import Difference
from bms_flows.onboarding.resources.evidence import ServiceRecord, contradicted
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.runtime.excel_csv import csv_file
from bms_flows.runtime.settings import Language
from bms_flows.runtime.storage import save_private
from bms_flows.texts import OUTCOMES

CREATED = ("_line", "key", "state", "guid", "id", "is_standby", "evidence")
REVIEW = ("_line", "key", "_reason_fr", "_reason_en", "_hint", "differences", "candidates")
RECEIPT = "receipt.json"
LAST_LINE = "last_line.csv"
OutcomeState = Literal["created", "adopted", "already_there", "rejected", "needs_review", "waiting"]
"""Every row has exactly one of these states."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A record of the service that a reviewer may choose, with the code of the match."""

    guid: str
    id: int | None = None
    evidence: str = ""

    def numbered(self, records: Mapping[str, ServiceRecord]) -> "Candidate":
        """Return the candidate with the number by which users of the service find the record."""
        known = records.get(self.guid)
        return replace(self, id=known.number) if known else self


@dataclass(frozen=True, kw_only=True)
class RowOutcome:
    """The state of a row, with its record and its faults.

    `key` identifies the row for HR users (payroll number), `guid` and `id` the record in the service;
    `evidence` has codes why the record was adopted or already existed; `verified` fields were read
    back equal, `unverifiable` fields are never returned by the service.
    """

    line: int
    state: OutcomeState
    key: str = dataclasses.field(default="", repr=False)
    guid: str | None = None
    id: int | None = None
    is_standby: bool | None = None
    evidence: str = ""
    verified: Sequence[str] = ()
    unverifiable: Sequence[str] = ()
    faults: Sequence[Fault] = ()
    candidates: Sequence[Candidate] = ()
    differences: Sequence[Difference] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the row of the receipt, without cell values."""
        names = "line state guid id is_standby evidence verified unverifiable"
        kept = {name: getattr(self, name) for name in names.split()}
        faults = [{"code": fault.code, "field": fault.field} for fault in self.faults]
        return {**kept, "faults": faults, "differences": [each.name for each in self.differences]}


def counts(outcomes: Sequence[RowOutcome]) -> Mapping[str, int]:
    """Return the number of rows by state, zeros included."""
    states = get_args(OutcomeState)
    return {state: sum(outcome.state == state for outcome in outcomes) for state in states}


def matched_ids(identity: Identity, sheet: Sheet, outcomes: Sequence[RowOutcome]) -> dict[str, str]:
    """Return the remote id of each row that has a record under its name, by its trusted match keys. Pure.

    A record under another name may be that of a person who shares one of the keys, such as a mailbox.
    """
    if identity.always_trusted:
        return {}
    finders, values = finders_of(sheet, identity), {row.line: row.values for row in sheet.rows}

    def is_own(outcome: RowOutcome) -> bool:
        ours = values[outcome.line]
        theirs = {**ours, **{each.name: each.theirs for each in outcome.differences}}
        # In review, a row without differences was not compared with a record.
        known = outcome.state != "needs_review" or theirs != ours
        return known and not contradicted(*map(identity.comparison_digests, (ours, theirs)))

    return {
        key: outcome.guid
        for outcome in outcomes
        if outcome.guid and is_own(outcome)
        for key, rule in finders[outcome.line].items()
        if rule.trust != "never"
    }


def last_line(sheet: Sheet) -> LastLine | None:
    """Return the last line of a CSV without its values; None if no row is readable."""
    if sheet.form.kind != "csv" or not sheet.rows:
        return None
    last = sheet.rows[-1]
    return LastLine(last.line, len(last.cells), len(sheet.form.own))


def last_line_file(sheet: Sheet) -> bytes:
    """Return last_line.csv, which the approver of a file with a missing end has to read."""
    form = sheet.form
    return csv_file([form.headers[place] for place in form.own], [sheet.rows[-1].cells])


def write(
    folder: UPath,
    content: bytes,
    sheet: Sheet,
    outcomes: Sequence[RowOutcome],
    receipt: bytes,
    others: Mapping[str, bytes] | None = None,
    *,
    language: Language = "FR",
) -> None:
    """Write the report of a drop to `folder`; the receipt comes last and marks the report as complete.

    `content` is the original file, `others` has additional files of the resource; hints and the
    states of created.csv are in `language`. A rejected row without own faults has the faults of the file. Idempotent.
    """
    review = review_file(outcomes, sheet.form, language)
    files = {"created.csv": created_file(outcomes, language), "needs_review.csv": review}
    rows = {row.line: row for row in sheet.rows}
    rejected = {
        outcome.line: outcome.faults or sheet.faults_of(rows[outcome.line])
        for outcome in outcomes
        if outcome.state == "rejected"
    }
    if sheet.form.kind is None or (sheet.refused and not rejected):
        rejected = {0: sheet.file_faults}
    refused = reject_files(content, sheet.form, rejected, language)
    files |= {f"rejected{ending}": each for ending, each in refused.items()}
    files |= others or {}
    for name, each in files.items():
        save_private(folder / name, each)
    save_private(folder / RECEIPT, receipt)


def created_file(outcomes: Sequence[RowOutcome], language: Language) -> bytes:
    """Return created.csv: rows with a record in the service, and its ids."""
    return csv_file(
        CREATED,
        (
            (
                each.line,
                each.key,
                OUTCOMES[each.state][language][0],
                each.guid,
                each.id,
                each.is_standby,
                each.evidence,
            )
            for each in outcomes
            if each.state in ("created", "adopted", "already_there")
        ),
    )


def review_file(outcomes: Sequence[RowOutcome], form: FileFormat, language: Language) -> bytes:
    """Return needs_review.csv: rows that wait for a decision, with their candidates."""
    return csv_file(
        REVIEW,
        (
            (
                each.line,
                each.key,
                " | ".join(fault.reason("FR") for fault in each.faults),
                " | ".join(fault.reason("EN") for fault in each.faults),
                " | ".join(fault.hint(language) for fault in each.faults),
                " | ".join(
                    f"{form.header(d.name)}: {d.ours} ≠ {'' if d.theirs is None else d.theirs}"
                    for d in each.differences
                ),
                " | ".join(f"{c.guid} {c.id or ''} {c.evidence}".strip() for c in each.candidates),
            )
            for each in outcomes
            if each.state in ("needs_review", "waiting")
        ),
    )
