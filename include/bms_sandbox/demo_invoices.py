"""Demo invoices as a pure function of a seed.

Each row has a separate random generator, seeded by the row's identity: the invoices of a day are
generated without those of earlier days.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Literal, get_args

from bms_sandbox.demo_values import FIRMS, SUBJECTS, seeded
from bms_sandbox.invoices import Invoice, at_noon

EPOCH = date(2015, 1, 1)
PER_DAY_MAX = 50_000
SMALL_DAY = 4_000  # a swing of a fifth stays within half of 10,000
# Days from an invoice's date to its cancellation, the day its credit note is dated.
CANCEL_AFTER = (2, 9, 24)
CANCEL_ONE_IN = 24
# Share of a working day's volume, Monday first.
WEEK = (1.0, 0.95, 1.0, 0.9, 1.1, 0.15, 0.05)
VAT_RATES = (*[2000] * 14, *[1000] * 3, *[550] * 2, 0)
CURRENCIES = (*["EUR"] * 92, *["USD"] * 5, *["CHF"] * 3)
CLIENTS = 60
Shape = Literal["usual", "filled", "sparse"]
SHAPES: tuple[Shape, ...] = get_args(Shape)


@dataclass(frozen=True, slots=True)
class DemoInvoices:
    """Invoices of any day of `entities`, about `per_day` on a working day.

    flat: exactly `per_day` on every day, weekends included (for benchmarks).
    month_end: all invoices of a month are dated its last day.
    shape: values of each invoice: as usual, in every field, or in few fields (for benchmarks).
    """

    seed: int = 1
    entities: tuple[int, ...] = (1, 2)
    per_day: int = 12
    flat: bool = False
    month_end: bool = False
    shape: Shape = "usual"

    def invoices_of(self, id_entity: int, day: date) -> tuple[Invoice, ...]:
        """Return the invoices dated `day`, ascending by id: invoices first, then credit notes."""
        if day < EPOCH:
            return ()
        credits_made = self._credits(id_entity, day)
        plain = self._plain(id_entity, day)
        canceled = self._canceled(id_entity, day)
        rows = [self._invoice(id_entity, day, i, canceled) for i in range(plain)]
        rows += [self._credit(id_entity, day, plain + i, c) for i, c in enumerate(credits_made)]
        return tuple(SHAPED[self.shape](row) for row in rows)

    def day_of(self, id_invoice: int) -> date:
        """Return the invoice date of an id."""
        return EPOCH + timedelta(days=min(max(id_invoice, 0) // self._span, 40_000))

    def sample(self, id_entity: int, day: date) -> Invoice:
        """Return an additional invoice of `day` with an unused id and reference."""
        index = self._span // 2
        return self._bare(id_entity, day, index, self._random(id_entity, day.toordinal(), index))

    @property
    def _span(self) -> int:
        """Return the number of ids per day: half for demo invoices, half for inserted invoices.

        Ids stay within 32 bits until 2070.
        """
        return 10_000 if self.per_day <= SMALL_DAY else 2 * PER_DAY_MAX

    def _id(self, day: date, index: int) -> int:
        return (day - EPOCH).days * self._span + index + 1

    def _random(self, *what: int) -> Random:
        return seeded(self.seed, *what)

    def _count(self, id_entity: int, day: date) -> int:
        if self.flat:
            return self.per_day
        swing = self._random(id_entity, day.toordinal()).uniform(0.8, 1.2)
        if self.month_end:
            return round(self.per_day * swing) if (day + timedelta(days=1)).day == 1 else 0
        return round(self.per_day * WEEK[day.weekday()] * swing)

    def _plain(self, id_entity: int, day: date) -> int:
        """Return the number of a day's invoices without its credit notes."""
        count = self._count(id_entity, day)
        return count - len(self._credits(id_entity, day)) if self.flat else count

    def _canceled(self, id_entity: int, day: date) -> dict[int, int]:
        """Return days until cancellation by index, within the first half of a day's invoices."""
        if day < EPOCH:
            return {}
        half = self._count(id_entity, day) // 2
        random = self._random(id_entity, day.toordinal(), 7)
        chosen = random.sample(range(half), -(-half * 2 // CANCEL_ONE_IN)) if half else []
        return {index: random.choice(CANCEL_AFTER) for index in sorted(chosen)}

    def _credits(self, id_entity: int, day: date) -> list[tuple[date, int]]:
        """Return (invoice date, index) of the invoices whose credit note is dated `day`."""
        origins = [(day - timedelta(days=lag), lag) for lag in CANCEL_AFTER]
        found = [
            (origin, index)
            for origin, lag in origins
            for index, after in self._canceled(id_entity, origin).items()
            if after == lag
        ]
        # On a flat day credit notes replace invoices that are never canceled.
        return found[: self.per_day // 2] if self.flat else found

    def _invoice(self, id_entity: int, day: date, index: int, canceled: dict[int, int]) -> Invoice:
        random = self._random(id_entity, day.toordinal(), index)
        invoice = self._bare(id_entity, day, index, random)
        sent_on = invoice.created_on + timedelta(minutes=random.choice((30, 180, 1500, 4500)))
        if index in canceled:
            canceled_on = at_noon(day + timedelta(days=canceled[index]), -60)
            sent = (
                replace(invoice, sent_on=sent_on, sent_by=12) if sent_on < canceled_on else invoice
            )
            credit_day = day + timedelta(days=canceled[index])
            return sent.canceled(canceled_on, self._credit_id(id_entity, credit_day, (day, index)))
        habit = random.random()
        total = invoice.total_excl_vat + invoice.total_vat
        settled_on = at_noon(
            invoice.due_date + timedelta(days=random.randint(-20, 25)), index % 300
        )
        payments: tuple[tuple[datetime, Decimal], ...] = ((settled_on, total),)
        if habit < 0.15:  # noqa: PLR2004 -> pays in two parts
            first = (total / 2).quantize(Decimal("0.01"))
            payments = ((settled_on, first), (settled_on + timedelta(days=15), total - first))
        elif habit > 0.94:  # noqa: PLR2004 -> never pays
            payments = ()
        return replace(invoice, sent_on=sent_on, sent_by=12, payments=payments)

    def _credit_id(self, id_entity: int, day: date, origin: tuple[date, int]) -> int | None:
        made = self._credits(id_entity, day)
        if origin not in made:
            return None
        return self._id(day, self._plain(id_entity, day) + made.index(origin))

    def _credit(self, id_entity: int, day: date, index: int, origin: tuple[date, int]) -> Invoice:
        random = self._random(id_entity, origin[0].toordinal(), origin[1])
        canceled = self._bare(id_entity, *origin, random)
        created_on = at_noon(day, -60)
        return replace(
            canceled,
            id_invoice=self._id(day, index),
            reference_number=f"AV{day:%Y%m%d}-{id_entity}-{index + 1:04d}",
            invoice_date=day,
            due_date=day,
            invoice_type="CRN",
            invoice_subject=f"Avoir sur {canceled.reference_number}",
            total_excl_vat=-canceled.total_excl_vat,
            total_vat=-canceled.total_vat,
            created_on=created_on,
            sent_on=created_on + timedelta(minutes=20),
            sent_by=12,
        )

    def _bare(self, id_entity: int, day: date, index: int, random: Random) -> Invoice:
        """Return the invoice as drafted: nothing has happened to it yet."""
        client = random.randrange(CLIENTS)
        currency = random.choice(CURRENCIES)
        rate = random.choice(VAT_RATES) if currency == "EUR" else 0
        excl = random.randint(1, 44) * random.randint(18_000, 95_000) // 2 + random.randrange(100)
        vat = (excl * rate + 5_000) // 10_000
        created = datetime.combine(day, datetime.min.time(), tzinfo=UTC) + timedelta(
            minutes=360 + random.randrange(540), milliseconds=random.randrange(60_000)
        )
        return Invoice(
            id_entity=id_entity,
            id_invoice=self._id(day, index),
            reference_number=f"FA{day:%Y%m%d}-{id_entity}-{index + 1:04d}",
            invoice_date=day,
            due_date=day + timedelta(days=random.choice((30, 30, 45, 60))),
            invoice_type="INV",
            id_client=100 + client,
            client_name=client_name(client),
            po_number=f"BC-{random.randrange(10**6):06d}" if random.random() < 0.6 else None,  # noqa: PLR2004 -> most clients order in writing
            vat_number=f"FR{client * 7 % 97:02d}{500_000_000 + client * 7_919}",
            invoice_subject=random.choice(SUBJECTS),
            total_excl_vat=_cents(excl),
            total_vat=_cents(vat),
            currency=currency,
            payment_mode=random.choice(("VIR", "VIR", "VIR", "CHQ", "PRL")),
            id_account_manager=10 + client % 8,
            created_on=created,
            created_by=10 + random.randrange(8),
        )


def _filled(row: Invoice) -> Invoice:
    """Return the invoice with a value in every field: ordered, sent and canceled."""
    soon = row.created_on + timedelta(minutes=30)
    return replace(
        row,
        po_number=row.po_number or f"BC-{row.id_invoice % 10**6:06d}",
        sent_on=soon,
        sent_by=row.created_by,
        canceled_on=soon,
        canceled_by=row.created_by,
        id_credit=row.id_invoice + 1,
    )


def _sparse(row: Invoice) -> Invoice:
    """Return the invoice as a draft with a value in two thirds of the fields."""
    return replace(
        row,
        po_number=None,
        vat_number=None,
        invoice_subject=None,
        id_account_manager=None,
        sent_on=None,
        sent_by=None,
        payments=(),
        canceled_on=None,
        canceled_by=None,
        id_credit=None,
    )


SHAPED: dict[Shape, Callable[[Invoice], Invoice]] = {
    "usual": lambda row: row,
    "filled": _filled,
    "sparse": _sparse,
}


def client_name(client: int) -> str:
    """Return the name of demo client number `client`."""
    return FIRMS[client % len(FIRMS)] + (
        f" {client // len(FIRMS) + 1}" if client >= len(FIRMS) else ""
    )


def _cents(amount: int) -> Decimal:
    return Decimal(amount).scaleb(-2)
