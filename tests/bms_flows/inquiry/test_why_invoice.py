"""`bms why invoice`: numbers that were changed, and entities that no run reads any more."""

from datetime import UTC, date, datetime, timedelta

import pytest

from bms_cli.app import main
from bms_flows.inquiry import invoices
from bms_flows.inquiry.answer import Inquiry
from bms_flows.onboarding.settings import OnboardingSettings
from tests.bms_flows.invoices.listed import Company, invoice
from tests.support.sql import execute

DAY = date(2026, 3, 2)


def why(company: Company, number: str) -> str:
    with company.warehouse.connect() as connection:
        root = company._flow().data_root
        asked = Inquiry(connection, OnboardingSettings(), datetime.now(UTC), root)
        answers = invoices.why(asked, number)
        return "\n".join(line for each in answers for line in each.lines(asked.links))


def test_a_number_that_an_invoice_had_is_found(company: Company) -> None:
    """It is printed on the paper that the client has."""
    company.service.rows = [invoice(1, DAY)]
    company.read(DAY)
    company.service.rows = [invoice(1, DAY, reference_number="F2")]
    company.read(DAY)
    told = why(company, "f1")
    assert told.startswith("Invoice 1, reference F2, entity 1")
    assert "An earlier version has the number f1." in told
    assert "reference_number F1 → F2" in told
    assert "no such id" in why(company, "F3")


def test_a_text_of_the_service_controls_no_terminal(
    company: Company, warehouse_uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    company.service.rows = [invoice(1, DAY, reference_number="F\x1b]0;t\x07\x1b[2J\x9b1m\r\u202e1")]
    company.read(DAY)
    root = str(company._flow().data_root)
    assert main(["why", "invoice", "1", "--url", warehouse_uri, "--data-root", root]) == 0
    shown = capsys.readouterr().out
    assert "reference F\ufffd]0;t\ufffd\ufffd[2J\ufffd1m\ufffd\ufffd1," in shown
    assert all(each.isprintable() for each in shown.replace("\u202f", " ").splitlines())


def test_no_next_read_is_promised_for_an_entity_that_is_left_out(company: Company) -> None:
    company.service.rows = [invoice(1, DAY)]
    company.read(DAY, entity=1)
    company.read(DAY - timedelta(days=1), entity=2)
    assert "reads day 2026-03-02 again" in why(company, "1")
    execute(
        company.warehouse,
        "update bms.step_run set started_at = started_at - interval '3 days' where id_entity = 1",
    )
    told = why(company, "1")
    assert "No run reads entity 1 any more, only others" in told
    assert "reads day" not in told
