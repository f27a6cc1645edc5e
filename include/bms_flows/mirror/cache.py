"""Cache of compared rows: a row that a list shows with the same bytes as in an earlier run is not decoded again.

An entry states what the bytes of a row mean: its key and, with its state, its `_list_hash`. The digest of all entries
covers what this depends on. So a lost, old or damaged cache costs time only: whether the mirror still
has a row with this `_list_hash` is compared in each run.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator

import msgspec
from sqlalchemy import Connection, select

from bms_flows.mirror.diff import RecalledRow, State
from bms_flows.runtime.coverage import Key
from bms_flows.runtime.digests import code_digest
from bms_flows.runtime.list_id import ListId
from bms_warehouse.database import upsert
from bms_warehouse.tables import list_digest

CODE = ("bms", "bms_flows.mirror", "bms_flows.runtime", "bms_warehouse")
"""Packages that decide what a row means."""
SIZE = 16
"""Bytes of a digest."""
Entries = tuple[bytes, bytes, list[Key], list[State], bytes]
"""Digests of rows as received, their list hashes, keys, all states, and which of these each row has."""


def load(
    connection: Connection, list_id: ListId, volatile: Collection[str]
) -> Iterable[tuple[bytes, RecalledRow]]:
    """Return the rows of the last run, with the digests of their bytes; none if the cache is unusable."""
    found = select(list_digest.c.rows, list_digest.c.digest).where(list_id.of(list_digest))
    stored = connection.execute(found).one_or_none()
    usable = stored is not None and _digest(volatile, stored.rows) == stored.digest
    return _rows(stored.rows) if stored is not None and usable else ()


def _rows(content: bytes) -> Iterator[tuple[bytes, RecalledRow]]:
    """Yield the rows one by one: as a whole, they take several times the memory of `content`."""
    marks, hashes, keys, states, which = msgspec.msgpack.decode(content, type=Entries)
    for number, (key, state) in enumerate(zip(keys, which, strict=True)):
        digest = slice(number * SIZE, (number + 1) * SIZE)
        yield marks[digest], (key, hashes[digest], states[state])


def save(
    connection: Connection,
    list_id: ListId,
    volatile: Collection[str],
    rows: Iterable[tuple[bytes, RecalledRow]],
) -> None:
    """Store the rows for the next run."""
    marks, hashes, which = bytearray(), bytearray(), bytearray()
    keys: list[Key] = []
    states: dict[State, int] = {}
    for mark, (key, digest, state) in rows:
        marks += mark
        hashes += digest
        keys.append(key)
        which.append(states.setdefault(state, len(states)))
    content = msgspec.msgpack.encode((marks, hashes, keys, [*states], which))
    new = {**list_id._asdict(), "digest": _digest(volatile, content), "rows": content}
    upsert(connection, list_digest, [new], unless_equal="digest")


def _digest(volatile: Collection[str], content: bytes) -> bytes:
    context = code_digest(*CODE) + msgspec.json.encode(sorted(volatile))
    return hashlib.sha256(context + content).digest()
