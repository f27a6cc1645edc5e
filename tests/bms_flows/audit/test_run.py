"""The self-audit: what it finds, what it leaves alone, what it says."""

from datetime import date
from typing import Any

import pytest

from bms.errors import ServiceUnavailable
from bms_flows.audit.settings import AuditSettings
from bms_flows.invoices.run import LoadHeld
from bms_flows.mirror.run import TooManyRemovals
from bms_flows.monitoring import alarms
from bms_flows.runtime.windows import Window
from bms_sandbox.serve import Sandbox
from tests.bms_flows.audit.stand import Auditor

WEEK = Window(date(2026, 3, 23), date(2026, 3, 29))

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


def test_a_service_that_agrees_with_itself_and_the_warehouse_is_reconciled(
    sandbox: Sandbox, auditor: Auditor
) -> None:
    auditor.window = WEEK
    sandbox.fill(contacts=120)
    auditor.load()
    found = auditor.run()
    assert auditor.found() == {}
    assert auditor.states() == {"reconciled": 7 + 3}
    assert auditor.ringing() == set()
    assert found["requests"] <= auditor.settings.audit_requests
    compared = auditor.query(
        "select resource, sum(rows_compared) from bms.reconciliation group by 1"
    )
    assert dict(compared)["contact"] == 120
    assert all(rows for _, rows in compared)


@pytest.mark.parametrize(("bug", "operation", "resource", "code"), [BUGS[0], BUGS[5], *BUGS[7:10]])
def test_a_service_that_contradicts_itself_is_found_out(
    sandbox: Sandbox, auditor: Auditor, bug: str, operation: str, resource: str, code: str
) -> None:
    auditor.window = Window(date(2026, 3, 16), date(2026, 3, 27))
    sandbox.fill(contacts=120, employees=3)
    sandbox.set_fault(bug, operation=operation)
    auditor.run()
    assert auditor.found()[resource][code] >= 1
    assert [*auditor.found()] == [resource]
    subject = f"reconciliation {resource}" + " 1" * (resource == "client_invoice")
    assert auditor.ringing() == {subject}
    sandbox.clear_faults()
    auditor.run()
    assert (auditor.found(), auditor.ringing()) == ({}, set())


def test_what_changes_while_it_is_read_is_no_bug(sandbox: Sandbox, auditor: Auditor) -> None:
    """An answer that is wrong once is what a change between two answers looks like."""
    auditor.window = WEEK
    sandbox.fill(contacts=20, employees=3)
    for kind, after in (("missing_day", 0), ("short_list", 4), ("wrong_amount", 9)):
        sandbox.set_fault(kind, operation="list_client_invoices", count=1, after=after)
    sandbox.set_fault("short_list", operation="list_contacts", count=1, after=2)
    auditor.run()
    assert auditor.found() == {}
    changed = "select sum(changed_meanwhile) from bms.reconciliation"
    assert auditor.query(changed)[0][0] > 0


def test_an_invoice_changed_since_it_was_loaded_is_no_bug(
    sandbox: Sandbox, auditor: Auditor
) -> None:
    auditor.window = WEEK
    auditor.load()
    first, second = sandbox.invoices(1, WEEK.start, WEEK.end)[:2]
    for amount in ("1.00", "2.00"):
        sandbox.pay(1, first["id_invoice"], amount)
        sandbox.edit_invoice(1, second["id_invoice"], po_number=f"BC {amount}")
        auditor.run()
        assert auditor.found() == {}
        auditor.load()
    auditor.run()
    assert auditor.states() == {"reconciled": 7 + 3}


def test_a_warehouse_that_is_wrong_is_told_once_it_has_read_the_day_again(
    sandbox: Sandbox, auditor: Auditor
) -> None:
    auditor.window = WEEK
    auditor.load()
    cent, hour = (row["id_invoice"] for row in sandbox.invoices(1, WEEK.start, WEEK.end)[3:5])
    table = "update bms.client_invoice set"
    auditor.execute(f"{table} total_due = total_due + 0.01 where id_invoice = {cent}")
    auditor.execute(f"{table} created_on = created_on + '1 hour' where id_invoice = {hour}")
    auditor.run()
    assert auditor.found() == {}
    auditor.load()  # sees that the row is the one it knows, and leaves it
    auditor.run()
    assert auditor.found() == {"client_invoice": {"warehouse_differs": 2}}
    assert auditor.ringing() == {"reconciliation client_invoice 1"}


