"""Cost of hostile files: the worst files within the limits, each read in a separate process.

python -m proofs.hostile_files > proofs/results/hostile.md
"""

import io
import multiprocessing
import time
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import openpyxl

from bms_flows.onboarding.planning.plan import Action, Plan, PlanInputs, PlannedRow
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Limits
from bms_flows.onboarding.reporting.approval_request import plan_file
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.onboarding.resources.employee import EMPLOYEE
from proofs.page import command, heading, show
from tests.support.measurement import peak_memory

Change = Callable[[bytes], bytes]
SHEET, STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
RELATIONS = "xl/_rels/workbook.xml.rels"
SHARED = b'<Relationship Id="s" Target="sharedStrings.xml" Type="x/sharedStrings"/></Relationships>'
END = b"</sheetData>"
NAMESPACE = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
UNPACKED = Limits().unpacked_bytes - 5_000_000
LONG = Limits().bytes - 100
ENTITY = b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>]>"


def filled(piece: bytes, around: tuple[bytes, bytes] = (b"", b"")) -> bytes:
    """Return `piece` so often that a part of a workbook is as large as may be."""
    before, after = around
    return before + piece * (UNPACKED // len(piece)) + after


def in_utf_16(xml: bytes, cells: bytes, declared: bytes = b"") -> bytes:
    """Return a sheet with one more row, in the other encoding that Excel reads."""
    begin = xml.index(b"<worksheet")
    text = declared + xml[begin:].replace(END, b"<row>" + cells + b"</row>" + END)
    return ('<?xml version="1.0" encoding="UTF-16"?>' + text.decode()).encode("utf-16")


def with_rows(rows: bytes) -> bytes:
    """Return a workbook with more rows."""
    return workbook({SHEET: lambda xml: xml.replace(END, rows + END)})


def workbook(changes: dict[str, Change]) -> bytes:
    """Return a small workbook with parts changed, or added."""
    book, stream, packed = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    worksheet: Any = book.active
    worksheet.append(["Nom"])
    worksheet.append(["A"])
    book.save(stream)
    with zipfile.ZipFile(stream) as old, zipfile.ZipFile(packed, "w", 8, compresslevel=1) as new:
        for name in {*old.namelist(), *changes}:
            part = old.read(name) if name in old.namelist() else b""
            new.writestr(name, changes.get(name, bytes)(part))
    return packed.getvalue()


def relate(xml: bytes) -> bytes:
    """Return a workbook's relations with one to shared texts."""
    return xml.replace(b"</Relationships>", SHARED)


def shared_text(text: bytes, cells: int, rows: int) -> dict[str, Change]:
    """Return the parts of a workbook with one text in every cell."""
    row = b"<row>" + b'<c t="s"><v>0</v></c>' * cells + b"</row>"
    return {
        SHEET: lambda xml: xml.replace(
            b"<sheetData>", b"<sheetData>" + row * rows + b"<!--"
        ).replace(END, b"-->" + END),
        STRINGS: lambda _: b"<sst " + NAMESPACE + b"><si><t>" + text + b"</t></si></sst>",
        RELATIONS: relate,
    }


HEADS = ";".join(each.label for each in EMPLOYEE.fields).encode("utf-8-sig") + b"\n"
FAULTS = b";".join([b"\x7f?"] * len(EMPLOYEE.fields)) + b"\n"
WIDE = ";".join(f"Colonne {n}" for n in range(240)).encode() + b"\n"
CSV: dict[str, Callable[[], bytes]] = {
    "a line of delimiters": lambda: b"Nom\n" + b";" * LONG + b"\n",
    "blank lines": lambda: b"Nom\n" + b"\n" * LONG,
    "one cell": lambda: b"Nom\n" + b"a" * LONG + b"\n",
    "quotes": lambda: b"Nom\n" + b'"' * LONG + b"\n",
    "lines of one cell": lambda: b"Nom\n" + b"a\n" * (LONG // 2),
    "unknown headers above many rows": lambda: WIDE + (b"a" + b";" * 239 + b"\n") * 49_000,
    "a header of 30,000 characters": lambda: b"Nom;" + b"a" * 30_000 + b"\n" + b"a;b\n" * 49_000,
    "a fault in every cell": lambda: HEADS + FAULTS * 49_000,
    "rows of faults within the limit": lambda: HEADS + FAULTS * 3_500,
}
ROWS: dict[str, Callable[[], bytes]] = {
    "one cell": lambda: filled(b"a", (b'<row><c t="inlineStr"><is><t>', b"</t></is></c></row>")),
    "one row": lambda: filled(b"<c><v>1</v></c>", (b"<row>", b"</row>")),
    "empty rows": lambda: filled(b"<row/>"),
    "cells": lambda: (b"<row>" + b"<c><v>1</v></c>" * 240 + b"</row>") * 49_000,
    "cells that hold nothing": lambda: (b"<row>" + b"<c/>" * 240 + b"</row>") * 290_000,
    "tags that are passed over": lambda: b"".join(b"<a%d/>" % n for n in range(10_000_000)),
}
"""Rows of workbooks."""
EMPTY = b"<sst " + NAMESPACE + b">", b"</sst>"
WORKBOOKS: dict[str, Callable[[], bytes]] = {
    "blanks": lambda: workbook({SHEET: lambda xml: xml + filled(b" ")}),
    "empty strings": lambda: workbook(
        {STRINGS: lambda _: filled(b"<si><t/></si>", EMPTY), RELATIONS: relate}
    ),
    **{name: lambda rows=rows: with_rows(rows()) for name, rows in ROWS.items()},  # type: ignore[misc]
    "one long text in every cell": lambda: workbook(shared_text(b"a" * 30_000, 240, 500)),
    "long texts within the limit": lambda: workbook(shared_text("é".encode() * 150, 20, 6_600)),
    "one row, in UTF-16": lambda: workbook(
        {SHEET: lambda xml: in_utf_16(xml, b"<c/>" * 1_000_000)}
    ),
    "entities, in UTF-16": lambda: workbook({SHEET: lambda xml: in_utf_16(xml, b"<c/>", ENTITY)}),
}


def measured(name: str, content: bytes, answer: Any) -> None:
    """Read a file, and write its plan and rejects; send result, CPU seconds, peak memory and bytes."""
    started = time.process_time()
    found = read(content, name, EMPLOYEE)
    codes = ", ".join(dict.fromkeys(fault.code for fault in found.faults)) or "read"
    faults = {row.line: found.faults_of(row) for row in found.rows}
    rejected = {line: each for line, each in faults.items() if each}
    plan = Plan(
        "employee",
        PlanInputs("", "", "", ""),
        tuple(PlannedRow(line=row.line, action=Action.REJECTED) for row in found.rows),
        0,
    )
    written = [plan_file(plan, found)]
    if rejected:
        written += reject_files(content, found.form, rejected).values()
    largest = max(map(len, written)) / 1e6
    answer.send((codes, time.process_time() - started, peak_memory() >> 20, largest))


def cells() -> Iterator[tuple[object, ...]]:
    """Yield a row of the table for each file."""
    files = [(name, "a.csv", made) for name, made in CSV.items()]
    files += [(f"a workbook of {name}", "a.xlsx", made) for name, made in WORKBOOKS.items()]
    for what, name, made in files:
        content = made()
        here, there = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=measured, args=(name, content, there))
        process.start()
        there.close()  # so that the child's death ends the wait
        codes, seconds, memory, written = here.recv()
        process.join()
        size = f"{len(content) / 1e6:.1f}"
        yield what, codes, size, f"{seconds:.1f}", memory, f"{written:.1f}"


def main() -> None:
    """Print the table."""
    heading(
        "What a hostile file costs",
        "Files as large as the limits let through, each read in a process that also writes its plan and rejected rows. ",
    )
    head = "File", "Outcome", "MB", "s of a core", "MB of memory", "MB of the largest report file"
    show(head, cells(), texts=2)


if __name__ == "__main__":
    command(main)
