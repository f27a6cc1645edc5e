"""Random sequences of changes, losses, copies, new dates, reads and acceptances: invariants hold after each step."""

import random
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Engine, text

from bms_flows.runtime.windows import DAY
from bms_warehouse.queries.records import fingerprint
from bms_warehouse.tables import client_invoice_version
from tests.bms_flows.invoices.listed import Company, invoice
from tests.support.sql import execute, fetch, scalars

FIRST = date(2026, 3, 2)
LAST = FIRST + 13 * DAY
OFFSETS = st.integers(0, 13)
CHOICE = st.integers(0, 1_000)
TABLES = (
    *("client_invoice", "client_invoice_superseded", "client_invoice_day", "client_invoice_lease"),
    *("quarantine", "control_total", "step_run", "code_name"),
)
OTHER_TYPES: dict[str, Callable[[Any], Any]] = {
    "canceled": int,
    "sent": lambda sent: str(sent).lower(),
    "id_client": str,
}


class Nights(RuleBasedStateMachine):
    """A company that edits invoices while runs read, publish and hold them."""

    company: Company
    folders: int = 0

    @initialize(seed=st.integers(0, 99), invoices=st.integers(1, 12))
    def start(self, seed: int, invoices: int) -> None:
        Nights.folders += 1
        self.company.data_root = Path(self.company.data_root).parent / str(Nights.folders)
        names = ", ".join(f"bms.{name}" for name in TABLES)
        execute(self.company.warehouse, f"truncate {names} restart identity cascade")
        self.draws = random.Random(seed)
        self.service.rows, self.service.lost = [], set()
        self.service.order = self.draws
        self.revisions: dict[int, int] = {}
        self.stored: dict[int, int] = {}
        self.ever_lost: set[int] = set()
        self.ever_copied: set[int] = set()
        for _ in range(invoices):
            self.create(self.draws.randrange(14))

    @property
    def service(self) -> Any:
        return self.company.service

    def _any(self, choice: int) -> dict[str, Any] | None:
        rows = sorted(self.service.rows, key=str)
        return rows[choice % len(rows)] if rows else None

    def _revise(self, row: dict[str, Any], **changes: Any) -> None:
        key = row["id_invoice"]
        self.revisions[key] += 1
        row.update(invoice_subject=f"rev {self.revisions[key]}", **changes)

    @rule(day=OFFSETS)
    def create(self, day: int) -> None:
        key = len(self.revisions) + 1
        self.revisions[key] = 1
        dated = FIRST + day * DAY
        created = dated.isoformat() if key % 2 else None  # lists the invoice once it has no date
        self.service.rows.append(
            invoice(key, dated, invoice_subject="rev 1", id_client=7, created_on=created)
        )

    @rule(choice=CHOICE)
    def change(self, choice: int) -> None:
        if row := self._any(choice):
            self._revise(row)

    @rule(choice=CHOICE, day=OFFSETS)
    def date_anew(self, choice: int, day: int) -> None:
        if row := self._any(choice):
            self._revise(row, invoice_date=(FIRST + day * DAY).isoformat())

    @rule(choice=CHOICE)
    def take_the_date(self, choice: int) -> None:
        if row := self._any(choice):
            self._revise(row, invoice_date=None)

    @rule(choice=CHOICE)
    def delete(self, choice: int) -> None:
        if row := self._any(choice):
            self.service.rows.remove(row)

    @rule(choice=CHOICE)
    def spoil(self, choice: int) -> None:
        """A revision that can't be stored."""
        if row := self._any(choice):
            self._revise(row)
            row["invoice_subject"] += "\0"

    @rule(choice=CHOICE, day=OFFSETS)
    def copy(self, choice: int, day: int) -> None:
        """The service lists an invoice twice, and the two differ."""
        if row := self._any(choice):
            self.ever_copied.add(row["id_invoice"])
            copy = row | {"invoice_date": (FIRST + day * DAY).isoformat(), "total_due": day}
            self.service.rows.append(copy)

    @rule(choice=CHOICE)
    def spell_otherwise(self, choice: int) -> None:
        """Another release of the service writes other types."""
        names = sorted(OTHER_TYPES)[: choice % 4]
        for row in self.service.rows:
            for name in names:
                row[name] = OTHER_TYPES[name](row[name]) if row[name] is not None else None

    @rule(first=OFFSETS, days=st.integers(0, 13))
    def read(self, first: int, days: int) -> None:
        self.company.held(FIRST + first * DAY, min(LAST, FIRST + (first + days) * DAY))

    @rule(day=OFFSETS, choice=CHOICE)
    def read_while_an_invoice_moves_to_a_day_of_another_load(self, day: int, choice: int) -> None:
        """The other load begins later, and commits first."""
        other = (day + 1) % 14

        def meanwhile() -> None:
            self.date_anew(choice, other)
            self.company.held(FIRST + other * DAY)

        self.service.meanwhile = meanwhile
        self.read(day, 0)

    @invariant()
    def no_version_ends_before_it_was_observed(self) -> None:
        query = "select 1 from bms.client_invoice_version where _superseded_at < _observed_at"
        with self.company.warehouse.connect() as connection:
            assert connection.execute(text(query)).first() is None

    @rule(first=OFFSETS, days=st.integers(0, 13), choice=CHOICE)
    def read_with_losses(self, first: int, days: int, choice: int) -> None:
        keys = sorted({row["id_invoice"] for row in self.service.rows})
        self.service.lost = set(keys[: choice % (len(keys) + 1)])
        self.ever_lost |= self.service.lost
        self.read(first, days)
        self.service.lost = set()

    @rule(newest_first=st.booleans())
    def accept(self, newest_first: bool) -> None:
        self.company.accept(newest_first=newest_first)

    @rule(first=OFFSETS, days=st.integers(0, 13))
    def settle(self, first: int, days: int) -> None:
        """Read, accept what is held, read again: nothing is held a second time."""
        window = FIRST + first * DAY, min(LAST, FIRST + (first + days) * DAY)
        if self.company.held(*window):
            self.company.accept()
            assert self.company.held(*window) == ""

    @rule()
    def settle_all(self) -> None:
        """After all days were read and accepted, the warehouse is what the service lists."""
        self.settle(0, 13)
        if self.company.held(FIRST, LAST):
            self.company.accept()
        listed: dict[int, list[dict[str, Any]]] = {}
        for row in self.service.rows:
            listed.setdefault(row["id_invoice"], []).append(row)
        rows, quarantined = self._rows(), self._quarantined()
        for key in self.revisions:
            copies = listed.get(key, [])
            good = [row for row in copies if "\0" not in row["invoice_subject"]]
            if not copies:
                assert key not in rows or rows[key].missing
                assert key not in quarantined
            elif len(good) < len(copies) or len(copies) > 1:
                assert key in quarantined
            if good:
                same = [
                    row
                    for row in good
                    if row["invoice_subject"] == rows[key].invoice_subject
                    and row["invoice_date"] in (None, rows[key]._day.isoformat())
                ]
                assert same, f"{key} is stored otherwise than it is listed"
                assert not rows[key].missing

    @rule(choice=CHOICE)
    def spoil_the_cache(self, choice: int) -> None:
        """Each entry gets the facts of another day, and half of them its digest as well."""
        entries = "bms.client_invoice_digest"
        execute(
            self.company.warehouse,
            f"update {entries} c set facts = o.facts, row_digests = o.row_digests, "
            "digest = case when o.day - c.day = 1 "
            f"then o.digest else c.digest end from {entries} o "
            "where abs(o.day - c.day) = 1 and (o.day - date '2026-03-02') % 2 = :choice",
            choice=choice % 2,
        )

    @rule()
    def make_again(self) -> None:
        """The stored answers make the same tables."""
        with self.company.warehouse.connect() as connection:
            before = fingerprint(connection, client_invoice_version)
        assert self.company.rebuilds_equally()
        with self.company.warehouse.connect() as connection:
            assert fingerprint(connection, client_invoice_version) == before

    @invariant()
    def no_older_state_replaces_a_newer_one(self) -> None:
        for key, row in self._rows().items():
            if key not in self.ever_copied:
                revision = int(row.invoice_subject.split()[1])
                assert revision >= self.stored.get(key, 0), f"{key} became older"
                self.stored[key] = revision

    @invariant()
    def nothing_that_is_listed_is_taken_for_deleted(self) -> None:
        listed = {row["id_invoice"] for row in self.service.rows}
        missing = {key for key, row in self._rows().items() if row.missing}
        assert not (missing & listed) - self.ever_lost - self.ever_copied

    def _rows(self) -> dict[int, Any]:
        rows = fetch(
            self.company.warehouse,
            "select id_invoice, invoice_subject, _day, _missing_since is not null as missing "
            "from bms.client_invoice",
        )
        return {row.id_invoice: row for row in rows}

    def _quarantined(self) -> set[int]:
        keys = scalars(self.company.warehouse, "select row_key from bms.quarantine")
        return {int(key.partition(" ")[0]) for key in keys}


def test_no_order_of_events_breaks_a_law(company: Company, warehouse: Engine) -> None:  # noqa: ARG001 - its own
    company.data_root = company.data_root / "0"

    class OfThisTest(Nights):
        pass

    OfThisTest.company = company
    run_state_machine_as_test(
        OfThisTest,
        settings=settings(
            max_examples=settings().max_examples // 8,
            stateful_step_count=12,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
