from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from bms_sandbox.demo_invoices import DemoInvoices
from bms_sandbox.invoices import FAR, Invoice, InvoiceBook

DAY = date(2026, 3, 31)
NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)
INVOICE = Invoice(
    id_entity=1,
    id_invoice=7,
    reference_number="FA7",
    invoice_date=DAY,
    due_date=DAY + timedelta(days=30),
    invoice_type="INV",
    id_client=100,
    client_name="Énergie & Réseaux",
    po_number=None,
    vat_number="FR00",
    invoice_subject="Régie",
    total_excl_vat=Decimal("100.00"),
    total_vat=Decimal("20.00"),
    currency="EUR",
    payment_mode="VIR",
    id_account_manager=10,
    created_on=NOON,
    created_by=11,
)


def at(days: int) -> datetime:
    return NOON + timedelta(days=days)


def test_life_from_draft_to_paid() -> None:
    invoice = INVOICE.sent(at(1)).paid(at(10), Decimal("50.00")).paid(at(20))
    seen = [invoice.as_of(at(day), "FR") for day in (0, 1, 10, 20)]
    assert [row["status_name"] for row in seen] == [
        "Brouillon",
        "Envoyée",
        "Payée partiellement",
        "Payée",
    ]
    assert [str(row["total_due"]) for row in seen] == ["120.00", "120.00", "70.00", "0.00"]
    assert [row["sent_on"] for row in seen] == [None, at(1), at(1), at(1)]


def test_a_canceled_invoice_is_not_due_and_names_its_credit_note() -> None:
    invoice = INVOICE.canceled(at(3), id_credit=8)
    before, after = invoice.as_of(at(2), "EN"), invoice.as_of(at(3), "EN")
    assert (before["canceled"], before["id_credit"], before["canceled_by"]) == (False, None, None)
    assert (after["canceled"], after["id_credit"], after["status"]) == (True, 8, "CANCELED")
    assert after["total_due"] == Decimal("0.00")


def test_the_next_change_is_the_next_instant_of_the_life_cycle() -> None:
    invoice = INVOICE.sent(at(1)).paid(at(10))
    assert [invoice.next_change(at(day)) for day in (-1, 0, 1, 10)] == [at(0), at(1), at(10), FAR]


def test_stored_rows_can_be_inserted_changed_and_removed() -> None:
    book = InvoiceBook(DemoInvoices(per_day=5, flat=True))
    first, second, *_ = book.day(1, DAY)
    before = book.stamp(1, DAY)
    book.put(first.paid(at(1)))
    book.remove(second)
    book.put(INVOICE)
    rows = book.day(1, DAY)
    assert book.find(1, 7) == INVOICE
    assert [row.id_invoice for row in rows] == sorted(row.id_invoice for row in rows)
    assert len(rows) == 5
    assert book.find(1, second.id_invoice) is None
    assert book.find(1, first.id_invoice) == first.paid(at(1))
    assert book.stamp(1, DAY) != before
    assert len(book.day(2, DAY)) == 5


def test_a_range_by_another_date_equals_a_full_scan() -> None:
    book = InvoiceBook(DemoInvoices(per_day=5))
    now = datetime(2026, 6, 30, 12, tzinfo=UTC)
    everything = list(book.dated(1, date(2025, 10, 1), now.date()))
    first, last = date(2026, 3, 1), date(2026, 3, 31)
    for by in ("created_on", "due_date", "sent_on"):
        expected = [
            row.id_invoice
            for row in everything
            if (value := getattr(row, by)) is not None
            and first <= (value.date() if isinstance(value, datetime) else value) <= last
        ]
        assert [row.id_invoice for row in book.within(1, first, last, by, now)] == expected
        assert expected


def test_unknown_entity_has_no_invoices() -> None:
    assert InvoiceBook(DemoInvoices()).day(99, DAY) == ()
