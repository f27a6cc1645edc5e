"""The files of an invoice report: formats, headers, filters, languages, and LibreOffice."""

import csv
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from openpyxl import Workbook, load_workbook
from sqlalchemy import text

from bms_flows.invoices.finance import moments
from bms_flows.invoices.finance.run import write_report
from bms_flows.invoices.planning import RunRequest, record_plan
from bms_flows.runtime.settings import Language
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from tests.bms_flows.invoices.listed import Company, invoice
from tests.support.sql import execute, fetch, scalar

DAY = date(2026, 3, 2)
EVIL = '=HYPERLINK("http://evil.example";"Client")'

EARLIER = """
    insert into bms.step_run (flow, dag_run_id, step, state, started_at, details)
    select 'invoice_report', 'earlier', 'report', 'complete', at, jsonb_build_object('until', at)
    from (select now() - interval '450 minutes' as at) as earlier
"""

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

    def run(language: Language, as_of: date | None = None, dag_run_id: str = "run") -> Path:
        step = Step(moments.FLOW, dag_run_id, moments.STEP)
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
            "Rapport Balance âgée Postes non soldés Chiffre d'affaires Avoirs et annulations Numéros manquants Passage Passage, factures",
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


def test_csv_files_have_the_exact_amounts_and_the_words_of_their_language(write: Write) -> None:
    folder = write("FR")
    assert len([*folder.glob("*.csv")]) == 7
    rows, items = read(folder / "ageing.csv"), read(folder / "open_items.csv")
    assert rows[0][-1] == "Reste dû"
    assert [Decimal(row[-1].replace(",", ".")) for row in rows[1:]] == [Decimal("120.1"), 12]
    assert "'=HYPERLINK" in (folder / "open_items.csv").read_text("utf-8-sig")
    assert [row[8] for row in items] == ["Envoyée", "oui", "oui", "oui"]


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
    execute(company.warehouse, EARLIER)
    about = opened(write("EN", dag_run_id="of the same time"))["Report"]
    assert any("revious report" in str(row[0].value) for row in about)


def test_a_cleared_run_compares_with_the_report_of_another_run(
    write: Write, company: Company
) -> None:
    write("EN")
    company.service.rows[0]["total_due"] = 20
    company.read(DAY)
    for attempt in (1, 2):
        folder = write("EN", dag_run_id="cleared")
        lines = [row for row in read(folder / "bridge_invoices.csv") if row[2] == "Paid"]
        assert [row[-1] for row in lines if row[0] == "Previous report"] == ["-100"], attempt


def test_the_views_have_the_days_of_the_companys_time_zone(write: Write, company: Company) -> None:
    """In one of two zones that are 25 hours apart, another day than in Paris has begun."""
    write("EN")
    request = RunRequest(entities=[1], window=Window(DAY, DAY), only_window=True)
    for zone in map(ZoneInfo, ("Pacific/Kiritimati", "Pacific/Pago_Pago")):
        company.settings = replace(company.settings, time_zone=zone)
        record_plan(company._flow(), request, Step("invoice_extraction", zone.key, "plan"))
        late = "select max(days_late) from bms.client_invoice_open_item"
        assert (
            scalar(company.warehouse, late) == (datetime.now(zone).date() - date(2026, 3, 9)).days
        )
        opening = "select min(_observed_at) from bms.client_invoice_as_of(:day)"
        for day, known in ((datetime.now(zone).date(), True), (DAY, False)):
            assert (scalar(company.warehouse, opening, day=day) is not None) is known


def test_a_canceled_credit_note_cancels_no_turnover(write: Write, company: Company) -> None:
    """Neither an invoice nor the credit note counts if both are canceled."""
    query = "select turnover from bms.client_invoice_turnover where currency = 'EUR'"
    write("EN")
    assert scalar(company.warehouse, query) == 200
    company.service.rows[4]["canceled"] = True
    company.read(DAY)
    assert scalar(company.warehouse, query) == 200


@pytest.mark.parametrize(("view", "passes"), [("turnover", 9), ("month_bridge", 5)])
def test_a_figure_reads_each_invoice_a_few_times(company: Company, view: str, passes: int) -> None:
    """A view that compares each canceled invoice with all others takes an hour for a million."""
    rows = 5000
    execute(
        company.warehouse,
        """
        insert into bms.client_invoice (id_entity, id_invoice, invoice_date, total_excl_vat, total_incl_vat, total_due,
            currency, canceled, id_credit, _row_hash, _first_seen_at, _changed_at, _step_run_id)
        select 1, n, current_date, 100, 120, case when n % 20 = 0 then 120 else 0 end, 'EUR', n % 20 = 1,
            case when n % 20 = 1 then n + 1 end, '', now() - interval '40 days', now() - interval '40 days', 1
        from generate_series(1, :rows) as n
        """,
        rows=rows,
    )
    explain = f"explain (analyze, format json) select * from bms.client_invoice_{view}"
    with company.warehouse.connect() as connection:
        connection.execute(text("analyze bms.client_invoice"))
        connection.execute(text("set work_mem = '64kB'"))  # too little to hash 5000 rows
        [found] = connection.scalar(text(explain))
    assert handled(found["Plan"]) <= passes * rows


def handled(node: dict[str, Any]) -> float:
    """Return the rows that the nodes of a plan took or left out, each time that they ran."""
    rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return float(rows * node["Actual Loops"] + sum(handled(each) for each in node.get("Plans", ())))


def test_clients_without_number_and_odd_dates_are_reported(write: Write, company: Company) -> None:
    for row, name in zip(company.service.rows[:2], ("A", "B"), strict=True):
        row |= {"id_client": None, "client_name": name, "due_date": "1753-01-01"}
    company.service.rows[3]["canceled_on"] = "9999-12-31T23:59:59Z"
    company.read(DAY)
    rows = read(write("EN") / "ageing.csv")[1:]
    clients = [("A", "EUR", 120), ("B", "EUR", Decimal("0.1")), ("Client", "CHF", 12)]
    assert [(row[2], row[3], Decimal(row[-1].replace(",", "."))) for row in rows] == clients
    ageing = "select client_name, currency, total_due from bms.client_invoice_ageing order by 1"
    assert fetch(company.warehouse, ageing) == clients


def test_an_amount_shows_all_its_decimals(write: Write, company: Company) -> None:
    company.service.rows[2] |= {"currency": "TND", "total_due": 12.345}
    company.read(DAY)
    ageing = opened(write("EN"))["Ageing"]
    shown = {
        row[3].value: (row[9].value, row[9].number_format) for row in ageing.iter_rows(min_row=2)
    }
    assert shown == {"EUR": (120.1, "#,##0.00"), "TND": (12.345, "#,##0.000")}


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
    assert EVIL in {row[2] for row in shown["Postes non soldés"]}
    assert not [cell for rows in shown.values() for row in rows for cell in row if "Err:" in cell]
