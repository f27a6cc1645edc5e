"""Report files of a drop: created, rejected and review rows, and the receipt."""

from collections.abc import Mapping, Sequence

from upath import UPath

from bms_flows.onboarding.reading.headers import is_report
from bms_flows.onboarding.reading.sheet import LastLine, Sheet
from bms_flows.onboarding.reporting.outcome import RowOutcome
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.runtime.excel_csv import csv_file
from bms_flows.runtime.settings import Language
from bms_flows.runtime.storage import save_private
from bms_flows.texts import OUTCOMES

CREATED = ("_line", "key", "state", "guid", "id", "is_standby", "evidence")
REVIEW = ("_line", "key", "_reason_fr", "_reason_en", "_hint", "differences", "candidates")
RECEIPT = "receipt.json"
LAST_LINE = "last_line.csv"


def last_line(sheet: Sheet) -> LastLine | None:
    """Return the last line of a CSV without its values; None if no row is readable."""
    if sheet.form.kind != "csv" or not sheet.rows:
        return None
    last = sheet.rows[-1]
    return LastLine(last.line, len(last.cells), len(_headers(sheet)))


def last_line_file(sheet: Sheet) -> bytes:
    """Return last_line.csv, which the approver of a file with a missing end has to read."""
    return csv_file(_headers(sheet), [sheet.rows[-1].cells])


def _headers(sheet: Sheet) -> list[str]:
    return [header for header in sheet.form.headers if not is_report(header)]


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
    review = review_file(outcomes, language)
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
                None if each.is_standby is None else "oui" if each.is_standby else "non",
                each.evidence,
            )
            for each in outcomes
            if each.state in ("created", "adopted", "already_there")
        ),
    )


def review_file(outcomes: Sequence[RowOutcome], language: Language) -> bytes:
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
                " | ".join(f"{d.field}: {d.ours} ≠ {d.theirs}" for d in each.differences),
                " | ".join(f"{c.guid} {c.id or ''} {c.evidence}".strip() for c in each.candidates),
            )
            for each in outcomes
            if each.state in ("needs_review", "waiting")
        ),
    )
