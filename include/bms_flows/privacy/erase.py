"""Erasure of a person's records in the warehouse and files.

Erase the person in the service first: the next
sync restores records that the service still lists. Receipts and the ledger's digests and ids stay; they
contain no personal data.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Table,
    cast,
    delete,
    func,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import Text
from upath import UPath

from bms_flows.invoices.raw import SUFFIX
from bms_flows.mirror.resource import MirroredResource
from bms_flows.mirror.resources import CONTACTS, EMPLOYEES
from bms_flows.mirror.store import locked_for_erasure
from bms_flows.onboarding.inbox import archive, closing
from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.privacy.retention import RECEIPT
from bms_flows.runtime import storage
from bms_warehouse import database
from bms_warehouse.tables import (
    client_invoice_digest,
    contact_agreement,
    contact_difference,
    creation,
    creation_body,
    list_digest,
    quarantine,
    superseded,
)

BLOCK: Final = 1 << 20
SMALL_BLOCK: Final = 1 << 12
OVERLAP: Final = 1 << 10
"""Overlap of consecutive blocks in bytes: more than the length of a field name with its id."""


@dataclass(frozen=True)
class PersonalData:
    """Personal data of one record: rows by table, drops that contain the person, files.

    `unreadable` are incomplete files of responses that a killed process left: they may contain the
    person.
    """

    rows: Mapping[str, int]
    drops: Sequence[int]
    files: Sequence[UPath]
    unreadable: Sequence[UPath] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no record of the person was found."""
        return not (any(self.rows.values()) or self.drops or self.files)


def find(
    connection: Connection,
    data_root: UPath,
    resource: MirroredResource,
    key: str,
    *,
    lock: bool = False,
) -> PersonalData:
    """Find the personal data of record `key` without changing anything.

    With `lock`, no run writes reports of the drops found until the transaction ends.
    """
    database.read_meanwhile(connection)  # reading thousands of files takes long
    responses = dict(_responses(data_root, resource, key))
    drops = _drops(connection, resource, key, lock=lock)
    rows = {
        str(table): connection.scalar(select(func.count()).select_from(table).where(where)) or 0
        for table, where in _rows(resource, key)
    }
    files = [
        *_drop_files(data_root, resource, drops),
        *(p for p, holds in responses.items() if holds),
    ]
    unreadable = [path for path, holds in responses.items() if holds is None]
    return PersonalData(rows, [each.id for each in drops], files, unreadable)


def erase(engine: Engine, data_root: UPath, resource: MirroredResource, key: str) -> PersonalData:
    """Erase the record `key` and return its personal data; safe to repeat after a crash.

    Files are erased first, because rows identify them. Files that contain other people are erased whole.
    Raises `Busy` while a sync, which may have read the record before, writes to the mirror, or a run works
    on a drop with the record; ends drops that wait, for example for an approval.
    """
    with (
        engine.connect() as connection,
        locked_for_erasure(connection, resource),
        connection.begin(),
    ):
        found = find(connection, data_root, resource, key, lock=True)
        closing.withdraw_open(connection, found.drops)
        for path in (*found.files, *found.unreadable):
            path.unlink(missing_ok=True)
        for table, where in _rows(resource, key):
            connection.execute(delete(table).where(where))
        # Digests of rows that may name the person. Without the lock, this could deadlock with a load.
        caches = (client_invoice_digest, list_digest)
        connection.execute(text(f"lock table {', '.join(map(str, caches))} in exclusive mode"))
        for table in caches:
            connection.execute(delete(table))
    return found


def spellings(resource: MirroredResource, key: str) -> Sequence[str]:
    """Return the possible spellings of an id: a GUID may be in upper or lower case."""
    return sorted({key, key.lower(), key.upper()}) if resource is EMPLOYEES else [key]


def _rows(resource: MirroredResource, key: str) -> Iterator[tuple[Table, ColumnElement[bool]]]:
    """Yield the tables with personal data, and the condition that selects this record."""
    for mirrored in resource.tables:
        for table in (superseded(mirrored), mirrored):
            yield table, cast(table.c[resource.key], Text).in_(spellings(resource, key))
    named = [each.name for each in resource.tables]
    ids = spellings(resource, key)
    yield (
        quarantine,
        quarantine.c.resource.in_(named)
        & or_(
            quarantine.c.row_key.in_(ids),
            *(quarantine.c.row_key.startswith(f"{each} ", autoescape=True) for each in ids),
            # Only if the row's own id is unreadable: a nested id may belong to another object.
            quarantine.c.row_key.startswith("sha256:")
            & quarantine.c.raw.regexp_match(_pattern(resource, key)),
        ),
    )
    yield (
        creation_body,
        creation_body.c.creation_id.in_(select(creation.c.id).where(_is_or_may_be(resource, key))),
    )
    if resource is CONTACTS:
        for table in (contact_agreement, contact_difference):
            yield table, cast(table.c.id_contact, Text) == key


