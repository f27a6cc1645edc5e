"""Loader of invoices: merges new and changed rows into the tables, in one transaction."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from bms_flows.invoices.decode import CODE_NAMES
from bms_warehouse import loads
from bms_warehouse.tables import client_invoice, code_name

RESOURCE = client_invoice.name
"""The resource's name in quarantine, files and code names."""
BATCH_ROWS = 8_000
"""Rows per merge: enough for speed, few enough that fetching continues in parallel."""


@dataclass(frozen=True)
class Languages:
    """The language that a load was read in, and the language of the names shown in its rows."""

    read: str
    shown: str


@dataclass
class Loader:
    """Stages rows and merges them in batches; the caller commits."""

    connection: Connection
    step_run_id: int
    names: Languages
    observed_at: datetime
    """Observation time of all rows of the load, by the database's clock."""
    inserted: int = 0
    changed: int = 0
    unchanged: int = 0
    _staged: int = 0

    def __post_init__(self) -> None:
        loads.create_staging(self.connection, client_invoice)

    def add(self, rows: loads.CopyBuffer) -> None:
        """Stage new and changed rows; merge once `BATCH_ROWS` are staged."""
        if not rows.rows:
            # PostgreSQL ends a session that is idle in a transaction for too long.
            self.connection.execute(text("select 1"))
            return
        loads.stage(self.connection, client_invoice, rows)
        self._staged += rows.rows
        if self._staged >= BATCH_ROWS:
            self.merge()

    def merge(self) -> None:
        """Merge the staged rows."""
        if not self._staged:
            return
        self._show_names()
        merged = loads.merge(
            self.connection,
            client_invoice,
            step_run_id=self.step_run_id,
            observed_at=self.observed_at,
        )
        loads.empty_staging(self.connection, client_invoice)
        self._staged = 0
        self.inserted += merged.inserted
        self.changed += merged.changed
        self.unchanged += merged.unchanged

    def _show_names(self) -> None:
        """Set the known code names of staged rows in the language shown."""
        if self.names.read == self.names.shown:
            return
        for name, code in CODE_NAMES.items():
            self.connection.execute(
                text(
                    f"update pg_temp.{loads.staging_name(client_invoice)} s set {name} = n.name "  # noqa: S608 - our own names
                    f"from {code_name} n where n.resource = :resource and n.field = :field "
                    f"and n.code = s.{code} and n.language = :language"
                ),
                {"resource": RESOURCE, "field": code, "language": self.names.shown},
            )
