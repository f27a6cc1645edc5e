"""Arbitrary bytes in an inbox: a sheet with faults, and a reject file that contains every row."""

import io
import re
import time
import zipfile

from hypothesis import given, settings
from hypothesis import strategies as st

from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.reject_notes import read_originals
from bms_flows.onboarding.reading.sheet import Limits, Sheet
from bms_flows.onboarding.reading.workbook import _exact as exact_number
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.onboarding.resources.employee import EMPLOYEE
from tests.support.workbooks import workbook

HEADERS = ["Matricule", "Nom", "Date d'entrée", "Salaire", "Entité", "_hint", "", "Autre"]
CELLS = st.sampled_from(
    [
        "",
        "A",
        "=1+1",
        '="01"',
        '="""1"',
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


SHEET = """<cols><col min="1" max="2" width="9" style="1"/></cols><sheetData><row r="1">
<c t="s"><v>0</v></c><c t="inlineStr"><is><r><t>Sal</t></r><r><t>aire</t></r></is></c></row>
<row r="2" hidden="1"><c r="A2" s="1"><v>4217</v></c><c r="B2" t="e"><f>1/0</f><v>#DIV/0!</v></c></row>
<row r="5"><c r="A5" t="d"><v>2026-01-01</v></c><c t="b"><v>1</v></c></row>
<row r="6"><c t="str"><f>A1</f><v>=1+1</v></c><c s="2"><v>12.5</v></c></row></sheetData>"""
STYLES = """<numFmts count="1"><numFmt numFmtId="170" formatCode="000000"/></numFmts>
<cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="170"/><xf numFmtId="14"/></cellXfs>"""
WORKBOOK = workbook(SHEET, styles=STYLES, strings="<si><t>Matricule</t></si>")
PARTS = zipfile.ZipFile(io.BytesIO(WORKBOOK)).namelist()
PUT = st.sampled_from(
    b"1e999,NaN,x,-1,0,1,0.5,,9999999999,1048577,XFD9,ZZZ1,<,&#0;,_xD800_,_x0000_,;;;,[h],0%,dd,s,str,e,"
    b"d,b,inlineStr,true,rId2,../x,\xff".split(b",")
) | st.binary(max_size=12)


@settings(max_examples=100)
@given(
    part=st.sampled_from(PARTS),
    at=st.floats(0, 1),
    cut=st.integers(0, 30),
    put=PUT,
    whole=st.booleans(),
)
def test_a_corrupted_workbook_is_read_right_or_refused(
    part: str, at: float, cut: int, put: bytes, whole: bool
) -> None:
    """`whole`: a value is changed, and the part is still XML; else any bytes are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(WORKBOOK)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in PARTS:
            content = old.read(name)
            values = [found.span(1) for found in re.finditer(rb'(?<==")([^"]*)"', content)]
            values += [found.span(1) for found in re.finditer(rb">([^<]+)<", content)]
            begin = int(at * len(content))
            end = begin + cut
            if whole and values:
                begin, end = values[int(at * (len(values) - 1))]
            new.writestr(name, content[:begin] + put + content[end:] if name == part else content)
    sheet = read(stream.getvalue(), "a.xlsx", EMPLOYEE, limits=Limits(rows=100))
    assert sheet.faults or sheet.rows
    if sheet.form.kind == "xlsx":
        faults = {row.line: sheet.faults_of(row) for row in sheet.rows}
        [refused] = reject_files(stream.getvalue(), sheet.form, faults).values()
        assert lines(read(refused, "r.xlsx", EMPLOYEE)) == lines(sheet)


def test_long_cells_cost_no_more_than_their_length() -> None:
    """A regular expression that tries each start with each end takes half a minute per cell."""
    long = ("a-" * 16_000 + "?", f"nombre d{'x' * 32_000}{',' * 70}")
    content = "".join(f"{row}\r\n" for row in ("Matricule;Nom;Adresse", *(f";;{c}" for c in long)))
    began = time.process_time()
    assert lines(read(content.encode(), "a.csv", EMPLOYEE)) == len(long)
    assert exact_number("1" * 32_000 + "x") is None
    assert read_originals("a" * 32_000) == {}
    assert time.process_time() - began < 3
