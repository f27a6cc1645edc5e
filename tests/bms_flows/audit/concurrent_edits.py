"""Concurrent edits of sandbox data: payments, changes, new rows and deletions."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random
from threading import Event, Thread

from bms_sandbox.serve import ControlError, Sandbox

PACE = 0.04
"""Seconds between two changes, about a hundred times the rate of a company."""


@dataclass
class ConcurrentEdits:
    """Changes rows of a sandbox in a thread."""

    sandbox: Sandbox
    first: date
    last: date
    seed: int
    changes: int = 0
    _stop: Event = field(default_factory=Event)

    def go_on(self) -> None:
        """Change one row per interval."""
        random = Random(self.seed)
        sandbox = self.sandbox
        invoices = [row["id_invoice"] for row in sandbox.invoices(1, self.first, self.last)]
        contacts = [row["id"] for row in sandbox.rows("contacts")]
        consultants = [row["id"] for row in sandbox.rows("consultants")]
        guids = [row["guid_employee"] for row in sandbox.rows("employees")]
        days = (self.last - self.first).days + 1

        def some_day() -> str:
            return str(self.first + timedelta(days=random.randrange(days)))

        deeds = [
            lambda: sandbox.pay(1, random.choice(invoices), "1.00"),
            lambda: sandbox.pay(1, random.choice(invoices)),
            lambda: sandbox.send(1, random.choice(invoices)),
            lambda: sandbox.cancel(1, random.choice(invoices)),
            lambda: sandbox.edit_invoice(
                1, random.choice(invoices), po_number=f"BC-{random.randrange(10**6)}"
            ),
            lambda: sandbox.insert_invoice(id_entity=1, invoice_date=some_day()),
            lambda: sandbox.edit("contacts", random.choice(contacts), city=f"V{random.random()}"),
            lambda: sandbox.insert("contacts"),
            lambda: sandbox.edit("consultants", random.choice(consultants), affinity=4),
            lambda: sandbox.insert("consultants"),
            lambda: sandbox.edit("employees", random.choice(guids), job_title="Cheffe"),
        ]
        # Few deletions, because loads with many would be held for review.
        gone = [lambda: sandbox.delete("contacts", random.choice(contacts))]
        if self.seed % 3 == 0:
            gone.append(lambda: sandbox.delete_invoice(1, random.choice(invoices)))
        while not self._stop.wait(PACE):
            try:
                (gone.pop() if gone else random.choice(deeds))()
                self.changes += 1
            except ControlError:
                continue  # the row is already deleted

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Run the thread for the block."""
        thread = Thread(target=self.go_on)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
