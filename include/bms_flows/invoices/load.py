"""Loader of invoices: writes new and changed rows to the tables, in one transaction."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, text

from bms_flows.invoices.decode import CODE_NAMES
from bms_warehouse import loads
from bms_warehouse.history import Stamp
from bms_warehouse.tables import client_invoice, code_name

RESOURCE = client_invoice.name
"""The resource's name in quarantine, files and code names."""
IDLE_S = 60.0
"""Seconds after which the session gets a statement."""
BATCH_ROWS = 2_000
"""Rows written at once: enough for speed, few enough that PostgreSQL works while responses are fetched."""


@dataclass
class Loader:
    """Copies new rows into the table, and stages and merges others, in batches; the caller commits."""

    connection: Connection
    stamp: Stamp
    """Of all rows of the load, by the database's clock."""
    language: str
    """In which the load was read."""
    shown: str
    """Language of the names shown in the rows."""
    inserted: int = 0
    changed: int = 0
    unchanged: int = 0
    _staged: int = 0
    _used: float = field(default_factory=time.monotonic)
    _new: list[loads.CopyBuffer] = field(default_factory=list)

    def __post_init__(self) -> None:
        loads.create_staging(self.connection, client_invoice)

    def add(self, rows: loads.CopyBuffer) -> None:
        """Take new and changed rows; write them once they are `BATCH_ROWS`."""
        if rows.new and self.language == self.shown:
            self._new.append(rows)
        else:
            self._stage([rows])
        if self._staged + sum(each.rows for each in self._new) >= BATCH_ROWS:
            self.merge()
        elif self.idle:
            self.keep()

    @property
    def idle(self) -> bool:
        """Whether the session needs a statement: PostgreSQL ends idle transactions."""
        return time.monotonic() - self._used >= IDLE_S

    def keep(self) -> None:
        """Keep the session while responses come slowly."""
        self.connection.execute(text("select 1"))
        self._used = time.monotonic()

    def merge(self) -> None:
        """Write the rows taken so far."""
        self._append()
        if not self._staged:
            return
        self._show_names()
        merged = loads.merge(self.connection, client_invoice, self.stamp)
        loads.empty_staging(self.connection, client_invoice)
        self._staged = 0
        self.inserted += merged.inserted
        self.changed += merged.changed
        self.unchanged += merged.unchanged

    def _append(self) -> None:
        """Copy the new rows into the table, or stage them if one of their keys exists after all.

        A key can exist for an invoice of another day, or for a missing invoice that returned.
        """
        new, self._new = self._new, []
        if not new:
            return
        if loads.append(self.connection, client_invoice, new, self.stamp):
            self.inserted += sum(each.rows for each in new)
        else:
            self._stage(new)

    def _stage(self, buffers: Sequence[loads.CopyBuffer]) -> None:
        for rows in buffers:
            loads.stage(self.connection, client_invoice, rows)
            self._staged += rows.rows

    def _show_names(self) -> None:
        """Set the known code names of staged rows in the language shown."""
        if self.language == self.shown:
            return
        for name, code in CODE_NAMES.items():
            self.connection.execute(
                text(
                    f"update pg_temp.{loads.staging_name(client_invoice)} s set {name} = n.name "  # noqa: S608 - our own names
                    f"from {code_name} n where n.resource = :resource and n.field = :field "
                    f"and n.code = s.{code} and n.language = :language"
                ),
                {"resource": RESOURCE, "field": code, "language": self.shown},
            )
