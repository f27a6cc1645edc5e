"""Rows of the ceiling: from the bytes of a response into a table, without decoding the values."""

import operator
from typing import Any

import msgspec
import psycopg

TYPES = {
    "bigint": "id_invoice id_client id_account_manager created_by canceled_by id_credit sent_by "
    "id modified_by deleted_by",
    "numeric": "total_excl_vat total_vat total_incl_vat total_due",
    "boolean": "canceled sent exclude_from_emailing send_greetings_card is_lead actif deleted",
    "date": "invoice_date due_date",
    "timestamptz": "created_on canceled_on sent_on modified_on deleted_on",
}
_NAMES = {
    "invoices": (
        "id_invoice reference_number invoice_date due_date invoice_type invoice_type_name "
        "id_client client_name po_number vat_number invoice_subject total_excl_vat total_vat "
        "total_incl_vat total_due currency payment_mode payment_mode_name status status_name "
        "id_account_manager created_on created_by canceled canceled_on canceled_by id_credit "
        "sent sent_on sent_by"
    ),
    "contacts": (
        "id first_name last_name business_title email phone_mobile_number postal_code city "
        "country exclude_from_emailing send_greetings_card is_lead origin signal "
        "imported_company_name id_client id_account_manager actif deleted created_on created_by "
        "modified_on modified_by deleted_on deleted_by"
    ),
}
FIELDS = {work: names.split() for work, names in _NAMES.items()}
"""Fields of the rows, by work; the first is the key."""


class Envelope(msgspec.Struct):
    """The paged list envelope."""

    total_pages: int
    data: msgspec.Raw = msgspec.Raw(b"[]")


ENVELOPE = msgspec.json.Decoder(Envelope)


def sql_type(name: str) -> str:
    """Return the column type of a field."""
    return next((kind for kind, names in TYPES.items() if name in names.split()), "text")


class Splitter:
    """Splits responses into rows, and rows into JSON values, without decoding the values."""

    def __init__(self, work: str) -> None:
        self._paged = work == "contacts"
        names = FIELDS[work]
        absent = msgspec.Raw(b"null")
        row: Any = msgspec.defstruct("Row", [(n, msgspec.Raw, absent) for n in names], gc=False)
        self._rows = msgspec.json.Decoder(list[row])
        self._values = operator.attrgetter(*names)

    def array(self, body: bytes) -> Any:
        """Return the JSON array of rows in a response."""
        return ENVELOPE.decode(body).data if self._paged else body

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

    def __init__(self, work: str, uri: str) -> None:
        self._connection = psycopg.connect(uri, options="-c timezone=Europe/Paris")
        fields = FIELDS[work]
        columns, self._names = ", ".join(f"{n} {sql_type(n)}" for n in fields), ", ".join(fields)
        entity, self._entity = ("id_entity bigint, ", "1, ") if work == "invoices" else ("", "")
        self._key = f"id_entity, {fields[0]}" if entity else fields[0]
        self._updates = ", ".join(f"{n} = excluded.{n}" for n in fields[1:])
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
