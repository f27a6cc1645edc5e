"""Templates of an inbox: users can fill them in and drop them."""

import os
import re
import stat
from io import BytesIO
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from sqlalchemy import Engine
from upath import UPath

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.inbox import templates
from bms_flows.onboarding.inbox.discovery import list_files
from bms_flows.onboarding.inbox.unclaimed import NAME
from bms_flows.onboarding.inboxes import Inbox
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reporting.rejects import reject_files
from bms_flows.onboarding.resources.consultant import CONSULTANT
from bms_flows.onboarding.resources.contact import CONTACT
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.settings import DeclaredFormat, OnboardingSettings
from bms_flows.runtime.context import FlowContext
from bms_flows.texts import ADVICE

PAGE = "https://airflow.example.com/bms/flows/employee_onboarding"


@pytest.mark.parametrize("resource", [EMPLOYEE, CONTACT, CONSULTANT])
@pytest.mark.parametrize(
    "declared", [DeclaredFormat(), DeclaredFormat("mdy", "."), DeclaredFormat("ymd", ",")]
)
def test_a_template_has_every_column_and_an_example_as_the_inbox_declares(
    resource: Resource, declared: DeclaredFormat
) -> None:
    for name, content in (
        ("a.csv", templates.csv_template(resource, declared)),
        ("a.xlsx", templates.xlsx_template(resource, declared)),
    ):
        found = read(content, name, resource, declared)
        assert [fault.code for fault in found.faults] == ["example_row"]
        assert found.form.columns == tuple(field.name for field in resource.fields)
        [example] = found.rows
        assert set(resource.required) <= set(example.values)
        assert example.values.get("payroll_number", "004217") == "004217"


@pytest.mark.parametrize("resource", [EMPLOYEE, CONTACT, CONSULTANT])
def test_a_star_marks_the_required_columns_and_the_filled_in_template_is_read(
    resource: Resource, tmp_path: Path
) -> None:
    """In the workbook as saved by another program, and in the CSV; the reject file has the same headers."""
    (tmp_path / "a.xlsx").write_bytes(templates.xlsx_template(resource))
    book: Any = openpyxl.load_workbook(tmp_path / "a.xlsx")
    values = ["2" if field.kind == "integer" else field.example for field in resource.fields]
    book.active.append([each or None for each in values])
    book.save(tmp_path / "a.xlsx")
    line = ";".join(f'"{each}"' for each in values)
    (tmp_path / "a.csv").write_bytes(templates.csv_template(resource) + f"{line}\r\n".encode())
    for name in ("a.xlsx", "a.csv"):
        content = (tmp_path / name).read_bytes()
        sheet = read(content, name, resource)
        found = zip(sheet.form.headers, sheet.form.columns, strict=True)
        assert {field for header, field in found if header.endswith(" *")} == set(resource.required)
        assert [(fault.code, fault.line) for fault in sheet.faults] == [("example_row", 2)]
        assert set(resource.required) <= set(sheet.rows[1].values)
        rejects = reject_files(content, sheet.form, {3: [Fault("not_approved", 3)]})
        for ending, reject in rejects.items():
            assert read(reject, f"a{ending}", resource).rows[0].values == sheet.rows[1].values


def test_the_workbooks_columns_are_text_so_that_excel_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(templates.xlsx_template(EMPLOYEE))
    sheet: Any = openpyxl.load_workbook(path).active
    assert {cell.number_format for row in sheet for cell in row if cell.value} == {"@"}
    [columns] = sheet.column_dimensions.values()
    assert (columns.min, columns.max, columns.number_format) == (1, 16_384, "@")


@pytest.mark.parametrize(
    ("declared", "told", "untold"),
    [
        (DeclaredFormat(), ["jj/mm/aaaa (31/12/2026 ou 2026-12-31)", "(2850,50)"], ["1234,5"]),
        (
            DeclaredFormat("dmy", ","),
            ["jj/mm/aaaa (31/12/2026 ou 2026-12-31)", "1234,5"],
            ["2850.50"],
        ),
        (
            DeclaredFormat("mdy", "."),
            ["mm/jj/aaaa (12/31/2026 ou 2026-12-31)", "1234.5", "(2850.50)"],
            ["31/12/2026"],
        ),
        (
            DeclaredFormat("ymd"),
            ["aaaa-mm-jj (2026-12-31)", "yyyy-mm-dd (2026"],
            ["31/12/2026", "1234"],
        ),
    ],
)
def test_the_instructions_state_what_the_inbox_declares(
    declared: DeclaredFormat, told: list[str], untold: list[str]
) -> None:
    text = templates.read_me(EMPLOYEE, declared, page=PAGE).decode("utf-8-sig")
    assert [each for each in told if each not in text] == []
    assert [each for each in untold if each in text] == []


