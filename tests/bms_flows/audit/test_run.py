"""Findings of the audit."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, Engine
from upath import UPath

from bms.client import Client
from bms.errors import ServiceUnavailable
from bms_flows.audit import comparisons, store
from bms_flows.audit.compare import Comparison
from bms_flows.audit.comparisons import Comparer
from bms_flows.audit.lists import DetailOf
from bms_flows.audit.mirrors import AuditedList, sources
from bms_flows.audit.settings import AuditSettings
from bms_flows.mirror.resources import MIRRORED, mirrored
from bms_flows.monitoring import alarms
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.list_id import ListId
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from bms_flows.runtime.windows import Window
from bms_warehouse.resources import CONTACT
from tests.bms_flows.audit.environment import Auditor
from tests.bms_flows.invoices.listed import Company, invoice

WEEK = Window(date(2026, 3, 23), date(2026, 3, 29))
DAY = Window(WEEK.start, WEEK.start)
FLAT = {"flat": True, "invoices_per_day": 5}
SMALL = {"contacts": 3, "employees": 3, "consultants": 4}

BUGS: list[tuple[str, str, str, str]] = [
    # bug, operation, resource in which it must be found, code
    ("silent_cap", "list_client_invoices", "client_invoice", "days_differ"),
    ("first_day_lost", "list_client_invoices", "client_invoice", "days_differ"),
    ("phantom_rows", "list_client_invoices", "client_invoice", "days_differ"),
    ("doubled_range", "list_client_invoices", "client_invoice", "doubled"),
    ("stale_day", "list_client_invoices", "client_invoice", "days_differ"),
    ("french_amounts", "list_client_invoices", "client_invoice", "languages_differ"),
    ("french_lost", "list_client_invoices", "client_invoice", "languages_differ"),
    ("small_page_gap", "list_contacts", "contact", "page_sizes_differ"),
    ("tail_page_lost", "list_consultants", "consultant", "page_sizes_differ"),
    ("stale_detail", "read_contact", "contact", "detail_differs"),
    ("unstable_order", "list_consultants", "consultant", "page_sizes_differ"),
    ("short_list", "list_client_invoices", "client_invoice", "days_differ"),
    ("missing_day", "list_client_invoices", "client_invoice", "days_differ"),
    ("wrong_amount", "list_client_invoices", "client_invoice", "days_differ"),
]


def test_a_consistent_service_that_equals_the_warehouse_is_reconciled(auditor: Auditor) -> None:
    auditor.fill(WEEK, contacts=120)
    found = auditor.run()
    assert auditor.found() == {}
    assert auditor.states() == {"reconciled": 7 + len(MIRRORED)}
    assert auditor.ringing() == set()
    assert found["requests"] <= auditor.settings.audit_requests
    compared = auditor.query(
        "select resource, sum(rows_compared) from bms.reconciliation group by 1"
    )
    assert dict(compared)["contact"] == 120
    assert all(rows for _, rows in compared)


def test_concurrent_audits_of_an_entity_do_not_close_each_others_alarm(warehouse: Engine) -> None:
    """One finds a difference on a day while the other finds another day reconciled."""
    step = Step(flow="reconciliation", dag_run_id="r", name="audit")
    invoices = ListId("client_invoice", 1)

    def save(connection: Connection, day: date, **rows: Any) -> None:
        comparison = Comparison(compared=1, rows=rows)
        result = store.Result(
            list_id=invoices, day=day, comparison=comparison, step_run_id=1, tried_at=None
        )
        store.save(connection, result)
        store.update_alarm(connection, invoices, step)

    def reconcile() -> None:
        with warehouse.begin() as connection:
            save(connection, WEEK.start)

    with warehouse.begin() as connection:
        save(connection, WEEK.start, days_differ={7: None})
    with ThreadPoolExecutor() as pool, warehouse.begin() as connection:
        save(connection, WEEK.end, days_differ={8: None})
        wait([pool.submit(reconcile)], timeout=0.3)
    with warehouse.connect() as connection:
        assert [each.size for each in alarms.open_alarms(connection)] == [1]


@pytest.mark.parametrize(("bug", "operation", "resource", "code"), [BUGS[0], BUGS[5], *BUGS[7:10]])
def test_contradictions_of_the_service_are_found(
    auditor: Auditor, bug: str, operation: str, resource: str, code: str
) -> None:
    auditor.window = Window(date(2026, 3, 16), date(2026, 3, 27))
    auditor.sandbox.fill(contacts=120, employees=3, consultants=120)
    auditor.sandbox.set_fault(bug, operation=operation)
    auditor.run()
    assert auditor.found()[resource][code] >= 1
    assert [*auditor.found()] == [resource]
    subject = f"reconciliation {resource}" + " 1" * (resource == "client_invoice")
    assert auditor.ringing() == {subject}
    auditor.sandbox.clear_faults()
    auditor.run()
    assert (auditor.found(), auditor.ringing()) == ({}, set())


def test_changes_during_an_audit_are_no_faults(auditor: Auditor) -> None:
    """A response that is wrong once looks like a change between two responses."""
    auditor.window = WEEK
    auditor.sandbox.fill(contacts=20, employees=3)
    for kind, after in (("missing_day", 0), ("short_list", 4), ("wrong_amount", 9)):
        auditor.sandbox.set_fault(kind, operation="list_client_invoices", count=1, after=after)
    auditor.sandbox.set_fault("short_list", operation="list_contacts", count=1, after=2)
    auditor.run()
    assert auditor.found() == {}
    changed = "select sum(changed_meanwhile) from bms.reconciliation"
    assert auditor.query(changed)[0][0] > 0


def test_an_invoice_that_changed_after_its_load_is_no_fault(auditor: Auditor) -> None:
    auditor.fill(WEEK, **SMALL)
    first, second = auditor.sandbox.invoices(1, WEEK.start, WEEK.end)[:2]
    pending = "select day::text, reasons from bms.reconciliation where state = 'pending'"
    days = sorted({first["invoice_date"], second["invoice_date"]})
    for amount in ("1.00", "2.00"):
        auditor.sandbox.pay(1, first["id_invoice"], amount)
        auditor.sandbox.edit_invoice(1, second["id_invoice"], po_number=f"BC {amount}")
        auditor.run()
        assert (auditor.found(), auditor.ringing()) == ({}, set())
        assert auditor.query(f"{pending} order by day") == [(day, ["rows_differ"]) for day in days]
        auditor.load()
    auditor.run()
    assert auditor.states() == {"reconciled": 7 + len(MIRRORED)}


def test_a_wrong_invoice_is_reported_after_the_next_load_of_its_day(auditor: Auditor) -> None:
    auditor.fill(WEEK, **SMALL)
    cent, hour = (
        row["id_invoice"] for row in auditor.sandbox.invoices(1, WEEK.start, WEEK.end)[3:5]
    )
    table = "update bms.client_invoice set"
    auditor.execute(f"{table} total_due = total_due + 0.01 where id_invoice = {cent}")
    auditor.execute(f"{table} created_on = created_on + '1 hour' where id_invoice = {hour}")
    auditor.run()
    assert auditor.found() == {}
    auditor.load()  # the row has not changed, so the load does not write it
    auditor.run()
    assert auditor.found() == {"client_invoice": {"warehouse_differs": 2}}
    assert auditor.ringing() == {"reconciliation client_invoice 1"}


def test_a_wrong_mirror_row_is_reported_after_the_next_run_of_the_mirror(auditor: Auditor) -> None:
    auditor.fill(DAY, contacts=30, employees=4, consultants=4)
    auditor.execute("update bms.contact set city = 'Ailleurs' where id = 1003")
    auditor.run()
    assert auditor.found() == {}
    auditor.mirror.run("contact", page_size=100, id_client=999_999)  # a restricted run
    auditor.next_day()
    auditor.run()
    assert auditor.found() == {}
    auditor.read_lists()
    auditor.next_day()
    auditor.run()
    assert auditor.found() == {"contact": {"warehouse_differs": 1}}


def test_a_row_known_to_be_missing_from_lists_is_no_fault(auditor: Auditor) -> None:
    auditor.fill(DAY, contacts=30, employees=4, consultants=4)
    auditor.sandbox.delete("contacts", 1003)
    auditor.execute("update bms.contact set _list_hash = null where id = 1003")
    auditor.run()
    auditor.read_lists()
    auditor.next_day()
    auditor.run()
    assert auditor.found() == {}


def test_comparisons_beyond_the_request_budget_are_reported(auditor: Auditor) -> None:
    auditor.settings = AuditSettings(audit_requests=30)
    auditor.run()
    assert auditor.query(
        "select state, reasons, count(*) from bms.reconciliation"
        " where resource = 'client_invoice' group by state, reasons"
    ) == [("not_checked", ["budget_spent"], 30)]
    assert 5 <= auditor.counters.requests <= 30
    assert auditor.ringing() == set()


def test_a_failed_comparison_keeps_the_result_of_an_earlier_audit(auditor: Auditor) -> None:
    auditor.window = WEEK
    auditor.sandbox.fill(contacts=20, employees=3)
    auditor.run()
    words = auditor.query("select resource, day, state from bms.reconciliation order by 1, 2")
    auditor.sandbox.set_fault("503", operation="list_client_invoices", retry_after=0)
    with pytest.raises(ServiceUnavailable):
        auditor.run(attempts=1)
    assert auditor.query("select resource, day, state from bms.reconciliation order by 1, 2") == (
        words
    )
    auditor.execute("delete from bms.reconciliation")
    with pytest.raises(ServiceUnavailable):
        auditor.run(attempts=1)
    assert auditor.states() == {"not_checked": 7, "reconciled": len(MIRRORED)}
    assert auditor.query("select state from bms.step_run order by id desc limit 1") == [
        ("partial",)
    ]


def test_results_contain_no_personal_data(auditor: Auditor) -> None:
    auditor.window = WEEK
    auditor.sandbox.fill(contacts=20, employees=3)
    auditor.sandbox.set_fault("stale_detail", operation="read_contact")
    auditor.sandbox.set_fault("phantom_rows", operation="list_client_invoices")
    auditor.run()
    texts = str(auditor.query("select reconciliation::text from bms.reconciliation"))
    texts += str(auditor.query("select details::text, reason from bms.step_run"))
    texts += str(auditor.query("select detail from bms.alarm"))
    contact: dict[str, Any] = auditor.sandbox.rows("contacts")[0]
    assert not [v for v in contact.values() if isinstance(v, str) and v != "FR" and v in texts]
    assert "Ancienneville" not in texts


def test_a_day_without_a_load_is_reported_until_it_is_loaded(auditor: Auditor) -> None:
    """Only days between loaded days are reported; earlier and later days are not expected."""
    auditor.sandbox.fill(**SMALL)
    for day in (24, 27):
        auditor.window = Window(date(2026, 3, day), date(2026, 3, day))
        auditor.load()
    auditor.run(WEEK)
    counts = {
        day: len(auditor.sandbox.invoices(1, day, day))
        for day in (date(2026, 3, 25), date(2026, 3, 26))
    }
    assert all(counts.values())
    words = "select day, found from bms.reconciliation where state = 'not_reconciled' order by day"
    assert dict(auditor.query(words)) == {day: {"never_read": n} for day, n in counts.items()}
    assert auditor.ringing() == {"reconciliation client_invoice 1"}
    auditor.extract("2026-03-25", "2026-03-26")
    auditor.run(WEEK)
    assert (auditor.query(words), auditor.ringing()) == ([], set())


def test_missing_rows_are_pending_until_a_load_restores_them(auditor: Auditor) -> None:
    """Without a load in between, a new row looks the same."""
    auditor.fill(WEEK, contacts=30, employees=3, consultants=4, **FLAT)
    lost = [row["id_invoice"] for row in auditor.sandbox.invoices(1, WEEK.start, WEEK.end)][:13]
    auditor.execute(f"delete from bms.client_invoice where id_invoice in {(*lost,)}")
    auditor.execute("delete from bms.contact where id <= 1013")
    days = {row["invoice_date"] for row in auditor.sandbox.invoices(1, WEEK.start, WEEK.end)[:13]}
    for _ in range(3):
        auditor.run()
        auditor.next_day()
        pending = auditor.query(
            "select day::text, reasons, pending from bms.reconciliation"
            " where state = 'pending' and resource = 'client_invoice' order by day"
        )
        assert {day for day, _, _ in pending} == days
        assert all(reasons == ["rows_missing"] for _, reasons, _ in pending)
        assert sum(found["rows_missing"] for _, _, found in pending) == 13
        assert auditor.latest("contact") == ("pending", {"rows_missing": 13})
    auditor.load()
    auditor.run()
    assert auditor.states_of("client_invoice") == {"reconciled": 7}
    assert auditor.latest("contact") == ("reconciled", {})


def test_quarantined_rows_are_listed_and_other_absent_rows_are_missing(auditor: Auditor) -> None:
    auditor.window = WEEK
    auditor.sandbox.fill(contacts=30, employees=3, consultants=4, **FLAT)
    invoice = auditor.sandbox.invoices(1, WEEK.start, WEEK.end)[0]
    auditor.sandbox.edit_invoice(1, invoice["id_invoice"], currency="E\0R")
    auditor.sandbox.edit("contacts", 1003, city="a\0b")
    auditor.load()
    auditor.run()
    named = ("pending", {"quarantined": 1})
    assert auditor.word("client_invoice", invoice["invoice_date"]) == named
    assert auditor.latest("contact") == named
    assert auditor.ringing() == set()
    auditor.execute("delete from bms.quarantine")
    auditor.run()
    named = ("pending", {"rows_missing": 1})
    assert auditor.word("client_invoice", invoice["invoice_date"]) == named
    assert auditor.latest("contact") == named


def test_an_undecodable_detail_does_not_end_the_audit(auditor: Auditor) -> None:
    auditor.fill(DAY, **SMALL)
    auditor.sandbox.set_dialect(shown_forms=["read_contact.id=null"])
    auditor.run()
    assert auditor.latest("contact") == ("pending", {"detail_unreadable": 3})
    auditor.sandbox.set_dialect(shown_forms=[])
    auditor.run()
    assert auditor.latest("contact") == ("reconciled", {})


def test_forbidden_details_leave_the_list_and_the_other_details_compared(
    auditor: Auditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the details of confidential contacts."""
    auditor.fill(DAY, contacts=12, employees=3, consultants=4)
    confidential, read = {1001, 1002, 1003, 1004, 1005, 1006}, set[Any]()

    def with_confidential(client: Client, entities: Sequence[int]) -> list[AuditedList]:
        return [
            replace(each, detail=partial(detail, each.detail))
            if each.detail and each.resource.name == "contact"
            else each
            for each in sources(client, entities)
        ]

    async def detail(usual: DetailOf, key: int) -> Any:
        if key in confidential:
            auditor.sandbox.set_fault("gateway", "read_contact", status=403, seconds=0, count=1)
        read.add(key)
        return await usual(key)

    monkeypatch.setattr(comparisons, "sources", with_confidential)
    for _ in range(6):
        auditor.run()
        auditor.next_day()
    assert auditor.latest("contact") == ("pending", {"detail_unreadable": 6})
    assert len(read) == 12


