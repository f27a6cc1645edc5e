"""Merging what differs into the tables while answers still come, all in one transaction."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from bms_flows.invoices.decode import CODE_NAMES
from bms_warehouse import loads
from bms_warehouse.tables import client_invoice, client_invoice_version, code_name

RESOURCE = client_invoice.name
"""The resource by its table's name, as quarantine, files and names of codes know it."""
BATCH_ROWS = 8_000
"""Rows merged at once: enough to be fast, few enough that the next are read meanwhile."""


@dataclass(frozen=True)
class Languages:
    """The language a load was read in, and the one that stands beside the rows."""

    read: str
    shown: str


@dataclass
class Loader:
    """A load's rows on their way into the tables; nothing shows before the caller commits."""

    connection: Connection
    step_run_id: int
    names: Languages
    at: datetime
    """When all of the load's rows count as seen, by the database's clock."""
    inserted: int = 0
    changed: int = 0
    unchanged: int = 0
    _staged: int = 0

    def __post_init__(self) -> None:
        loads.create_staging(self.connection, client_invoice)

    def add(self, rows: loads.CopyBuffer) -> None:
        """Take rows that are new or differ; they are merged once there are enough of them."""
        if not rows.rows:
            # Years without a change: a session that asked nothing for long would be ended.
            self.connection.execute(text("select 1"))
            return
        loads.stage(self.connection, client_invoice, rows)
        self._staged += rows.rows
        if self._staged >= BATCH_ROWS:
            self.merge()

    def merge(self) -> None:
        """Merge what is staged."""
        if not self._staged:
            return
        self._show_names()
        merged = loads.merge(
            self.connection,
            client_invoice,
            client_invoice_version,
            step_run_id=self.step_run_id,
            observed_at=self.at,
        )
        loads.empty_staging(self.connection, client_invoice)
        self._staged = 0
        self.inserted += merged.inserted
        self.changed += merged.changed
        self.unchanged += merged.unchanged

    def _show_names(self) -> None:
        """Give staged rows the names of their codes in the language shown, as far as known."""
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
