"""Whatever lies in an inbox: a sheet with its faults, and a reject file that has every row again."""

import io
import zipfile
from functools import cache

import openpyxl
from hypothesis import given, settings
from hypothesis import strategies as st

from bms_flows.creation.employees import EMPLOYEE
from bms_flows.drops.reading import read
from bms_flows.drops.rejects import reject_files
from bms_flows.drops.sheet import Limits, Sheet

HEADERS = ["Matricule", "Nom", "Date d'entrée", "Salaire", "Entité", "_hint", "", "Autre"]
CELLS = st.sampled_from(
    [
        "",
        "A",
        "=1+1",
        "'=1",
        "-5",
        "+33 6",
        "31/12/2026",
        "12,50",
        "1e400000",
        "9" * 400,
        '"',
        "#N/A",
    ]
)
texts = st.lists(
    st.lists(st.sampled_from(HEADERS) | CELLS | st.text(max_size=8), max_size=6), max_size=6
).flatmap(
    lambda rows: st.sampled_from([";", ",", "\t", "|"]).map(
        lambda mark: "\r\n".join(mark.join(row) for row in rows)
    )
)
files = st.binary(max_size=200) | st.tuples(
    texts | st.text(max_size=80), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])
).map(lambda each: each[0].encode(each[1], errors="replace"))


def lines(sheet: Sheet) -> int:
    return len(sheet.rows)


@given(content=files)
def test_any_bytes_are_read_and_all_their_rows_come_back(content: bytes) -> None:
    sheet = read(content, "a.csv", EMPLOYEE)
    faults = {row.line: sheet.faults_of(row) for row in sheet.rows}
    for ending, refused in reject_files(content, sheet.form, faults).items():
        again = read(refused, f"rejected{ending}", EMPLOYEE)
        assert sheet.form.kind is None or lines(again) == lines(sheet)


@cache
def workbook() -> bytes:
    book, stream = openpyxl.Workbook(), io.BytesIO()
    assert book.active is not None
    for row in (["Nom", "Salaire"], ["A", 12.5], ["=1+1", True]):
        book.active.append(row)
    book.save(stream)
    return stream.getvalue()


PARTS = zipfile.ZipFile(io.BytesIO(workbook())).namelist()


@settings(max_examples=25)  # each unpacks and packs a workbook twice
@given(
    part=st.sampled_from(PARTS),
    at=st.floats(0, 1),
    cut=st.integers(0, 30),
    put=st.binary(max_size=12)
    | st.sampled_from([b"1e999", b"<", b"&#0;", b"9" * 5_000, b't="d"', b'r="XFD9"', b"\xff"]),
)
def test_a_workbook_changed_anywhere_is_read_or_refused(
    part: str, at: float, cut: int, put: bytes
) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook())) as old, zipfile.ZipFile(stream, "w") as new:
        for name in PARTS:
            content = old.read(name)
            if name == part:
                place = int(at * len(content))
                content = content[:place] + put + content[place + cut :]
            new.writestr(name, content)
    sheet = read(stream.getvalue(), "a.xlsx", EMPLOYEE, limits=Limits(rows=100))
    assert sheet.faults or sheet.rows
    if sheet.form.kind == "xlsx":
        faults = {row.line: sheet.faults_of(row) for row in sheet.rows}
        assert reject_files(stream.getvalue(), sheet.form, faults)