def test_a_list_without_details_is_compared_with_itself_and_the_mirror(
    auditor: Auditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MIRRORED, "contact", mirrored(replace(CONTACT, has_detail=False)))
    auditor.fill(DAY, **SMALL)
    auditor.sandbox.set_dialect(shown_forms=["read_contact.id=null"])  # unreadable, if requested
    auditor.run()
    assert auditor.latest("contact") == ("reconciled", {})
    auditor.execute("update bms.contact set city = 'Ailleurs' where id = 1003")
    auditor.run()
    assert auditor.latest("contact")[1] == {"rows_differ": 1}


def test_undecodable_rows_are_listed_while_they_are_in_quarantine(auditor: Auditor) -> None:
    auditor.fill(DAY, contacts=30, employees=3, consultants=4, **FLAT)
    auditor.sandbox.set_dialect(
        shown_forms=["list_client_invoices.total_vat=null", "list_contacts.id=null"]
    )
    with pytest.raises(LoadHeld):
        auditor.extract(str(auditor.window.start), str(auditor.window.end))
    with pytest.raises(LoadHeld, match="30 of 30 rows"):
        auditor.mirror.run("contact", page_size=100)
    auditor.run()
    assert auditor.latest("client_invoice") == ("pending", {"quarantined": 5})
    assert auditor.latest("contact")[1]["quarantined"] == 30
    auditor.execute("delete from bms.quarantine")
    auditor.run()
    assert auditor.latest("client_invoice") == ("pending", {"rows_differ": 5})
    assert auditor.latest("contact")[1]["rows_missing"] == 30