def _drops(
    connection: Connection, resource: MirroredResource, key: str, *, lock: bool
) -> list[Drop]:
    """Return the drops that contain or may contain the record, and drops with the same content.

    A drop counts if its plan contains the record's ledger key or id, also as a candidate.
    """
    given = {"resource": resource.name, "ids": spellings(resource, key)}
    statement = text(f"{_DROPS} for no key update" if lock else _DROPS)
    return [Drop.of(row) for row in connection.execute(statement, given).mappings()]


# A file that was dropped twice has only one plan.
_DROPS = """
with own as (
    select drop_id, key from bms.creation where resource = :resource and remote_id = any(:ids)
    union
    select drop_id, key from bms.creation_match where resource = :resource and remote_id = any(:ids)
), named as (
    select drop_id from own
    union
    select drop_id from bms.creation where resource = :resource and state = 'review' and candidates ?| :ids
    union
    select drop_id from bms.creation_plan, jsonb_path_query(rows, '$[*]') as row
    where resource = :resource and (row->>'remote_id' = any(:ids) or row->'candidates' ?| :ids
        or row->>'key' in (select key from own))
)
select * from bms.dropped_file where id in (select drop_id from named)
    or resource = :resource and sha256 in (
        select sha256 from bms.dropped_file where id in (select drop_id from named)
    )
order by id
"""


def _is_or_may_be(resource: MirroredResource, key: str) -> ColumnElement[bool]:
    """Condition of ledger rows that are the record, or may be and still await review."""
    ids = spellings(resource, key)
    candidate = or_(*(creation.c.candidates.contains(cast([each], JSONB)) for each in ids))
    may_be = (creation.c.state == "review") & candidate
    return (creation.c.resource == resource.name) & (creation.c.remote_id.in_(ids) | may_be)


def _drop_files(
    data_root: UPath, resource: MirroredResource, drops: Sequence[Drop]
) -> Iterator[UPath]:
    """Yield originals and reports of drops, except receipts, which contain no personal data."""
    if not drops:
        return
    inbox = REMOTES[resource.name].resource.inbox
    for each in drops:
        yield from archive.hidden_files(data_root / "inbox" / inbox, each)
        for kind in ("archive", "reports"):
            folder = data_root / kind / inbox / each.folder
            if storage.is_folder(folder):
                kept = RECEIPT if kind == "reports" else ""  # a dropped file may have its name
                yield from (path for path in folder.iterdir() if path.name != kept)


def _responses(
    data_root: UPath, resource: MirroredResource, key: str
) -> Iterator[tuple[UPath, bool | None]]:
    """Yield files of responses, and whether they contain the record.

    None: the file is incomplete, because a killed process left it, and unreadable.
    """
    pattern = re.compile(_pattern(resource, key).encode())
    for table in resource.tables:
        folder = data_root / "raw" / table.name
        for path in sorted(folder.rglob(f"*{SUFFIX}*")) if folder.exists() else ():
            if path.name.endswith(SUFFIX):
                yield path, _holds(path, pattern, BLOCK)
            elif path.name.endswith(storage.PART):
                yield path, _part_holds(path, pattern)


def _part_holds(path: UPath, pattern: re.Pattern[bytes]) -> bool | None:
    try:
        # In small blocks, because the incomplete last block is lost.
        return _holds(path, pattern, SMALL_BLOCK)
    except FileNotFoundError:
        return False  # its writer has renamed the file
    except (OSError, pa.ArrowInvalid):
        return None


def _holds(path: UPath, pattern: re.Pattern[bytes], size: int) -> bool:
    with path.open("rb") as stream, pa.CompressedInputStream(stream, "zstd") as unpacked:
        before = b""
        while block := unpacked.read(size):
            if pattern.search(before + block):
                return True
            before = (before + block)[-OVERLAP:]
    return False


def _pattern(resource: MirroredResource, key: str) -> str:
    """Return a regular expression, for Python and PostgreSQL, of the record's id in JSON."""
    ids = "|".join(map(re.escape, spellings(resource, key)))
    return rf'"{resource.key}"\s*:\s*"?({ids})(\.0+)?"?\s*[,}}]'


def describe(found: PersonalData, data_root: UPath) -> Iterator[str]:
    """Yield the lines of the command's output."""
    for table, rows in found.rows.items():
        yield f"{rows:>6} rows of {table}"
    for path in found.files:
        yield f"  file {path.path.removeprefix(data_root.path).lstrip('/')}"
    for path in found.unreadable:
        name = path.path.removeprefix(data_root.path).lstrip("/")
        yield f"  file {name}, incomplete, left by a killed process"
    if found.drops:
        yield f"  in drops {', '.join(map(str, found.drops))}; their files also contain other persons' data"
