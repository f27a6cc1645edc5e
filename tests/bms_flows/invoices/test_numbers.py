"""Missing invoice numbers: stored until they arrive, and an alarm after days."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection, Engine, text
from typer.testing import CliRunner

from bms_cli.app import app
from bms_flows.invoices import run
from bms_flows.monitoring import alarms, number_alarms
from bms_flows.monitoring.freshness_check import check_targets
from bms_flows.runtime.notice import Links
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY
from bms_warehouse.database import clock
from proofs.losses_invoices import set_today
from tests.bms_flows.invoices.listed import Company, Row, days, invoice
from tests.bms_flows.invoices.number_dialects import NUMBERS_FROM, NUMBERS_TO, lost_rows, numbered
from tests.support.days import today
from tests.support.sql import fetch, scalars

LINKS = Links("http://localhost:8080", "docs/runbook.md", ZoneInfo("UTC"))
COUNT = 40


@pytest.fixture
def first(company: Company) -> date:
    """The first of forty days with three invoices each; the service lacks FA-00100."""
    first = today() - COUNT * DAY
    company.service.rows = [
        invoice(3 * n + k, day, reference_number=f"FA-{3 * n + k:05}")
        for n, day in enumerate(days(first, COUNT))
        for k in range(3)
    ]
    company.service.lost = {100}
    company.read(first, today() - DAY)
    return first


def one_a_day(form: str) -> list[Row]:
    """Return the invoices of forty days, numbered by `form`."""
    numbered_days = enumerate(days(today() - COUNT * DAY, COUNT))
    return [invoice(n, day, reference_number=form.format(n)) for n, day in numbered_days]


def open_alarms(warehouse: Engine, *, later: timedelta = timedelta()) -> list[str]:
    with warehouse.begin() as connection:
        check_targets(connection, FlowSettings(), LINKS, datetime.now(UTC) + later)
        found = alarms.open_alarms(connection)
    return [each.detail for each in found if each.code == number_alarms.ALARM]


def missing(warehouse: Engine) -> set[str]:
    return {*scalars(warehouse, "select reference_number from bms.client_invoice_missing_number")}


def details(connection: Connection) -> list[dict[str, Any]]:
    latest = "select details->'numbers' from bms.step_run where state = 'complete' order by id desc limit 1"
    return connection.scalar(text(latest))


@pytest.mark.usefixtures("first")
def test_a_hole_is_reported_and_opens_an_alarm_after_the_grace_period(company: Company) -> None:
    assert missing(company.warehouse) == {"FA-00100"}
    with company.warehouse.connect() as connection:
        assert details(connection) == [
            {
                "series": "FA-{00000}",
                "numbers": 119,
                "missing": 1,
                "usual_share": 0,
                "duplicates": 0,
                "disorder": 0,
            }
        ]
    assert open_alarms(company.warehouse) == []
    later = number_alarms.GRACE + timedelta(minutes=1)
    assert open_alarms(company.warehouse, later=later) == ["Entity 1 has no invoices FA-00100."]


def test_a_number_that_arrives_closes_its_alarm(company: Company, first: date) -> None:
    assert open_alarms(company.warehouse, later=number_alarms.GRACE)
    company.service.lost = set()
    company.read(first + 33 * DAY)
    assert missing(company.warehouse) == set()
    assert open_alarms(company.warehouse, later=number_alarms.GRACE) == []


@pytest.mark.parametrize("numbers", ["FA-00100", "FA-{00000}"])
@pytest.mark.usefixtures("first")
def test_an_accepted_hole_opens_no_alarm_again(
    company: Company, warehouse_uri: str, numbers: str
) -> None:
    given = ["--name", "Ada", "--reason", "number never given"]
    command = ["accept-numbers", "1", numbers, *given]
    environment = {"BMS_WAREHOUSE_URL": warehouse_uri}
    assert CliRunner().invoke(app, command, env=environment).exit_code == 0
    assert CliRunner().invoke(app, command, env=environment).exit_code == 3, "nothing is left"
    company.read(today() - 10 * DAY, today() - DAY)
    assert open_alarms(company.warehouse, later=number_alarms.GRACE) == []
    stored = "select accepted_by, accepted_reason from bms.client_invoice_missing_number"
    assert fetch(company.warehouse, stored) == [("Ada", "number never given")]


@pytest.mark.parametrize("corrected", ["changed", "deleted and entered again"])
def test_a_mistyped_number_that_is_corrected_leaves_no_hole(
    company: Company, first: date, corrected: str
) -> None:
    """FA-00184 instead of FA-00120: all numbers between seemed to be missing."""
    today_, rows = today() - DAY, company.service.rows
    rows.append(invoice(900, today_, reference_number="FA-00184"))
    company.read(first, today_)
    assert len(missing(company.warehouse)) == 65
    if corrected == "changed":
        rows[-1]["reference_number"] = "FA-00120"
    else:
        rows[-1] = invoice(901, today_, reference_number="FA-00120")
    company.read(today_ - DAY, today_)
    assert missing(company.warehouse) == {"FA-00100"}
    company.read(first, first + 10 * DAY)
    company.read(first, today_)
    assert missing(company.warehouse) == {"FA-00100"}


def test_a_hole_of_a_year_that_is_not_compared_any_more_stays(company: Company) -> None:
    former, latest = (days(today() - back * DAY, COUNT) for back in (480, COUNT))
    company.service.rows = [
        invoice(day.toordinal(), day, reference_number=f"F{day:%y}-{n:03}")
        for dated in (former, latest)
        for n, day in enumerate(dated, 1)
        if day != former[20]
    ]
    hole = {f"F{former[20]:%y}-021"}
    company.read(former[0], former[-1])
    assert missing(company.warehouse) == hole
    if company.held(latest[0], latest[-1]):
        company.accept()
    assert missing(company.warehouse) == hole


def test_an_invoice_in_quarantine_is_no_hole(company: Company) -> None:
    company.service.rows = one_a_day("FA-{:05}")
    company.service.rows[30]["total_due"] = "twelve"
    if company.held(today() - COUNT * DAY, today() - DAY):
        company.accept()
    assert missing(company.warehouse) == set()


def test_days_that_no_load_has_read_have_no_holes(company: Company) -> None:
    first = today() - COUNT * DAY
    company.service.rows = one_a_day("{:05}")
    company.read(first, first + 24 * DAY)
    company.read(first + 30 * DAY, today() - DAY)
    assert missing(company.warehouse) == set()
    company.read(first + 25 * DAY, first + 29 * DAY)
    assert missing(company.warehouse) == set()


@pytest.mark.parametrize("name", ["2026/11/0042", "two offices", "drafts replaced"])
def test_a_lost_third_of_a_day_is_found(
    company: Company, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(run, "clock", clock)  # restored afterwards
    company.service.rows = numbered(name)
    lost = lost_rows(company.service.rows, "every third invoice")
    company.service.lost = {row["id_invoice"] for row in lost}
    set_today(NUMBERS_TO)
    if company.held(NUMBERS_FROM, NUMBERS_TO):
        company.accept()
    assert missing(company.warehouse) == {row["reference_number"] for row in lost} != set()
