"""What an invoice report must say, by code of its own: plain loops over what was read when."""

import random
from collections import defaultdict
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

Row = dict[str, Any]
Amounts = dict[Any, Decimal]

CLIENTS = 12
CURRENCIES = ("EUR", "EUR", "EUR", "USD", "CHF")


def cents(number: int) -> Decimal:
    return Decimal(number).scaleb(-2)


@dataclass
class Company:
    """Invoices of a company, day by day: paid late, changed, canceled with and without a credit note."""

    first: date
    draws: random.Random
    rows: dict[int, Row] = field(default_factory=dict)
    due_payments: dict[date, list[tuple[int, Decimal | None]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    number: int = 0
    lost: list[str] = field(default_factory=list)
    """Numbers that no invoice ever has."""
    late_payments: int = 0
    canceled: int = 0

    def add(self, day: date, **given: Any) -> Row:
        self.number += 1
        if self.number in (120, 200, 1900):
            self.lost.append(f"FA{self.number:06}")
            self.number += 1
        net = cents(self.draws.randrange(5_000, 900_000))
        vat = (net * 20).quantize(Decimal(1)) / 100
        client = self.draws.randrange(CLIENTS)
        row = {
            "id_invoice": self.number,
            "reference_number": f"FA{self.number:06}",
            "invoice_date": day,
            "due_date": day + timedelta(days=self.draws.choice((0, 15, 30, 45))),
            "id_client": 100 + client,
            "client_name": f"Client {client}",
            "currency": self.draws.choice(CURRENCIES),
            "total_excl_vat": net,
            "total_vat": vat,
            "total_incl_vat": net + vat,
            "total_due": net + vat,
            "canceled": False,
            "canceled_on": None,
            "id_credit": None,
            **given,
        }
        self.rows[row["id_invoice"]] = row
        return row

    def live(self, day: date) -> None:
        """Let the events of a day happen."""
        for number, part in self.due_payments.pop(day, ()):
            row = self.rows.get(number)
            if row and not row["canceled"] and row["total_due"]:
                paid = row["total_due"] if part is None else min(part, row["total_due"])
                row["total_due"] -= paid
                self.late_payments += day > row["due_date"]
        for _ in range(6 if day.weekday() < 5 else 1):
            row = self.add(day)
            if self.draws.random() < 0.9:
                until_due = (row["due_date"] - day).days
                after = self.draws.randrange(1, 20) + until_due - 8 * (self.draws.random() < 0.3)
                paid_on = day + timedelta(days=max(1, after))
                if self.draws.random() < 0.2:
                    self.due_payments[paid_on].append((row["id_invoice"], cents(4_321)))
                    paid_on += timedelta(days=self.draws.randrange(3, 60))
                self.due_payments[paid_on].append((row["id_invoice"], None))
        self.change(day)

    def change(self, day: date) -> None:
        """Cancel, correct, convert or remove a recent invoice, on some days."""
        older = [
            each
            for each in self.rows.values()
            if not each["canceled"]
            and each["total_incl_vat"] > 0
            and each["invoice_date"] >= day - timedelta(days=50)
        ]
        chance, row = self.draws.random(), self.draws.choice(older)
        if chance < 0.15:
            if self.draws.random() < 0.7:
                opposite = {
                    each: -row[each] for each in ("total_excl_vat", "total_vat", "total_incl_vat")
                }
                same = {each: row[each] for each in ("id_client", "client_name", "currency")}
                credit = self.add(day, **same, **opposite, total_due=Decimal(0), due_date=day)
                row["id_credit"] = credit["id_invoice"]
            row |= {"canceled": True, "canceled_on": day, "total_due": Decimal(0)}
            self.canceled += 1
        elif chance < 0.3:
            more = cents(self.draws.randrange(-3_000, 5_000))
            for each in ("total_excl_vat", "total_incl_vat", "total_due"):
                row[each] += more
        elif chance < 0.33:
            row["currency"] = "GBP"
        elif chance < 0.35:
            del self.rows[row["id_invoice"]]


@dataclass
class Known:
    """What reads have shown so far, and when each day was read last."""

    days: dict[date, list[Row]] = field(default_factory=dict)
    read_at: dict[date, datetime] = field(default_factory=dict)

    def read(self, company: Company, days: list[date], at: datetime) -> None:
        for day in days:
            self.read_at[day] = at
            self.days[day] = [
                deepcopy(row) for row in company.rows.values() if row["invoice_date"] == day
            ]

    def copy(self) -> "Known":
        return Known(dict(self.days), dict(self.read_at))

    @property
    def rows(self) -> dict[int, Row]:
        return {row["id_invoice"]: row for rows in self.days.values() for row in rows}


def due(row: Row | None) -> Decimal:
    return Decimal(0) if row is None or row["canceled"] else row["total_due"]


def age(row: Row, day: date) -> int:
    late = (day - row["due_date"]).days
    return 0 if late <= 0 else 1 + (late - 1) // 30 if late <= 90 else 4


def ageing(known: Known, day: date) -> dict[tuple[int, str], list[Decimal]]:
    found: dict[tuple[int, str], list[Decimal]] = {}
    for row in known.rows.values():
        if due(row):
            columns = found.setdefault((row["id_client"], row["currency"]), [Decimal(0)] * 5)
            columns[age(row, day)] += due(row)
    return found


def open_items(known: Known) -> dict[int, tuple[Decimal, datetime]]:
    return {
        number: (due(row), known.read_at[row["invoice_date"]])
        for number, row in known.rows.items()
        if due(row)
    }


def turnover(known: Known) -> Amounts:
    found: Amounts = defaultdict(Decimal)
    for row in known.rows.values():
        if not row["canceled"] or row["id_credit"] in known.rows:
            found[row["invoice_date"].replace(day=1), row["currency"]] += row["total_excl_vat"]
    return dict(found)


def credited(known: Known) -> set[tuple[str, int, Decimal | None]]:
    rows = known.rows
    found: set[tuple[str, int, Decimal | None]] = set()
    for number, row in rows.items():
        credit = rows.get(row["id_credit"])
        if row["canceled"]:
            found.add(("canceled", number, credit["total_incl_vat"] if credit else None))
        elif row["total_incl_vat"] < 0:
            found.add(("credit_note", number, None))
    return found


def bridge(before: Known, after: Known) -> dict[tuple[str, str], dict[int, Decimal]]:
    """Return the amount of each invoice by currency and line."""
    old, new = before.rows, after.rows
    found: dict[tuple[str, str], dict[int, Decimal]] = defaultdict(lambda: defaultdict(Decimal))

    def book(currency: str, line: str, number: int, amount: Decimal) -> None:
        if amount:
            found[currency, line][number] += amount

    for number in old.keys() | new.keys():
        was, row = old.get(number), new.get(number)
        if was:
            book(was["currency"], "opening", number, due(was))
        if row:
            book(row["currency"], "closing", number, due(row))
        if was is None:
            assert row
            book(row["currency"], "new", number, due(row))
        elif row is None:
            book(was["currency"], "missing", number, -due(was))
        elif row["currency"] != was["currency"]:
            book(was["currency"], "changed", number, -due(was))
            book(row["currency"], "changed", number, due(row))
        elif row["canceled"]:
            book(row["currency"], "canceled", number, -due(was))
        else:
            billed = row["total_incl_vat"] - was["total_incl_vat"]
            book(row["currency"], "changed", number, billed)
            book(row["currency"], "paid", number, due(row) - due(was) - billed)
    return {key: dict(each) for key, each in found.items()}


def missing_numbers(known: Known) -> set[str]:
    numbers = {int(row["reference_number"][2:]) for row in known.rows.values()}
    return {f"FA{n:06}" for n in range(min(numbers), max(numbers)) if n not in numbers}
