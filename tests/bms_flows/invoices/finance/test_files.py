"""The files of an invoice report: formats, headers, filters, languages, and LibreOffice."""

import csv
import subprocess
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from openpyxl import Workbook, load_workbook
from sqlalchemy import text

from bms_flows.invoices.finance import moments
from bms_flows.invoices.finance.run import write_report
from bms_flows.runtime.settings import Language
from bms_flows.runtime.step_log import Step
from tests.bms_flows.invoices.listed import Company, invoice
from tests.support.sql import execute, scalar

DAY = date(2026, 3, 2)
EVIL = '=HYPERLINK("http://evil.example";"Client")'

Write = Callable[..., Path]


@pytest.fixture
def write(company: Company, tmp_path: Path) -> Write:
    """Read four invoices, then write a report; returns its folder."""
    due = {"due_date": "2026-03-09", "id_client": 7}
    company.service.rows = [
        invoice(1, DAY, **due, total_due=120, client_name=EVIL),
        invoice(2, DAY, **due, total_due=0.1, client_name="Café\x07 Léman"),
        invoice(3, DAY, **due, total_due=12, currency="CHF", client_name="Client"),
        invoice(5, DAY, **due, canceled=True, id_credit=6, client_name="Client"),
        invoice(6, DAY, total_excl_vat=-100, total_vat=-20, total_incl_vat=-120),
    ]
    company.read(DAY)

    def run(language: Language, as_of: date | None = None) -> Path:
        step = Step(moments.FLOW, "run", moments.STEP)
        manifest = write_report(company._flow(), step, as_of=as_of, language=language)
        folder = tmp_path / manifest["report"]
        assert (folder / manifest["workbook"]).is_file()
        return folder

    return run


def opened(folder: Path) -> Workbook:
    (path,) = folder.glob("*.xlsx")
    return load_workbook(path)


def read(file: Path) -> list[list[str]]:
    return [*csv.reader(file.read_text("utf-8-sig").splitlines(), delimiter=";")]


@pytest.mark.parametrize(
    ("language", "sheets", "headings", "day"),
    [
        (
            "EN",
            "Report Ageing Open items Turnover Credits and cancellations Missing numbers Bridge Bridge, invoices",
            ["Entity", "Client no.", "Client", "Currency", "Not due", "1 to 30 days"],
            "yyyy-mm-dd",
        ),
        (
            "FR",
            "Rapport Balance âgée Articles ouverts Chiffre d'affaires Avoirs et annulations Numéros manquants Passage Passage, factures",
            ["Entité", "N° client", "Client", "Devise", "Non échu", "1 à 30 jours"],
            "dd/mm/yyyy",
        ),
    ],
)
def test_a_workbook_has_formats_fixed_headers_and_filters(
    write: Write, language: Language, sheets: str, headings: list[str], day: str
) -> None:
    book = opened(write(language))
    assert " ".join(book.sheetnames) == sheets
    for sheet in book.worksheets[1:]:
        assert sheet.freeze_panes == "A2"
        assert sheet.auto_filter.ref == sheet.dimensions
        assert sheet["A1"].font.bold
    ageing, items = book.worksheets[1:3]
    assert [cell.value for cell in ageing[1]][:6] == headings
    assert [row[9].value for row in ageing.iter_rows(min_row=2)] == [120.1, 12]
    amounts = [
        cell for sheet in book for row in sheet for cell in row if isinstance(cell.value, float)
    ]
    assert amounts
    assert {cell.number_format for cell in amounts} == {"#,##0.00"}
    due = items["H2"]
    assert isinstance(due.value, datetime)
    assert (due.value.date(), due.number_format) == (date(2026, 3, 9), day)


def test_a_text_is_never_a_formula_and_has_no_control_character(write: Write) -> None:
    book = opened(write("FR"))
    cells = [cell for sheet in book for row in sheet for cell in row]
    assert [cell for cell in cells if cell.data_type == "f"] == []
    assert {EVIL, "Café Léman"} <= {cell.value for cell in cells}