def test_a_mirror_that_is_wrong_is_told_once_it_has_read_its_list_again(
    sandbox: Sandbox, auditor: Auditor
) -> None:
    auditor.window = Window(WEEK.start, WEEK.start)
    sandbox.fill(contacts=30, employees=4, consultants=4)
    auditor.load()
    auditor.execute("update bms.contact set city = 'Ailleurs' where id = 1003")
    auditor.run()
    assert auditor.found() == {}
    auditor.mirror.run("contact", page_size=100, id_client=999_999)  # nobody of the others
    auditor.next_day()
    auditor.run()
    assert auditor.found() == {}
    auditor.read_lists()
    auditor.next_day()
    auditor.run()
    assert auditor.found() == {"contact": {"warehouse_differs": 1}}


def test_a_row_that_the_mirror_knows_to_be_left_out_of_lists_is_no_bug(
    sandbox: Sandbox, auditor: Auditor
) -> None:
    auditor.window = Window(WEEK.start, WEEK.start)
    sandbox.fill(contacts=30, employees=4, consultants=4)
    auditor.load()
    sandbox.delete("contacts", 1003)
    auditor.execute("update bms.contact set _list_hash = null where id = 1003")
    auditor.run()
    auditor.read_lists()
    auditor.next_day()
    auditor.run()
    assert auditor.found() == {}


def test_beyond_its_requests_it_says_what_it_left_out(auditor: Auditor) -> None:
    auditor.settings = AuditSettings(audit_requests=30)
    auditor.run()
    assert auditor.query(
        "select state, reasons, count(*) from bms.reconciliation"
        " where resource = 'client_invoice' group by state, reasons"
    ) == [("not_checked", ["budget_spent"], 30)]
    assert 5 <= auditor.counters.requests <= 30
    assert auditor.ringing() == set()


def test_what_the_service_fails_to_answer_is_not_checked_and_keeps_an_earlier_word(
    sandbox: Sandbox, auditor: Auditor
) -> None:
    auditor.window = WEEK
    sandbox.fill(contacts=20, employees=3)
    auditor.run()
    words = auditor.query("select resource, day, state from bms.reconciliation order by 1, 2")
    sandbox.set_fault("503", operation="list_client_invoices", retry_after=0)
    with pytest.raises(ServiceUnavailable):
        auditor.run(attempts=1)
    assert auditor.query("select resource, day, state from bms.reconciliation order by 1, 2") == (
        words
    )
    auditor.execute("delete from bms.reconciliation")
    with pytest.raises(ServiceUnavailable):
        auditor.run(attempts=1)
    assert auditor.states() == {"not_checked": 7, "reconciled": 3}
    assert auditor.query("select state from bms.step_run order by id desc limit 1") == [
        ("partial",)
    ]


def test_the_words_hold_no_row(sandbox: Sandbox, auditor: Auditor) -> None:
    auditor.window = WEEK
    sandbox.fill(contacts=20, employees=3)
    sandbox.set_fault("stale_detail", operation="read_contact")
    sandbox.set_fault("phantom_rows", operation="list_client_invoices")
    auditor.run()
    texts = str(auditor.query("select reconciliation::text from bms.reconciliation"))
    texts += str(auditor.query("select details::text, reason from bms.step_run"))
    texts += str(auditor.query("select detail from bms.alarm"))
    contact: dict[str, Any] = sandbox.rows("contacts")[0]
    assert not [v for v in contact.values() if isinstance(v, str) and v != "FR" and v in texts]
    assert "Ancienneville" not in texts


def test_a_day_that_no_load_has_read_is_told_of_until_one_has(
    sandbox: Sandbox, auditor: Auditor
) -> None:
    """Between days that were read; before them nobody asked, and after them runs are to come."""
    sandbox.fill(contacts=20, employees=3)
    for day in (24, 27):
        auditor.window = Window(date(2026, 3, day), date(2026, 3, day))
        auditor.load()
    auditor.run(WEEK)
    counts = {
        day: len(sandbox.invoices(1, day, day)) for day in (date(2026, 3, 25), date(2026, 3, 26))
    }
    assert all(counts.values())
    words = "select day, found from bms.reconciliation where state = 'not_reconciled' order by day"
    assert dict(auditor.query(words)) == {day: {"never_read": n} for day, n in counts.items()}
    assert auditor.ringing() == {"reconciliation client_invoice 1"}
    auditor.extract("2026-03-25", "2026-03-26")
    auditor.run(WEEK)
    assert (auditor.query(words), auditor.ringing()) == ([], set())


