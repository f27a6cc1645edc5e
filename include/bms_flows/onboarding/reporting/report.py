"""What comes back: who was created, who wasn't and why, and last the receipt."""

from collections.abc import Mapping, Sequence

from upath import UPath

from bms_flows.onboarding.reading.headers import is_report
from bms_flows.onboarding.reading.sheet import LastLine, Sheet
from bms_flows.onboarding.reporting.outcome import Outcome
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.runtime.excel_csv import csv_file
from bms_flows.runtime.storage import save_private

CREATED = ("_line", "key", "state", "guid", "id", "is_standby", "evidence")
REVIEW = ("_line", "key", "_reason_fr", "_reason_en", "_hint", "differences", "candidates")
RECEIPT = "receipt.json"
LAST_LINE = "last_line.csv"


def last_line(sheet: Sheet) -> LastLine | None:
    """Return the last line of a CSV by figures; None where no row of it could be read."""
    if sheet.form.kind != "csv" or not sheet.rows:
        return None
    last = sheet.rows[-1]
    return LastLine(last.line, len(last.cells), len(_headers(sheet)))


def last_line_file(sheet: Sheet) -> bytes:
    """Return last_line.csv: what the approver of a file whose end is missing has to read."""
    return csv_file(_headers(sheet), [sheet.rows[-1].cells])


def _headers(sheet: Sheet) -> list[str]:
    return [header for header in sheet.form.headers if not is_report(header)]


def write(
    folder: UPath,
    content: bytes,
    sheet: Sheet,
    outcomes: Sequence[Outcome],
    receipt: bytes,
    others: Mapping[str, bytes] | None = None,
) -> None:
    """Write a drop's report to `folder`, the receipt last: where it is, all files are.

    `content` is the original, `others` what the resource tells beside; repeating it writes the
    same files. A rejected row with no fault of
    its own has the file's.
    """
    files = {"created.csv": created_file(outcomes), "needs_review.csv": review_file(outcomes)}
    rows = {row.line: row for row in sheet.rows}
    rejected = {
        outcome.line: outcome.faults or sheet.faults_of(rows[outcome.line])
        for outcome in outcomes
        if outcome.state == "rejected"
    }
    if sheet.form.kind is None or (sheet.refused and not rejected):
        rejected = {0: sheet.file_faults}
    refused = reject_files(content, sheet.form, rejected)
    files |= {f"rejected{ending}": each for ending, each in refused.items()}
    files |= others or {}
    for name, each in files.items():
        save_private(folder / name, each)
    save_private(folder / RECEIPT, receipt)


def created_file(outcomes: Sequence[Outcome]) -> bytes:
    """Return created.csv: rows that stand in the service, with their ids."""
    return csv_file(
        CREATED,
        (
            (
                each.line,
                each.key,
                each.state,
                each.guid,
                each.id,
                None if each.is_standby is None else "oui" if each.is_standby else "non",
                each.evidence,
            )
            for each in outcomes
            if each.state in ("created", "adopted", "already_there")
        ),
    )


def review_file(outcomes: Sequence[Outcome]) -> bytes:
    """Return needs_review.csv: rows that wait for a person, with what there is to choose from."""
    return csv_file(
        REVIEW,
        (
            (
                each.line,
                each.key,
                " | ".join(fault.text_fr for fault in each.faults),
                " | ".join(fault.text_en for fault in each.faults),
                " | ".join(fault.hint for fault in each.faults),
                " | ".join(f"{d.field}: {d.ours} ≠ {d.theirs}" for d in each.differences),
                " | ".join(f"{c.guid} {c.id or ''} {c.evidence}".strip() for c in each.candidates),
            )
            for each in outcomes
            if each.state in ("needs_review", "waiting")
        ),
    )
