"""The state of one running service: dialect, clock, tokens, rows; what every operation works on."""

from collections import OrderedDict
from datetime import date, datetime

from bms_sandbox.clock import Clock
from bms_sandbox.demo import DemoInvoices
from bms_sandbox.dialect import Dialect
from bms_sandbox.invoices import FAR, InvoiceBook
from bms_sandbox.tokens import Credentials, Tokens
from bms_sandbox.wire import Wire


class Service:
    """Hold what one running service knows; the control routes change it live."""

    def __init__(
        self, credentials: Credentials, dialect: Dialect, clock: Clock, demo: DemoInvoices
    ):
        self.dialect = dialect
        self.clock = clock
        self.tokens = Tokens(credentials)
        self.invoices = InvoiceBook(demo)
        self.wire = Wire(dialect)

    @property
    def entities(self) -> tuple[int, ...]:
        """Return the id_entity values that exist."""
        return self.invoices.source.entities

    def invoice_pieces(self, id_entity: int, first: date, last: date, language: str) -> list[bytes]:
        """Return comma-joined encoded rows."""
        from bms_sandbox.operations.invoices import FIELDS

        now = self.clock.now()
        last = min(last, now.date())
        rows = self.invoices.within(id_entity, first, last, self.dialect.range_date)
        shown = (r.as_of(now, language) for r in rows if r.created_on <= now)
        return [self.wire.joined(shown, FIELDS)]
