"""State of a running service, which operations read and control routes change."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bms_sandbox.clock import Clock
from bms_sandbox.demo_invoices import DemoInvoices
from bms_sandbox.demo_records import LISTS, employee
from bms_sandbox.dialect import Dialect
from bms_sandbox.errors import Reply
from bms_sandbox.faults import Fault, Faults
from bms_sandbox.forms import Forms
from bms_sandbox.ground_truth import GroundTruth
from bms_sandbox.invoices import InvoiceBook
from bms_sandbox.row_encoder import Row, RowEncoder
from bms_sandbox.store import Table
from bms_sandbox.tokens import Credentials, Tokens


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the start, which a reset restores."""

    credentials: Credentials
    dialect: Dialect = field(default_factory=Dialect)
    faults: tuple[Fault, ...] = ()
    demo: DemoInvoices = field(default_factory=DemoInvoices)
    employees: int = 40  # per entity
    lists: Mapping[str, int] = field(default_factory=dict)
    """Rows of other lists; by default those of `demo_records.LISTS`."""
    now: datetime | None = None
    frozen: bool = False
    latency: float = 0.0
    fast: bool = False


class Service:
    """State of a running service."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tokens = Tokens(settings.credentials)
        self.ground_truth = GroundTruth()
        self.tables = {
            "employees": Table("guid_employee", "id_employee"),
            **{name: Table("id", "id") for name in LISTS},
        }
        self.invoices = InvoiceBook(settings.demo)
        self.behind_gateway: set[asyncio.Task[Reply]] = set()
        self.delay_connections: Callable[[float], None] | None = None
        self.reset()

    def reset(self) -> None:
        """Restore settings, rows and counts of the start; revoke all tokens."""
        settings = self.settings
        for work in self.behind_gateway:
            work.cancel()
        self.faults = Faults(seed=settings.demo.seed)
        for fault in settings.faults:
            self.faults.add(Fault.from_json(fault.parameters()))
        self.clock = Clock(settings.now, frozen=settings.frozen)
        self.latency = settings.latency
        self.tokens.revoke_all()
        self.ground_truth.reset_counts()
        self._lists_shown = 0
        self.set_dialect(settings.dialect)
        self.fill(settings.demo, settings.employees, settings.lists)

    def set_dialect(self, dialect: Dialect) -> None:
        """Change the dialect from the next request on."""
        self.dialect = dialect
        self.encoder = RowEncoder(dialect)
        self.stored_forms = Forms(dialect.stored_forms, stored=True)
        self.shown_forms = Forms(dialect.shown_forms)

    def fill(self, demo: DemoInvoices, employees: int, lists: Mapping[str, int]) -> None:
        """Replace all rows by demo rows; `employees` is per entity, `lists` by resource."""
        seed = demo.seed
        self.invoices.reset(demo)
        staff = (
            employee(seed, entity, n + 1) for entity in demo.entities for n in range(employees)
        )
        self._replace("employees", staff)
        for name, demo_list in LISTS.items():
            count = range(lists.get(name, demo_list.size))
            self._replace(name, (demo_list.row(seed, n + 1) for n in count))

    def _replace(self, resource: str, rows: Iterable[Row]) -> None:
        self.tables[resource].clear()
        for row in rows:
            self.tables[resource].add(row)

    @property
    def entities(self) -> tuple[int, ...]:
        """The existing id_entity values."""
        return self.invoices.source.entities

    def listed_at(self) -> datetime:
        """Return the time that the next list shows: by turns now, and `replica_lag` seconds ago."""
        self._lists_shown += 1
        lag = self.dialect.replica_lag if self._lists_shown % 2 == 0 else 0.0
        return self.clock.now() - timedelta(seconds=lag)

    def commit(self, resource: str, row: Row, operation: str) -> None:
        """Store a created row in the dialect's form; count the row as sent in the ground truth.

        Lag faults delay the time from which the row exists, is listed or has a detail.
        """
        now = self.clock.now()
        lags = ("commit_lag", "list_lag", "detail_lag")
        commit, listed, read = (self.faults.lag(kind, operation) for kind in lags)
        table = self.tables[resource]
        table.add(
            self.stored_forms.changed(operation, row),
            made_at=now,
            seen_from=now + timedelta(seconds=commit) if commit else None,
            listed_from=now + timedelta(seconds=commit + listed) if listed else None,
            read_from=now + timedelta(seconds=commit + read) if read else None,
        )
        self.ground_truth.add_created(resource, row[table.key], row)

    @property
    def version(self) -> tuple[object, ...]:
        """Version of the state: a cached response is valid for one version."""
        return (self.encoder, self.invoices.version, *(t.version for t in self.tables.values()))