def test_employees_whom_the_list_of_another_entity_contains_too_are_not_missing(
    auditor: Auditor,
) -> None:
    auditor.fill(DAY, **SMALL, **FLAT)
    auditor.execute("update bms.employee set _entity = 0")
    auditor.run()
    assert auditor.latest("employee") == ("reconciled", {})


def test_the_alarm_of_an_entity_that_was_removed_from_the_connection_is_closed_with_that_reason(
    auditor: Auditor,
) -> None:
    auditor.window = DAY
    subjects = ["reconciliation client_invoice 2", "reconciliation employee 2"]
    with auditor.warehouse.begin() as connection:
        for subject in [*subjects, "reconciliation client_invoice 1x", "invoice_extraction"]:
            alarms.raise_(connection, "not_reconciled", subject, detail="\u2026")
    auditor.run()
    assert auditor.ringing() == {"reconciliation client_invoice 1x", "invoice_extraction"}
    reasons = auditor.query(
        "select subject, recovery_reason from bms.alarm where recovered_at is not null order by 1"
    )
    removed = "Entity 2 was removed from the connection: not compared again."
    assert reasons == [(subject, removed) for subject in subjects]


def test_an_accepted_invoice_without_a_day_is_no_fault(company: Company, auditor: Auditor) -> None:
    """The service lists it for whatever days are requested."""
    window = Window(date(2026, 3, 2), date(2026, 3, 4))
    undated = invoice(99, None)
    company.service.rows = [*(invoice(n, day) for n, day in enumerate(window)), undated]

    async def compare() -> None:
        async with Client(company.client_settings()) as client:
            step = Step("reconciliation", "audit", "audit")
            flow = FlowContext(company.warehouse, UPath(company.data_root), FlowSettings())
            comparer = Comparer(client, flow, AuditSettings(), date(2026, 3, 31), step, 1)
            await comparer.invoices(1, window)

    assert company.held(window.start, window.end)
    company.accept()
    asyncio.run(compare())
    assert (auditor.found(), auditor.states()) == ({}, {"reconciled": 3})
    undated["total_due"] = 5
    asyncio.run(compare())
    assert auditor.word("client_invoice", "2026-03-04") == ("pending", {"rows_differ": 1})
