"""The state of one running service: what every operation reads and the control routes change."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bms_sandbox import people
from bms_sandbox.clock import Clock
from bms_sandbox.demo import DemoInvoices
from bms_sandbox.dialect import Dialect
from bms_sandbox.errors import Reply
from bms_sandbox.faults import Fault, Faults
from bms_sandbox.forms import Forms
from bms_sandbox.invoices import InvoiceBook
from bms_sandbox.store import Table
from bms_sandbox.tokens import Credentials, Tokens
from bms_sandbox.truth import Truth
from bms_sandbox.wire import Row, Wire


@dataclass(frozen=True, slots=True)
class Settings:
    """How a service starts, and what a reset returns it to."""

    credentials: Credentials
    dialect: Dialect = field(default_factory=Dialect)
    faults: tuple[Fault, ...] = ()
    demo: DemoInvoices = field(default_factory=DemoInvoices)
    employees: int = 40  # per entity
    contacts: int = 250
    consultants: int = 120
    now: datetime | None = None
    frozen: bool = False
    latency: float = 0.0
    latency_jitter: float = 0.0
    fast: bool = False


class Service:
    """Hold what one running service knows."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tokens = Tokens(settings.credentials)
        self.truth = Truth()
        self.tables = {
            "employees": Table("guid_employee", "id_employee"),
            "contacts": Table("id", "id"),
            "consultants": Table("id", "id"),
        }
        self.invoices = InvoiceBook(settings.demo)
        self.behind_gateway: set[asyncio.Task[Reply]] = set()
        self.delay_connections: Callable[[float], None] | None = None
        self.reset()

    def reset(self) -> None:
        """Return to the state of the start: settings, rows, counts; every token dies."""
        settings = self.settings
        for work in self.behind_gateway:
            work.cancel()
        self.faults = Faults(seed=settings.demo.seed)
        for fault in settings.faults:
            self.faults.add(Fault.from_json(fault.parameters()))
        self.clock = Clock(settings.now, frozen=settings.frozen)
        self.latency, self.latency_jitter = settings.latency, settings.latency_jitter
        self.tokens.revoke_all()
        self.truth.forget()
        self.speak(settings.dialect)
        self.fill(settings.demo, settings.employees, settings.contacts, settings.consultants)

    def speak(self, dialect: Dialect) -> None:
        """Change the dialect from the next request on."""
        self.dialect = dialect
        self.wire = Wire(dialect)
        self.stored_forms = Forms(dialect.stored_forms, stored=True)
        self.shown_forms = Forms(dialect.shown_forms)

    def fill(self, demo: DemoInvoices, employees: int, contacts: int, consultants: int) -> None:
        """Replace all rows by demo rows: employees are per entity."""
        seed = demo.seed
        self.invoices.reset(demo)
        rows: dict[str, Iterable[Row]] = {
            "employees": (
                people.employee(seed, entity, n + 1)
                for entity in demo.entities
                for n in range(employees)
            ),
            "contacts": (people.contact(seed, n + 1) for n in range(contacts)),
            "consultants": (people.consultant(seed, n + 1) for n in range(consultants)),
        }
        for name, made in rows.items():
            self.tables[name].clear()
            for row in made:
                self.tables[name].add(row)

    @property
    def entities(self) -> tuple[int, ...]:
        """Return the id_entity values that exist."""
        return self.invoices.source.entities

    def commit(self, resource: str, row: Row, operation: str) -> None:
        """Store a created row in the dialect's form, record it in the truth as it was sent.

        The row exists, is listed and can be read later where a lag strikes.
        """
        now = self.clock.now()
        lags = ("commit_lag", "list_lag", "detail_lag")
        commit, listed, read = (self.faults.lag(kind, operation) for kind in lags)
        table = self.tables[resource]
        table.add(
            self.stored_forms.changed(operation, row),
            seen_from=now + timedelta(seconds=commit) if commit else None,
            listed_from=now + timedelta(seconds=commit + listed) if listed else None,
            read_from=now + timedelta(seconds=commit + read) if read else None,
        )
        self.truth.record(resource, row[table.key], row)

    @property
    def version(self) -> tuple[object, ...]:
        """Return what changes whenever a remembered answer may be stale."""
        return (self.wire, self.invoices.version, *(t.version for t in self.tables.values()))
