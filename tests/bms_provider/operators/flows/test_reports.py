"""Tasks of invoice_report, called with an Airflow context: waiting, skipping, mail."""

from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from airflow.sdk.exceptions import AirflowRescheduleException, AirflowSkipException
from openpyxl import load_workbook
from sqlalchemy import Engine, text

from bms_flows.invoices.finance.moments import DayNotKnown
from bms_flows.runtime.notice import NotDelivered
from bms_provider.operators.flows.reports import BmsInvoiceReportOperator, BmsMailReportOperator
from tests.bms_provider.conftest import Connect
from tests.bms_provider.operators.flows.execution import done, task_of
from tests.mail_server import body_of, mail_server

pytestmark = pytest.mark.usefixtures("warehouse_connection", "data_root")

LOAD = """
insert into bms.step_run (flow, dag_run_id, step, id_entity, window_start, state, details, started_at, finished_at)
values ('invoice_extraction', :run, 'plan', null, current_date, 'complete', '{"units": [{}, {}]}', now(), now()),
    ('invoice_extraction', :run, 'extract', 1, current_date, 'complete', '{}', now(), now())
"""
SECOND = """
insert into bms.step_run (flow, dag_run_id, step, id_entity, window_start, state, details, started_at, finished_at)
values ('invoice_extraction', :run, 'extract', 2, current_date, 'complete', '{}', now(), now())
"""


def run(
    kind: str = "manual", dag_run_id: str = "run", **params: Any
) -> AbstractContextManager[Any]:
    """Run the block in the task context of a run."""
    return task_of("invoice_report", dag_run_id, params, run_type=kind)


def load(warehouse: Engine, *statements: str) -> None:
    with warehouse.begin() as connection:
        for each in statements:
            connection.execute(text(each), {"run": "scheduled__1"})


def test_a_run_by_a_load_waits_for_its_units_and_reports_a_load_once(warehouse: Engine) -> None:
    load(warehouse, LOAD)
    with run("asset_triggered"):
        with pytest.raises(AirflowRescheduleException):
            done(BmsInvoiceReportOperator)
        load(warehouse, SECOND)
        report = done(BmsInvoiceReportOperator)
    with (
        run("asset_triggered", "of the second unit"),
        pytest.raises(AirflowSkipException, match="previous report has all loads"),
    ):
        done(BmsInvoiceReportOperator)
    for kind in ("manual", "asset_triggered"):  # cleared: it writes the report again
        with run(kind):
            again = done(BmsInvoiceReportOperator)
            assert again["until"] > report["until"]
            report = again


KILLED = """
with load as (
    insert into bms.step_run (flow, dag_run_id, step, id_entity, window_start, state, started_at)
    values ('invoice_extraction', :run, 'extract', 2, current_date, 'running', now()) returning id
) insert into bms.client_invoice_lease (id_entity, days, step_run_id, task, expires_at)
select 2, daterange(current_date, current_date + 1), id, 'task', now() - interval '61 minutes' from load
"""


def test_a_run_by_a_load_waits_for_no_killed_task_and_no_held_load_that_was_read_again(
    warehouse: Engine,
) -> None:
    load(warehouse, LOAD, KILLED)
    with run("asset_triggered"):
        done(BmsInvoiceReportOperator)
        load(warehouse, LOAD.replace("[{}, {}]", '[{"accepts": null}, {"accepts": 7}]'))
        done(BmsInvoiceReportOperator)


def test_a_run_takes_its_day_and_language_from_its_params(warehouse: Engine) -> None:
    load(warehouse, LOAD)
    today = datetime.now(ZoneInfo("Europe/Paris")).date()
    with run(language="EN", as_of=today.isoformat()):
        assert done(BmsInvoiceReportOperator)["workbook"].startswith("invoice-report-")
    before = today - timedelta(days=9)
    with run(as_of=before.isoformat()), pytest.raises(DayNotKnown, match=f"known on {before}"):
        done(BmsInvoiceReportOperator)


def test_the_workbook_is_mailed_to_finance(
    warehouse: Engine, connect: Connect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    load(warehouse, LOAD)
    with run():
        report = done(BmsInvoiceReportOperator)
        with pytest.raises(AirflowSkipException, match="BMS_REPORT_TO"):
            done(BmsMailReportOperator, report=report)
    monkeypatch.setenv("BMS_REPORT_TO", "finance@example.com")
    with mail_server() as server, run():
        extra = {"from_email": "bms@example.com", "disable_ssl": True, "disable_tls": True}
        connect("bms_mail", conn_type="smtp", host="127.0.0.1", port=server.port, extra=extra)
        done(BmsMailReportOperator, report=report)
        monkeypatch.setenv("BMS_REPORT_TO", "refused@example.com")
        with pytest.raises(NotDelivered, match=r"^bms_mail: SMTPRecipientsRefused$"):
            done(BmsMailReportOperator, report=report)
    (mail,) = server.taken
    assert mail["To"] == "finance@example.com"
    assert mail["Subject"] == f"Rapport des factures au {report['day']}"
    assert "/bms/flows/invoice_report" in body_of(mail, "plain")
    (attached,) = mail.iter_attachments()
    assert attached.get_filename() == report["workbook"]
    (tmp_path / "mailed.xlsx").write_bytes(attached.get_content())
    assert load_workbook(tmp_path / "mailed.xlsx").sheetnames[1] == "Balance âgée"
