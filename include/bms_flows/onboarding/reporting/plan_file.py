"""Plan of a drop as a file for its approver: each row as it was read, its action and the reasons."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bms_flows.onboarding.faults import Fault, with_column
from bms_flows.onboarding.planning.plan import Action, Plan, PlannedRow
from bms_flows.onboarding.reading.headers import is_report
from bms_flows.onboarding.reading.sheet import Row, Sheet
from bms_flows.onboarding.resources.description import Value
from bms_flows.runtime.excel_csv import csv_file, unescape
from bms_flows.runtime.settings import Language

LEADING: Final = ("_line", "_action")
TRAILING: Final = ("_reason_fr", "_reason_en", "_candidates")


@dataclass(frozen=True)
class PlanRow:
    """A row of a plan file."""

    line: str
    action: str
    cells: Sequence[str]
    reason_fr: str
    reason_en: str
    candidates: str


def file_name(plan_id: str) -> str:
    """Return the name of a plan's file in the report of its drop."""
    return f"plan-{plan_id[:12]}.csv"


def plan_file(plan: Plan, sheet: Sheet) -> bytes:
    """Return a plan as a CSV: the columns of the drop between the action and the reasons.

    The cells are the values as read, such as a date with its month; a cell without a value is as
    written.
    """
    columns = [
        (header, name)
        for header, name in zip(sheet.form.headers, sheet.form.columns, strict=True)
        if not is_report(header)
    ]
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
        return [Fault(planned.reason, planned.line)]
    return []


def _reason(fault: Fault, sheet: Sheet, language: Language) -> str:
    column = fault.column or sheet.form.header(fault.field)
    return with_column(column, fault.reason(language), language)


def _cell(row: Row, index: int, name: str | None) -> Any:
    value: Value | None = row.values.get(name) if name else None
    if isinstance(value, bool):
        return "oui" if value else "non"
    if isinstance(value, tuple):
        return "|".join(map(str, value))
    if value is not None:
        return value
    return row.cells[index] if index < len(row.cells) else None