@pytest.mark.parametrize("resource", [EMPLOYEE, CONTACT, CONSULTANT])
def test_the_instructions_name_every_column_page_and_reports_in_french_then_in_english(
    resource: Resource,
) -> None:
    text = templates.read_me(resource, page=PAGE).decode("utf-8-sig")
    for field in resource.fields:
        line = next(line for line in text.split("\r\n") if f"[{field.name}]" in line)
        assert line.startswith("*") == (field.name in resource.required)
        assert all(alias in line for alias in field.aliases)
    assert f"Résultat\xa0: sur la page {PAGE}\r\n" in text
    assert f"reports/{resource.inbox}/<numéro>-<date>/" in text
    french, english = text.split("In English\r\n")
    assert not re.search(r"\b(the|is|are|Drop|rows?)\b", french)
    assert not re.search(r"\b(les|est|une|Déposez)\b", english)
    advice = ADVICE.get(resource.name, {}).values()
    assert all(each.replace("\n", "\r\n") in text for each in advice)


def test_a_group_can_drop_files_and_everyone_can_read_the_instructions(tmp_path: Path) -> None:
    """Files with personal data are private; templates contain none."""
    before = os.umask(0o027)
    try:
        templates.provide(UPath(tmp_path / "inbox"), EMPLOYEE, page=PAGE)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "inbox").stat().st_mode) == 0o770
    for each in (tmp_path / "inbox").iterdir():
        assert stat.S_IMODE(each.stat().st_mode) & 0o040


def test_an_inbox_is_created_once_and_repaired(inbox: UPath) -> None:
    templates.provide(inbox, EMPLOYEE, page=PAGE)
    found = {path.name: path.read_bytes() for path in inbox.iterdir()}
    assert set(found) == {"_LISEZMOI.txt", "_modele_employees.csv", "_modele_employees.xlsx"}
    templates.provide(inbox, EMPLOYEE, page=PAGE)
    assert {path.name: path.read_bytes() for path in inbox.iterdir()} == found
    (inbox / "_modele_employees.csv").write_bytes(b"old")
    (inbox / "_LISEZMOI.txt").unlink()
    templates.provide(inbox, EMPLOYEE, page=PAGE)
    assert (inbox / "_modele_employees.csv").read_bytes() == found["_modele_employees.csv"]
    assert (inbox / "_LISEZMOI.txt").read_bytes() == found["_LISEZMOI.txt"]
    assert list_files(inbox) == {}


@pytest.mark.parametrize("declared", [DeclaredFormat(), DeclaredFormat("mdy", ".")])
def test_a_template_that_a_user_filled_in_stays_until_it_is_renamed(
    declared: DeclaredFormat, inbox: UPath, warehouse: Engine
) -> None:
    """Also with a row in place of the example; one that was only saved, or is older, is replaced."""
    settings = OnboardingSettings(inbox_formats={"employees": declared})
    own = Inbox(FlowContext(warehouse, inbox.parent.parent, settings), "employee", settings)
    templates.provide(inbox, EMPLOYEE, page=PAGE)
    own.provide()
    name = templates.xlsx_name(EMPLOYEE)
    book: Any = openpyxl.load_workbook(BytesIO((inbox / name).read_bytes()))
    for number, filled_in in (("004217", False), ("004218", True)):
        book.active["G2"] = number
        saved = BytesIO()
        book.save(saved)
        (inbox / name).write_bytes(saved.getvalue())
        own.tidy()
        own.provide()
        assert ((inbox / name).read_bytes() == saved.getvalue()) == filled_in
        assert (inbox / NAME).exists() == filled_in
    (inbox / name).unlink()
    own.tidy()
    own.provide()
    assert not (inbox / NAME).exists()
    assert (inbox / name).exists()
