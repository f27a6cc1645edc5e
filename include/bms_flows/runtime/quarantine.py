"""Quarantine: invalid rows, stored verbatim with the reason until a later read returns them valid."""

import dataclasses
import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import date, timedelta

from sqlalchemy import ColumnElement, Connection, Integer, TextClause, case, cast, delete, text
from sqlalchemy.dialects.postgresql import insert

from bms_flows.runtime.list_id import ListId
from bms_warehouse.database import upsert
from bms_warehouse.history import Stamp
from bms_warehouse.tables import client_invoice_day, quarantine

COPY = " copy "
"""Separates key and digest in the row keys of different rows with one key."""
_OF_KEYS = f"""
q.resource = :resource and q.id_entity = :id_entity and split_part(row_key, '{COPY}', 1) = any(:keys)
"""
"""Condition of a list's rows with some keys, and of their copies."""
_KEYS = text(f"select split_part(row_key, '{COPY}', 1) from bms.quarantine q where {_OF_KEYS}")  # noqa: S608 - constants
_ACCEPTED = text(f"""
select row_key, code, raw from bms.quarantine q join bms.step_run r on r.id = q.step_run_id
where {_OF_KEYS} and r.state = 'complete'
""")  # noqa: S608 - constants

DIGEST = "sha256:"
"""Prefix of the row key of a row without a key."""


@dataclasses.dataclass(frozen=True)
class InvalidRow:
    """An invalid row: row key, reason code, field, verbatim text, and the days it may belong to."""

    row_key: str
    code: str
    field: str | None
    first_day: date
    last_day: date
    raw: str = dataclasses.field(repr=False)

    @classmethod
    def of(
        cls,
        key: int | str | None,
        code: str,
        name: str | None,
        raw: bytes,
        day: date,
        last_day: date | None = None,
    ) -> "InvalidRow":
        """Return the invalid row for a row's bytes; a row without a key is identified by its digest.

        `day` is the row's own day, or with `last_day` the first day of the window that returned it.
        """
        # PostgreSQL stores no NUL; JSON's escape is equivalent.
        shown = raw.decode(errors="backslashreplace").replace("\0", "\\u0000")
        return cls(str(row_key(key, raw)), code, name, day, last_day or day, shown)

    @property
    def days(self) -> list[date]:
        """The days that the row may belong to."""
        span = (self.last_day - self.first_day).days
        return [self.first_day + timedelta(days=n) for n in range(span + 1)]

    @property
    def content(self) -> tuple[str, str, str]:
        """The facts that an acceptance covers: key, reason code and verbatim text."""
        return _key(self.row_key), self.code, self.raw


def row_key(key: int | str | None, raw: bytes) -> int | str:
    """Return a row's identity in quarantine: its key, or a digest if it has no key."""
    return f"{DIGEST}{hashlib.sha256(raw).hexdigest()}" if key is None else key


def quarantined_keys(
    connection: Connection, list_id: ListId, keys: Iterable[int | str]
) -> set[int | str]:
    """Return the keys of `keys` that are in quarantine."""
    by_text = {str(key): key for key in keys}
    found = connection.scalars(_KEYS, {**list_id._asdict(), "keys": [*by_text]})
    return {by_text[text] for text in found}


def not_accepted(
    connection: Connection, list_id: ListId, rows: Collection[InvalidRow]
) -> list[InvalidRow]:
    """Return the rows of `rows` that no published load has quarantined with the same content.

    Rows that only a held load has quarantined are not accepted yet.
    """
    if not rows:
        return []
    keys = [_key(row.row_key) for row in rows]
    accepted = connection.execute(_ACCEPTED, {**list_id._asdict(), "keys": keys})
    known = {(_key(key), code, raw) for key, code, raw in accepted}
    return [row for row in rows if row.content not in known]


def save(connection: Connection, list_id: ListId, stamp: Stamp, rows: Iterable[InvalidRow]) -> None:
    """Store `rows`; a row that is stored already keeps its first_seen_at."""
    values = [
        {
            **vars(row),
            **list_id._asdict(),
            "step_run_id": stamp.step_run_id,
            "first_seen_at": stamp.observed_at,
            "last_seen_at": stamp.observed_at,
        }
        for row in _distinct(rows)
    ]
    stored, new = quarantine.c, insert(quarantine).excluded
    another = stored.step_run_id != new.step_run_id
    same = (stored.code == new.code) & stored.field.is_not_distinct_from(new.field)
    upsert(
        connection,
        quarantine,
        values,
        first_seen_at=stored.first_seen_at,
        loads=case((same, stored.loads + cast(another, Integer)), else_=1),
        accepted_by=case((same, stored.accepted_by), else_=None),
    )


def release(
    connection: Connection, list_id: ListId, *conditions: ColumnElement[bool] | TextClause
) -> int:
    """Delete the rows of a list that fulfil all `conditions`; return their number."""
    statement = delete(quarantine).where(list_id.of(quarantine), *conditions)
    return connection.execute(statement).rowcount


READ = text(f"""
    not exists (
        select from generate_series(
            {quarantine}.first_day, {quarantine}.last_day, interval '1 day'
        ) as each (day)
        left join {client_invoice_day} as read
            on read.id_entity = {quarantine}.id_entity and read.day = each.day
        where read.read_at is null or read.read_at <= {quarantine}.last_seen_at
    )
""")
"""Condition of invoices whose possible days were all read, by any step runs, since they were last seen."""


def _key(row_key: str) -> str:
    """Return the key that a row and its copies share."""
    return row_key.partition(COPY)[0]


def _distinct(rows: Iterable[InvalidRow]) -> list[InvalidRow]:
    """Return equal rows once, and different rows with one key under separate row keys."""
    by_key: dict[str, dict[str, InvalidRow]] = defaultdict(dict)
    for row in rows:
        by_key[row.row_key].setdefault(row.raw, row)
    return [
        row
        if len(rows_of_key) == 1
        else dataclasses.replace(row, row_key=f"{key}{COPY}{_digest(raw)}")
        for key, rows_of_key in by_key.items()
        for raw, row in rows_of_key.items()
    ]


def _digest(raw: str) -> str:
    return hashlib.sha256(raw.encode(errors="surrogatepass")).hexdigest()[:16]
