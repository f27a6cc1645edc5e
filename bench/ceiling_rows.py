"""Rows of the ceiling: from the bytes of a response into a table, without decoding the values."""

import operator
from collections.abc import Sequence
from typing import Any

import msgspec
import psycopg

from bench.peers.task import WORKS, Task


class Envelope(msgspec.Struct):
    """The paged list envelope."""

    total_pages: int
    data: msgspec.Raw = msgspec.Raw(b"[]")


ENVELOPE = msgspec.json.Decoder(Envelope)


class Splitter:
    """Splits responses into rows, and rows into JSON values, without decoding the values."""

    def __init__(self, names: Sequence[str]) -> None:
        absent = msgspec.Raw(b"null")
        row: Any = msgspec.defstruct("Row", [(n, msgspec.Raw, absent) for n in names], gc=False)
        self._rows = msgspec.json.Decoder(list[row])
        self._values = operator.attrgetter(*names)

    def array(self, body: bytes) -> Any:
        """Return the JSON array of rows in a response: all of it, or its page's."""
        return body if body.startswith(b"[") else ENVELOPE.decode(body).data

    def csv(self, body: bytes) -> tuple[int, bytes]:
        """Return the number of rows, and the rows for COPY."""
        rows = self._rows.decode(self.array(body))
        lines = b"\n".join([b",".join(self._values(row)) for row in rows])
        if b"\\" in lines.replace(b"\\\\", b"").replace(b'\\"', b""):
            lines = b"\n".join([self._decoded(row) for row in rows])
        return len(rows), lines + b"\n" if rows else b""

    def _decoded(self, row: Any) -> bytes:
        """Return a row with its escapes resolved."""
        return b",".join(map(_for_csv, self._values(row)))


def _for_csv(value: msgspec.Raw) -> bytes:
    """Return a JSON value for COPY, with the escapes of a text resolved."""
    raw = bytes(value)
    if not raw.startswith(b'"'):
        return raw
    text = msgspec.json.decode(raw).replace("\\", "\\\\").replace('"', '\\"')
    return b'"%b"' % text.encode()


class Target:
    """A separate table, filled by COPY and merge in one transaction."""

    def __init__(self, task: Task) -> None:
        self._connection = psycopg.connect(task.database, options="-c timezone=Europe/Paris")
        key, *others = task.fields
        columns, self._names = WORKS[task.work]["columns"], ", ".join(task.fields)
        entity, self._entity = (
            ("id_entity bigint, ", "1, ") if task.work == "invoices" else ("", "")
        )
        self._key = f"id_entity, {key}" if entity else key
        self._updates = ", ".join(f"{n} = excluded.{n}" for n in others)
        self._execute(
            f"create table if not exists ceiling ({entity}{columns}, primary key ({self._key}))"
        )
        self._execute(f"create temporary table staging ({columns}) on commit drop")

    def copy(self, content: bytes) -> None:
        """Fill the staging table."""
        options = "format csv, quote '\"', escape '\\', null 'null'"
        statement = f"copy staging ({self._names}) from stdin with ({options})".encode()
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(content)

    def merge(self) -> None:
        """Merge the staging table and empty it."""
        into = f"{'id_entity, ' if self._entity else ''}{self._names}"
        self._execute(
            f"insert into ceiling ({into}) select {self._entity}{self._names} from staging "  # noqa: S608 - names of this file
            f"on conflict ({self._key}) do update set {self._updates}"
        )
        self._execute("truncate staging")

    def close(self) -> None:
        """Commit."""
        self._connection.commit()
        self._connection.close()

    def _execute(self, statement: str) -> None:
        self._connection.execute(statement.encode())
