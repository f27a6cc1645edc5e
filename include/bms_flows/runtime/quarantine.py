"""Rows that could not be loaded: stored with the reason and as they came, until a later read is good."""

import dataclasses
import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import date, datetime, timedelta

from sqlalchemy import ARRAY, Connection, Text, any_, delete, func, literal, select, text
from sqlalchemy.dialects.postgresql import insert

from bms_warehouse.tables import client_invoice_day, quarantine, step_run

COPY = " copy "
"""Between the key and a digest, in the keys of rows that repeat a key and differ."""
_KEY = func.split_part(quarantine.c.row_key, COPY, 1)
"""The key that a row and its copies share."""

DIGEST = "sha256:"
"""How the key of a row begins that has none of its own."""


@dataclasses.dataclass(frozen=True)
class InvalidRow:
    """An invalid row: its key or a digest of it, what is wrong, how it came, the days it may belong to."""

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
        """Make one of a row's bytes; a row without a key is known by its digest.

        `day` is the row's own day; with `last_day`, the first of the window that returned the row.
        """
        # PostgreSQL stores no NUL; the escaped form says the same.
        shown = raw.decode(errors="backslashreplace").replace("\0", "\\u0000")
        return cls(str(row_key(key, raw)), code, name, day, last_day or day, shown)

    @property
    def days(self) -> list[date]:
        """The days that the row may belong to."""
        span = (self.last_day - self.first_day).days
        return [self.first_day + timedelta(days=n) for n in range(span + 1)]

    @property
    def content(self) -> tuple[str, str, str]:
        """What an acceptance covers: the identifier, what is wrong, the row as it came."""
        return _key(self.row_key), self.code, self.raw


def row_key(key: int | str | None, raw: bytes) -> int | str:
    """Return what identifies a row in quarantine: its key, or its digest where it has none."""
    return f"{DIGEST}{hashlib.sha256(raw).hexdigest()}" if key is None else key


def quarantined_keys(
    connection: Connection, keys: Iterable[int | str], *, resource: str, id_entity: int
) -> set[int | str]:
    """Return those of `keys` whose rows are in quarantine."""
    by_text = {str(key): key for key in keys}
    found = select(_KEY).where(
        quarantine.c.resource == resource,
        quarantine.c.id_entity == id_entity,
        any_(literal([*by_text], ARRAY(Text))) == _KEY,
    )
    return {by_text[text] for text in connection.scalars(found)}


def not_accepted(
    connection: Connection, rows: Collection[InvalidRow], *, resource: str, id_entity: int
) -> list[InvalidRow]:
    """Return those of `rows` that no published load has quarantined with the same content.

    Rows that were quarantined by a load held for review are accepted by nobody yet.
    """
    if not rows:
        return []
    keys = literal([_key(bad.row_key) for bad in rows], ARRAY(Text))
    accepted = connection.execute(
        select(quarantine.c.row_key, quarantine.c.code, quarantine.c.raw)
        .join(step_run, step_run.c.id == quarantine.c.step_run_id)
        .where(
            quarantine.c.resource == resource,
            quarantine.c.id_entity == id_entity,
            any_(keys) == _KEY,
            step_run.c.state == "complete",
        )
    )
    known = {(_key(key), code, raw) for key, code, raw in accepted}
    return [bad for bad in rows if bad.content not in known]


def save(
    connection: Connection,
    rows: Iterable[InvalidRow],
    *,
    resource: str,
    id_entity: int,
    step_run_id: int,
    at: datetime,
) -> None:
    """Enter `rows`; one that is there already keeps when it was first quarantined."""
    values = [
        {
            "resource": resource,
            "id_entity": id_entity,
            "row_key": bad.row_key,
            "code": bad.code,
            "field": bad.field,
            "raw": bad.raw,
            "first_day": bad.first_day,
            "last_day": bad.last_day,
            "step_run_id": step_run_id,
            "first_seen_at": at,
            "last_seen_at": at,
        }
        for bad in _distinct(rows)
    ]
    if not values:
        return
    statement = insert(quarantine)
    renewed = {
        name: statement.excluded[name]
        for name in ("code", "field", "raw", "first_day", "last_day", "step_run_id", "last_seen_at")
    }
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=[column.name for column in quarantine.primary_key], set_=renewed
        ),
        values,
    )


def release(
    connection: Connection,
    *,
    resource: str,
    id_entity: int,
    days: tuple[date, date],
    step_run_id: int,
) -> int:
    """Delete what step `step_run_id` read anew, within `days`, and no longer found bad; return how many."""
    return connection.execute(
        delete(quarantine).where(
            quarantine.c.resource == resource,
            quarantine.c.id_entity == id_entity,
            quarantine.c.first_day >= days[0],
            quarantine.c.last_day <= days[1],
            quarantine.c.step_run_id != step_run_id,
        )
    ).rowcount


_READ = text(f"""
    not exists (
        select from generate_series(
            {quarantine}.first_day, {quarantine}.last_day, interval '1 day'
        ) as each (day)
        left join {client_invoice_day} as read
            on read.id_entity = {quarantine}.id_entity and read.day = each.day
        where read.read_at is null or read.read_at <= {quarantine}.last_seen_at
    )
""")


def release_read(connection: Connection, *, resource: str, id_entity: int) -> int:
    """Delete the invoices of which every day they may belong to was read since they were last seen.

    Their days may have been read by several steps. Return how many were deleted.
    """
    return connection.execute(
        delete(quarantine).where(
            quarantine.c.resource == resource,
            quarantine.c.id_entity == id_entity,
            _READ,
        )
    ).rowcount


def _key(row_key: str) -> str:
    """Return the key that a row and its copies share."""
    return row_key.partition(COPY)[0]


def _distinct(rows: Iterable[InvalidRow]) -> list[InvalidRow]:
    """Return rows of one key that differ under keys of their own, and equal rows once."""
    by_key: dict[str, dict[str, InvalidRow]] = defaultdict(dict)
    for bad in rows:
        by_key[bad.row_key].setdefault(bad.raw, bad)
    return [
        bad
        if len(rows_of_key) == 1
        else dataclasses.replace(bad, row_key=f"{key}{COPY}{_digest(raw)}")
        for key, rows_of_key in by_key.items()
        for raw, bad in rows_of_key.items()
    ]


def _digest(raw: str) -> str:
    return hashlib.sha256(raw.encode(errors="surrogatepass")).hexdigest()[:16]
