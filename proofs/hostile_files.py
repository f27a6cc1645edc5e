"""Cost of hostile files: the worst files within the limits, each read in a separate process.

python -m proofs.hostile_files > proofs/results/hostile.md
"""

import io
import multiprocessing
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl

from bms_flows.onboarding.planning.plan import Action, Plan, PlanInputs, PlannedRow
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Limits
from bms_flows.onboarding.reporting.plan_file import plan_file
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.onboarding.resources.employee import EMPLOYEE
from tests.support.published import stamp

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


def sheet(content: Callable[[], bytes]) -> Callable[[], bytes]:
    """Return a workbook with `content` among its rows."""
    return lambda: workbook({SHEET: lambda xml: xml.replace(END, content() + END)})


def in_utf_16(xml: bytes, cells: bytes, declared: bytes = b"") -> bytes:
    """Return a sheet with one more row, in the other encoding that Excel reads."""
    begin = xml.index(b"<worksheet")
    text = declared + xml[begin:].replace(END, b"<row>" + cells + b"</row>" + END)
    return ('<?xml version="1.0" encoding="UTF-16"?>' + text.decode()).encode("utf-16")


def workbook(changes: dict[str, Callable[[bytes], bytes]]) -> bytes:
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


def shared_text(text: bytes, cells: int, rows: int) -> dict[str, Callable[[bytes], bytes]]:
    """Return the parts of a workbook with one text in every cell."""
    row = b"<row>" + b'<c t="s"><v>0</v></c>' * cells + b"</row>"
    return {
        SHEET: lambda xml: xml.replace(
            b"<sheetData>", b"<sheetData>" + row * rows + b"<!--"
        ).replace(END, b"-->" + END),
        STRINGS: lambda _: b"<sst " + NAMESPACE + b"><si><t>" + text + b"</t></si></sst>",
        RELATIONS: lambda xml: xml.replace(b"</Relationships>", SHARED),
    }


FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a line of delimiters": ("a.csv", lambda: b"Nom\n" + b";" * LONG + b"\n"),
    "blank lines": ("a.csv", lambda: b"Nom\n" + b"\n" * LONG),
    "one cell": ("a.csv", lambda: b"Nom\n" + b"a" * LONG + b"\n"),
    "quotes": ("a.csv", lambda: b"Nom\n" + b'"' * LONG + b"\n"),
    "lines of one cell": ("a.csv", lambda: b"Nom\n" + b"a\n" * (LONG // 2)),
    "a workbook of blanks": ("a.xlsx", lambda: workbook({SHEET: lambda xml: xml + filled(b" ")})),
    "a workbook of empty strings": (
        "a.xlsx",
        lambda: workbook(
            {
                STRINGS: lambda _: filled(
                    b"<si><t/></si>", (b"<sst " + NAMESPACE + b">", b"</sst>")
                ),
                RELATIONS: lambda xml: xml.replace(b"</Relationships>", SHARED),
            }
        ),
    ),
    "a workbook of one cell": (
        "a.xlsx",
        sheet(lambda: filled(b"a", (b'<row><c t="inlineStr"><is><t>', b"</t></is></c></row>"))),
    ),
    "a workbook of one row": (
        "a.xlsx",
        sheet(lambda: filled(b"<c><v>1</v></c>", (b"<row>", b"</row>"))),
    ),
    "a workbook of empty rows": ("a.xlsx", sheet(lambda: filled(b"<row/>"))),
    "a workbook of cells": (
        "a.xlsx",
        sheet(lambda: (b"<row>" + b"<c><v>1</v></c>" * 240 + b"</row>") * 49_000),
    ),
    "a workbook of cells that hold nothing": (
        "a.xlsx",
        sheet(lambda: (b"<row>" + b"<c/>" * 240 + b"</row>") * 290_000),
    ),
    "a workbook of one long text in every cell": (
        "a.xlsx",
        lambda: workbook(shared_text(b"a" * 30_000, 240, 500)),
    ),
    "a workbook of long texts within the limit": (
        "a.xlsx",
        lambda: workbook(shared_text("é".encode() * 150, 20, 6_600)),
    ),
    "unknown headers above many rows": (
        "a.csv",
        lambda: (
            (";".join(f"Colonne {n}" for n in range(240)) + "\n").encode()
            + (b"a" + b";" * 239 + b"\n") * 49_000
        ),
    ),
    "a header of 30,000 characters": (
        "a.csv",
        lambda: b"Nom;" + b"a" * 30_000 + b"\n" + b"a;b\n" * 49_000,
    ),
    "a fault in every cell": (
        "a.csv",
        lambda: (
            ";".join(each.label for each in EMPLOYEE.fields).encode("utf-8-sig")
            + b"\n"
            + (b";".join([b"\x7f?"] * len(EMPLOYEE.fields)) + b"\n") * 49_000
        ),
    ),
    "rows of faults within the limit": (
        "a.csv",
        lambda: (
            ";".join(each.label for each in EMPLOYEE.fields).encode("utf-8-sig")
            + b"\n"
            + (b";".join([b"\x7f?"] * len(EMPLOYEE.fields)) + b"\n") * 3_500
        ),
    ),
    "a workbook of tags that are passed over": (
        "a.xlsx",
        sheet(lambda: b"".join(b"<a%d/>" % number for number in range(10_000_000))),
    ),
    "a workbook of one row, in UTF-16": (
        "a.xlsx",
        lambda: workbook({SHEET: lambda xml: in_utf_16(xml, b"<c/>" * 1_000_000)}),
    ),
    "a workbook of entities, in UTF-16": (
        "a.xlsx",
        lambda: workbook({SHEET: lambda xml: in_utf_16(xml, b"<c/>", ENTITY)}),
    ),
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
    answer.send((codes, time.process_time() - started, most_memory(), largest))


def most_memory() -> int:
    """Return the most memory that this process ever held, MB; without what made it, as Linux counts."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def main() -> None:
    """Print the table."""
    print("# What a hostile file costs", end="\n\n")
    print(f"Files as large as the limits let through. {stamp()}", end="\n\n")
    print(
        "| File | MB | Outcome | s of a core | MB of memory | MB of the largest report file |\n|---|--:|---|--:|--:|--:|"
    )
    for what, (name, made) in FILES.items():
        content = made()
        here, there = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=measured, args=(name, content, there))
        process.start()
        codes, seconds, memory, written = here.recv()
        process.join()
        size = len(content) / 1e6
        print(
            f"| {what} | {size:.1f} | {codes} | {seconds:.1f} | {memory} | {written:.1f} |",
            flush=True,
        )
    print(
        "\nEach file is read in a separate process, which also writes its plan and its rejected rows."
    )


if __name__ == "__main__":
    main()