def test_days_whose_rows_are_missing_from_the_warehouse_are_pending_until_a_load_brings_them_back(
    sandbox: Sandbox, auditor: Auditor
) -> None:
    """No load runs between the audits: a row that was entered since looks the same."""
    auditor.window = WEEK
    sandbox.fill(contacts=30, employees=3, consultants=4, flat=True, invoices_per_day=5)
    auditor.load()
    lost = [row["id_invoice"] for row in sandbox.invoices(1, WEEK.start, WEEK.end)][:13]
    auditor.execute(f"delete from bms.client_invoice where id_invoice in {(*lost,)}")
    auditor.execute("delete from bms.contact where id <= 1013")
    days = {row["invoice_date"] for row in sandbox.invoices(1, WEEK.start, WEEK.end)[:13]}
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


def test_rows_that_changed_since_the_load_leave_their_day_pending(
    sandbox: Sandbox, auditor: Auditor
) -> None:
    auditor.window = WEEK
    auditor.load()
    row = sandbox.invoices(1, WEEK.start, WEEK.end)[0]
    sandbox.pay(1, row["id_invoice"], "1.00")
    auditor.run()
    assert auditor.query(
        "select day::text, reasons from bms.reconciliation where state = 'pending'"
    ) == [(row["invoice_date"], ["rows_differ"])]
    assert auditor.ringing() == set()


def test_rows_in_quarantine_are_named_and_rows_that_are_in_neither_place_are_missing(
    sandbox: Sandbox, auditor: Auditor
) -> None:
    auditor.window = WEEK
    sandbox.fill(contacts=30, employees=3, consultants=4, flat=True, invoices_per_day=5)
    invoice = sandbox.invoices(1, WEEK.start, WEEK.end)[0]
    sandbox.edit_invoice(1, invoice["id_invoice"], currency="E\0R")
    sandbox.edit("contacts", 1003, city="a\0b")
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


def test_a_detail_that_no_record_can_hold_ends_no_audit(sandbox: Sandbox, auditor: Auditor) -> None:
    auditor.window = Window(WEEK.start, WEEK.start)
    sandbox.fill(contacts=3, employees=3, consultants=4)
    auditor.load()
    sandbox.set_dialect(shown_forms=["read_contact.id=null"])
    auditor.run()
    assert auditor.latest("contact") == ("pending", {"detail_unreadable": 3})
    sandbox.set_dialect(shown_forms=[])
    auditor.run()
    assert auditor.latest("contact") == ("reconciled", {})


def test_rows_that_no_record_can_hold_are_named_while_they_are_in_quarantine(
    sandbox: Sandbox, auditor: Auditor
) -> None:
    auditor.window = Window(WEEK.start, WEEK.start)
    sandbox.fill(contacts=30, employees=3, consultants=4, flat=True, invoices_per_day=5)
    auditor.load()
    sandbox.set_dialect(
        shown_forms=["list_client_invoices.total_vat=null", "list_contacts.id=null"]
    )
    with pytest.raises(LoadHeld):
        auditor.extract(str(auditor.window.start), str(auditor.window.end))
    with pytest.raises(TooManyRemovals):
        auditor.mirror.run("contact", page_size=100)
    auditor.run()
    assert auditor.latest("client_invoice") == ("pending", {"quarantined": 5})
    assert auditor.latest("contact")[1]["quarantined"] == 30
    auditor.execute("delete from bms.quarantine")
    auditor.run()
    assert auditor.latest("client_invoice") == ("pending", {"rows_differ": 5})
    assert auditor.latest("contact")[1]["rows_missing"] == 30


def test_the_alarm_of_an_entity_that_was_removed_from_the_connection_is_closed_with_that_reason(
    auditor: Auditor,
) -> None:
    auditor.window = Window(WEEK.start, WEEK.start)
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
