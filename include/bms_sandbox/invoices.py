"""Client invoices whose fields are a function of time, and the store of all invoices.

An invoice contains the times of its events (sent, paid, canceled); its fields at a given time follow
from them. Reading the same day again later returns the changes, reproducibly.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the source makes invoices
    from bms_sandbox.demo_invoices import DemoInvoices

FAR = datetime.max.replace(tzinfo=UTC)
DAYS_KEPT = 120

STATUS_NAMES = {
    "DRAFT": ("Draft", "Brouillon"),
    "SENT": ("Sent", "Envoyée"),
    "PARTIAL": ("Partially paid", "Payée partiellement"),
    "PAID": ("Paid", "Payée"),
    "CANCELED": ("Canceled", "Annulée"),
}
TYPE_NAMES = {"INV": ("Invoice", "Facture"), "CRN": ("Credit note", "Avoir")}
PAYMENT_NAMES = {
    "VIR": ("Bank transfer", "Virement bancaire"),
    "CHQ": ("Cheque", "Chèque"),
    "PRL": ("Direct debit", "Prélèvement"),
}


@dataclass(frozen=True, slots=True)
class Invoice:
    """An invoice or credit note with all its events; money in exact decimals."""

    id_entity: int
    id_invoice: int
    reference_number: str
    invoice_date: date
    due_date: date
    invoice_type: str
    id_client: int
    client_name: str
    po_number: str | None
    vat_number: str | None
    invoice_subject: str | None
    total_excl_vat: Decimal
    total_vat: Decimal
    currency: str
    payment_mode: str
    id_account_manager: int | None
    created_on: datetime
    created_by: int
    sent_on: datetime | None = None
    sent_by: int | None = None
    payments: tuple[tuple[datetime, Decimal], ...] = ()
    canceled_on: datetime | None = None
    canceled_by: int | None = None
    id_credit: int | None = None

    def next_change(self, now: datetime) -> datetime:
        """Return the first time after `now` at which a field changes."""
        instants = [
            self.created_on,
            self.sent_on,
            self.canceled_on,
            *(at for at, _ in self.payments),
        ]
        return min((at for at in instants if at and at > now), default=FAR)

    def as_of(self, now: datetime, language: str) -> dict[str, Any]:
        """Return the fields of the client invoice list item at time `now`."""
        in_french = language == "FR"
        total = self.total_excl_vat + self.total_vat
        paid = sum((amount for at, amount in self.payments if at <= now), Decimal("0.00"))
        sent = self.sent_on is not None and self.sent_on <= now
        canceled = self.canceled_on is not None and self.canceled_on <= now
        due = Decimal("0.00") if canceled else total - paid
        states = {"CANCELED": canceled, "PAID": paid and not due, "PARTIAL": paid, "SENT": sent}
        status = next((name for name, holds in states.items() if holds), "DRAFT")
        return {name: getattr(self, name) for name in DRAFTED} | {
            "invoice_type_name": TYPE_NAMES[self.invoice_type][in_french],
            "total_incl_vat": total,
            "total_due": due,
            "payment_mode_name": PAYMENT_NAMES[self.payment_mode][in_french],
            "status": status,
            "status_name": STATUS_NAMES[status][in_french],
            "canceled": canceled,
            "canceled_on": self.canceled_on if canceled else None,
            "canceled_by": self.canceled_by if canceled else None,
            "id_credit": self.id_credit if canceled else None,
            "sent": sent,
            "sent_on": self.sent_on if sent else None,
            "sent_by": self.sent_by if sent else None,
        }

    def paid(self, at: datetime, amount: Decimal | None = None) -> "Invoice":
        """Return the invoice with a payment at `at` of `amount`, or of the amount due."""
        kept = tuple(p for p in self.payments if p[0] <= at)
        due = self.total_excl_vat + self.total_vat - sum((a for _, a in kept), Decimal("0.00"))
        return replace(self, payments=(*kept, (at, due if amount is None else amount)))

    def sent(self, at: datetime) -> "Invoice":
        """Return the invoice, sent at `at`."""
        return replace(self, sent_on=at, sent_by=self.created_by)

    def canceled(self, at: datetime, id_credit: int | None = None) -> "Invoice":
        """Return the invoice, canceled at `at`, with the id of its credit note if it has one."""
        return replace(self, canceled_on=at, canceled_by=self.created_by, id_credit=id_credit)


DRAFTED = tuple(each.name for each in fields(Invoice) if each.default is MISSING)[1:]
"""Fields of a list item that no event changes; a list item has no id_entity."""


class InvoiceBook:
    """Store of client invoices: generates days on demand and stores changed days."""

    # Maximum distance of created_on, due_date and sent_on from invoice_date in any source.
    BEFORE, AFTER = timedelta(days=100), timedelta(days=40)

    def __init__(self, source: "DemoInvoices") -> None:
        self.source = source
        self.version = 0
        self._fillings = 0
        self._touches: Counter[tuple[int, date]] = Counter()
        self._made: OrderedDict[tuple[int, date], tuple[Invoice, ...]] = OrderedDict()
        self._changed: dict[tuple[int, date], tuple[Invoice, ...]] = {}

    def day(self, id_entity: int, day: date) -> tuple[Invoice, ...]:
        """Return the invoices dated `day`, ascending by id, including those created in the future."""
        key = (id_entity, day)
        if key in self._changed:
            return self._changed[key]
        if key not in self._made:
            known = id_entity in self.source.entities
            self._made[key] = self.source.invoices_of(id_entity, day) if known else ()
            if len(self._made) > DAYS_KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return self._made[key]

    def stamp(self, id_entity: int, day: date) -> tuple[int, int]:
        """Return a version of the invoices dated `day`."""
        return self._fillings, self._touches[id_entity, day]

    def dated(self, id_entity: int, first: date, last: date) -> Iterator[Invoice]:
        """Yield the invoices dated `first` to `last`, both inclusive."""
        for ordinal in range(first.toordinal(), last.toordinal() + 1):
            yield from self.day(id_entity, date.fromordinal(ordinal))

    def last_day(self, today: date) -> date:
        """Return the last day with visible invoices: today, or a later day with inserted invoices."""
        return max([today, *(day for _, day in self._changed)])

    def within(
        self, id_entity: int, first: date, last: date, by: str, now: datetime
    ) -> Iterator[Invoice]:
        """Yield the invoices visible at `now` whose field `by` is between `first` and `last`.

        Events after `now` are ignored.
        """
        latest = min(_moved(last, self.AFTER), self.last_day(now.date()))
        for invoice in self.dated(id_entity, _moved(first, -self.BEFORE), latest):
            value = getattr(invoice, by)
            if isinstance(value, datetime):
                value = value.date() if value <= now else None
            if invoice.created_on <= now and value is not None and first <= value <= last:
                yield invoice

    def find(self, id_entity: int, id_invoice: int) -> Invoice | None:
        """Return an invoice by its key."""
        days = [self.source.day_of(id_invoice)]
        days += [day for entity, day in self._changed if entity == id_entity]
        for day in days:
            for invoice in self.day(id_entity, day):
                if invoice.id_invoice == id_invoice:
                    return invoice
        return None

    def put(self, invoice: Invoice) -> None:
        """Insert `invoice` or replace the invoice with the same key."""
        old = self.find(invoice.id_entity, invoice.id_invoice)
        if old is not None:
            self.remove(old)
        key = (invoice.id_entity, invoice.invoice_date)
        rows = (*self.day(*key), invoice)
        self._changed[key] = tuple(sorted(rows, key=lambda row: row.id_invoice))
        self._touches[key] += 1
        self.version += 1

    def remove(self, invoice: Invoice) -> None:
        """Remove `invoice`."""
        key = (invoice.id_entity, invoice.invoice_date)
        kept = (r for r in self.day(*key) if r.id_invoice != invoice.id_invoice)
        self._changed[key] = tuple(kept)
        self._touches[key] += 1
        self.version += 1

    def reset(self, source: "DemoInvoices") -> None:
        """Discard all changes and start again from `source`."""
        self.source = source
        self.version += 1
        self._fillings += 1
        self._made.clear()
        self._changed.clear()


def at_noon(day: date, minutes: int = 0) -> datetime:
    """Return `day` at 12:00 UTC plus `minutes`: the same calendar day in every European zone."""
    return datetime.combine(day, time(12), tzinfo=UTC) + timedelta(minutes=minutes)


def _moved(day: date, by: timedelta) -> date:
    try:
        return day + by
    except OverflowError:
        return date.min if by < timedelta() else date.max
