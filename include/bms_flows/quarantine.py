"""Rows set aside: with the reason and as they came, until a later read is good."""

import dataclasses
import hashlib
from collections.abc import Collection, Iterable
from datetime import date, datetime

from sqlalchemy import ARRAY, Connection, Text, any_, delete, literal, select
from sqlalchemy.dialects.postgresql import insert

from bms_warehouse.tables import quarantine, run

DIGEST = "sha256:"
"""How the key of a row begins that has none of its own."""


@dataclasses.dataclass(frozen=True)
class Bad:
    """A row set aside: its key or a digest of it, what is wrong, how it came, the day it is told under."""

    row_key: str
    code: str
    field: str | None
    day: date
    raw: str = dataclasses.field(repr=False)

    @classmethod
    def of(cls, key: int | str | None, code: str, name: str | None, raw: bytes, day: date) -> "Bad":
        """Make one of a row's bytes; a row without a key is known by its digest."""
        # PostgreSQL stores no NUL; the escaped form says the same.
        shown = raw.decode(errors="backslashreplace").replace("\0", "\\u0000")
        return cls(str(row_key(key, raw)), code, name, day, shown)


def row_key(key: int | str | None, raw: bytes) -> int | str:
    """Return what identifies a row in quarantine: its key, or its digest where it has none."""
    return f"{DIGEST}{hashlib.sha256(raw).hexdigest()}" if key is None else key


def holds(
    connection: Connection, keys: Iterable[int | str], *, resource: str, id_entity: int
) -> set[int | str]:
    """Return those of `keys` whose rows are in quarantine."""
    by_text = {str(key): key for key in keys}
    found = select(quarantine.c.row_key).where(
        quarantine.c.resource == resource,
        quarantine.c.id_entity == id_entity,
        quarantine.c.row_key == any_(literal([*by_text], ARRAY(Text))),
    )
    return {by_text[text] for text in connection.scalars(found)}


def not_accepted(
    connection: Connection, rows: Collection[Bad], *, resource: str, id_entity: int
) -> list[Bad]:
    """Return those of `rows` that no published load has set aside, for the same reason and as they came.

    What a suspect load set aside, nobody has accepted yet.
    """
    if not rows:
        return []
    accepted = connection.execute(
        select(quarantine.c.row_key, quarantine.c.code, quarantine.c.raw)
        .join(run, run.c.id == quarantine.c.run_id)
        .where(
            quarantine.c.resource == resource,
            quarantine.c.id_entity == id_entity,
            quarantine.c.row_key == any_(literal([bad.row_key for bad in rows], ARRAY(Text))),
            run.c.state == "complete",
        )
    )
    known = {(key, code, raw) for key, code, raw in accepted}
    return [bad for bad in rows if (bad.row_key, bad.code, bad.raw) not in known]


def set_aside(
    connection: Connection,
    rows: Iterable[Bad],
    *,
    resource: str,
    id_entity: int,
    run_id: int,
    at: datetime,
) -> None:
    """Enter `rows`; one that is there already keeps when it was first set aside."""
    values = {
        bad.row_key: {
            "resource": resource,
            "id_entity": id_entity,
            "row_key": bad.row_key,
            "code": bad.code,
            "field": bad.field,
            "raw": bad.raw,
            "day": bad.day,
            "run_id": run_id,
            "first_seen_at": at,
            "last_seen_at": at,
        }
        for bad in rows
    }
    if not values:
        return
    statement = insert(quarantine)
    renewed = {
        name: statement.excluded[name]
        for name in ("code", "field", "raw", "day", "run_id", "last_seen_at")
    }
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=[column.name for column in quarantine.primary_key], set_=renewed
        ),
        list(values.values()),
    )


def release(
    connection: Connection, *, resource: str, id_entity: int, days: tuple[date, date], run_id: int
) -> int:
    """Take out what step `run_id` read anew, within `days`, and no longer found bad; return how many."""
    return connection.execute(
        delete(quarantine).where(
            quarantine.c.resource == resource,
            quarantine.c.id_entity == id_entity,
            quarantine.c.day.between(*days),
            quarantine.c.run_id != run_id,
        )
    ).rowcount