def test_csv_files_have_the_exact_amounts_of_the_tables(write: Write) -> None:
    folder = write("EN")
    assert len([*folder.glob("*.csv")]) == 7
    rows = read(folder / "ageing.csv")
    assert rows[0][-1] == "Due"
    assert [Decimal(row[-1].replace(",", ".")) for row in rows[1:]] == [Decimal("120.1"), 12]
    assert "'=HYPERLINK" in (folder / "open_items.csv").read_text("utf-8-sig")


def test_the_views_have_the_figures_of_the_report(write: Write, company: Company) -> None:
    folder = write("EN")
    with company.warehouse.connect() as connection:
        connection.execute(text("set role bms_analyst"))
        for view, file in (
            ("ageing", "ageing"),
            ("open_item", "open_items"),
            ("turnover", "turnover"),
            ("credit", "credits"),
        ):
            found = connection.execute(text(f"select * from bms.client_invoice_{view}")).all()
            assert len(found) == len(read(folder / f"{file}.csv")) - 1 > 0, view
        ages = connection.execute(
            text(
                "select currency, over_90_days, total_due from bms.client_invoice_ageing order by 1"
            )
        ).all()
        assert ages == [("CHF", 12, 12), ("EUR", Decimal("120.1"), Decimal("120.1"))]
        bridge = connection.execute(
            text(
                "select line, currency, sum(amount) from bms.client_invoice_month_bridge group by 1, 2"
            )
        ).all()
    new = {("new", "CHF", 12), ("new", "EUR", Decimal("120.1"))}
    assert {*map(tuple, bridge)} == new | {("closing", *each[1:]) for each in new}


@pytest.mark.parametrize(
    ("expired", "ends"), [("-10", "started"), ("59", "started"), ("61", "now")]
)
def test_a_report_ends_where_the_oldest_load_began_that_can_still_publish(
    write: Write, company: Company, expired: str, ends: str
) -> None:
    """The load of a slow service takes seven hours; that of a killed worker never ends."""
    statement = """
        with load as (
            insert into bms.step_run (flow, dag_run_id, step, id_entity, state, started_at)
            values ('invoice_extraction', 'slow', 'extract', 1, 'running', now() - interval '7 hours') returning *
        ) insert into bms.client_invoice_lease (id_entity, days, step_run_id, task, expires_at)
        select 1, '[2020-01-01,2021-01-01)', id, 'task', now() - cast(:expired as interval) from load
    """
    warehouse, expired = company.warehouse, f"{expired} minutes"
    execute(warehouse, "update bms.step_run set finished_at = now() - interval '8 hours'")
    execute(warehouse, statement, expired=expired)
    write("EN")
    query = "select cast(details->>'until' as timestamptz) from bms.step_run where flow = 'invoice_report'"
    started = scalar(
        company.warehouse, "select started_at from bms.step_run where dag_run_id = 'slow'"
    )
    assert (scalar(company.warehouse, query) == started) is (ends == "started")


@pytest.mark.prove
def test_libreoffice_opens_the_workbook(write: Write, tmp_path: Path) -> None:
    """It converts the first table, calculates nothing, and changes no amount."""
    folder = write("FR")
    (path,) = folder.glob("*.xlsx")
    form = "csv:Text - txt - csv (StarCalc):59,34,76,1,,0,false,true,false,false,false,-1"
    profile, sheets = f"-env:UserInstallation=file://{tmp_path}/profile", tmp_path / "sheets"
    command = [
        "soffice",
        profile,
        "--headless",
        "--convert-to",
        form,
        "--outdir",
        f"{sheets}",
        f"{path}",
    ]
    subprocess.run(command, check=True, timeout=300)  # noqa: S603 - our own file
    shown = {file.stem.rpartition("-")[2]: read(file) for file in sheets.iterdir()}
    assert len(shown) == 8
    headings, *rows = shown["Balance âgée"]
    assert headings[-1] == "Reste dû"
    assert [Decimal(row[-1].replace(",", ".")) for row in rows] == [Decimal("120.1"), 12]
    assert EVIL in {row[2] for row in shown["Articles ouverts"]}
    assert not [cell for rows in shown.values() for row in rows for cell in row if "Err:" in cell]
