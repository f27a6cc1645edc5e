"""`python -m bms_flows.privacy.erase`: find a person in warehouse and files, and erase what is found.

Shows what it would erase and erases nothing, unless told so with --for-good. Erase the person in
the service first: a sync brings back what its lists still have. What stays names nobody: the
ledger's digests and ids, and receipts.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
from sqlalchemy import ColumnElement, Connection, Engine, Table, cast, delete, func, or_, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import Text
from upath import UPath

from bms_flows.invoices.raw import SUFFIX
from bms_flows.mirror.consultants import CONSULTANTS
from bms_flows.mirror.contacts import CONTACTS
from bms_flows.mirror.employees import EMPLOYEES
from bms_flows.mirror.resource import Resource
from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.privacy.retention import ABANDONED_AFTER, RECEIPT
from bms_flows.runtime import storage
from bms_warehouse import database
from bms_warehouse.errors import WarehouseError
from bms_warehouse.tables import (
    contact_agreement,
    contact_difference,
    creation,
    creation_body,
    creation_match,
    creation_plan,
    dropped_file,
    quarantine,
)

RESOURCES: Final[Mapping[str, Resource]] = {
    each.name: each for each in (CONTACTS, CONSULTANTS, EMPLOYEES)
}
BLOCK: Final = 1 << 20
SMALL: Final = 1 << 12
NOTHING_FOUND: Final = 3
"""Exit status of a command that found no trace of the person."""
LONGEST: Final = 1 << 10
"""Bytes that an id and the name before it take at most."""


@dataclass(frozen=True)
class Found:
    """What there is of a person: rows by table, drops with the person in them, files.

    `broken_off` are files of answers that a killed process left and that can't be read to their
    end: the person may be in them.
    """

    rows: Mapping[str, int]
    drops: Sequence[int]
    files: Sequence[UPath]
    broken_off: Sequence[UPath] = ()

    @property
    def nothing(self) -> bool:
        """Whether no trace of the person was found."""
        return not (any(self.rows.values()) or self.drops or self.files)


def find(connection: Connection, data_root: UPath, resource: Resource, key: str) -> Found:
    """Return what there is of the record `key`; nothing is changed."""
    database.read_meanwhile(connection)  # thousands of files of answers, one after another
    rows = {
        str(table): connection.scalar(select(func.count()).select_from(table).where(where)) or 0
        for table, where in _rows(resource, key)
    }
    drops = _drops(connection, resource, key)
    answers = dict(_answers(data_root, resource, key))
    files = [*_of_drops(data_root, resource, drops), *(p for p, holds in answers.items() if holds)]
    broken_off = [path for path, holds in answers.items() if holds is None]
    return Found(rows, [each.id for each in drops], files, broken_off)


def erase(engine: Engine, data_root: UPath, resource: Resource, key: str) -> Found:
    """Erase the record `key`, and return what there was of it; safe to repeat after a crash.

    Files go first: the rows tell which they are. A file that holds others as well goes whole.
    """
    with engine.begin() as connection:
        found = find(connection, data_root, resource, key)
        for path in (*found.files, *found.broken_off):
            path.unlink(missing_ok=True)
        for table, where in _rows(resource, key):
            connection.execute(delete(table).where(where))
    return found


def forms(resource: Resource, key: str) -> Sequence[str]:
    """Return the ways in which the service may write an id: a guid's letters in either case."""
    return sorted({key, key.lower(), key.upper()}) if resource is EMPLOYEES else [key]


def _rows(resource: Resource, key: str) -> Iterator[tuple[Table, ColumnElement[bool]]]:
    """Yield the tables that hold personal data, with what is of this record."""
    private = resource.private
    mirrored = [resource.table, resource.versions]
    if private:
        mirrored += [private.table, private.versions]
    for table in mirrored:
        yield table, cast(table.c[resource.key], Text).in_(forms(resource, key))
    named = [resource.name, *([private.table.name] if private else [])]
    yield (
        quarantine,
        quarantine.c.resource.in_(named)
        & or_(
            quarantine.c.row_key.in_(forms(resource, key)),
            *(
                quarantine.c.row_key.startswith(f"{each} ", autoescape=True)
                for each in forms(resource, key)
            ),
            # Only where the row's own id could not be read: further in, an id may be of something else.
            quarantine.c.row_key.startswith("sha256:")
            & quarantine.c.raw.regexp_match(_pattern(resource, key)),
        ),
    )
    yield (
        creation_body,
        creation_body.c.creation_id.in_(
            select(creation.c.id).where(_of_record(resource, key) | _may_be(resource, key))
        ),
    )
    if resource is CONTACTS:
        for table in (contact_agreement, contact_difference):
            yield table, cast(table.c.id_contact, Text) == key


def _drops(connection: Connection, resource: Resource, key: str) -> list[Drop]:
    """Return the drops in which the record stood, or may have, and those of the same content.

    They are those whose plan names its key in the ledger, or its id, be it as a candidate.
    """
    mine = _of_record(resource, key)
    ids = forms(resource, key)
    matched = (creation_match.c.resource == resource.name) & creation_match.c.remote_id.in_(ids)
    rows = creation_plan.c.rows
    keys = [
        *connection.scalars(select(creation.c.key).where(mine)),
        *connection.scalars(select(creation_match.c.key).where(matched)),
    ]
    named = [
        rows.contains(cast([{name: value}], JSONB))
        for name, value in [
            *(("remote_id", each) for each in ids),
            *(("candidates", [each]) for each in ids),
            *(("key", each) for each in keys),
        ]
    ]
    found: set[Any] = {
        *connection.scalars(select(creation.c.drop_id).where(mine | _may_be(resource, key))),
        *connection.scalars(select(creation_match.c.drop_id).where(matched)),
        *connection.scalars(
            select(creation_plan.c.drop_id).where(
                creation_plan.c.resource == resource.name, or_(*named)
            )
        ),
    }
    # What came twice was planned once.
    contents = select(dropped_file.c.sha256).where(dropped_file.c.id.in_(found))
    same = (dropped_file.c.resource == resource.name) & dropped_file.c.sha256.in_(contents)
    rows_of = connection.execute(
        select(dropped_file).where(dropped_file.c.id.in_(found) | same).order_by(dropped_file.c.id)
    )
    return [Drop.of(row) for row in rows_of.mappings()]


def _of_record(resource: Resource, key: str) -> ColumnElement[bool]:
    """Rows of the ledger that are the record."""
    ids = forms(resource, key)
    return (creation.c.resource == resource.name) & creation.c.remote_id.in_(ids)


def _may_be(resource: Resource, key: str) -> ColumnElement[bool]:
    """Rows of the ledger that may be the record: nobody has said yet."""
    return (
        (creation.c.resource == resource.name)
        & (creation.c.state == "review")
        & or_(
            *(creation.c.candidates.contains(cast([each], JSONB)) for each in forms(resource, key))
        )
    )


def _of_drops(data_root: UPath, resource: Resource, drops: Sequence[Drop]) -> Iterator[UPath]:
    """Yield originals and reports of drops, but for receipts, which name nobody."""
    inbox = REMOTES[resource.name].resource.inbox
    for each in drops:
        for kind in ("archive", "reports"):
            folder = data_root / kind / inbox / each.folder
            if storage.is_folder(folder):
                yield from (path for path in folder.iterdir() if path.name != RECEIPT)


def _answers(data_root: UPath, resource: Resource, key: str) -> Iterator[tuple[UPath, bool | None]]:
    """Yield files of answers, and whether the record shows in them; no table is made of them again.

    None: a killed process left the file, and it can't be read to its end.
    """
    pattern = re.compile(_pattern(resource, key).encode())
    tables = [resource.table, *([resource.private.table] if resource.private else [])]
    for table in tables:
        folder = data_root / "raw" / table.name
        for path in sorted(folder.rglob(f"*{SUFFIX}*")) if folder.exists() else ():
            if path.name.endswith(SUFFIX):
                yield path, _holds(path, pattern, BLOCK)
            elif path.name.endswith(storage.PART):
                yield path, _part_holds(path, pattern)


def _part_holds(path: UPath, pattern: re.Pattern[bytes]) -> bool | None:
    try:
        # In small pieces: the last one, in which the file breaks off, is lost.
        return _holds(path, pattern, SMALL)
    except FileNotFoundError:
        return False  # its writer has renamed it since
    except (OSError, pa.ArrowInvalid):
        written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        return None if datetime.now(UTC) - written > ABANDONED_AFTER else False


def _holds(path: UPath, pattern: re.Pattern[bytes], size: int) -> bool:
    with path.open("rb") as stream, pa.CompressedInputStream(stream, "zstd") as unpacked:
        before = b""
        while block := unpacked.read(size):
            if pattern.search(before + block):
                return True
            before = (before + block)[-LONGEST:]
    return False


def _pattern(resource: Resource, key: str) -> str:
    """Return what the record's id looks like in JSON, for Python and for PostgreSQL."""
    ids = "|".join(map(re.escape, forms(resource, key)))
    return rf'"{resource.key}"\s*:\s*"?({ids})(\.0+)?"?\s*[,}}]'


def main(arguments: list[str] | None = None) -> int:
    """Run the command: 0 when done, 1 without the database, 2 on wrong use, 3 where nothing is found."""
    parser = argparse.ArgumentParser(prog="python -m bms_flows.privacy.erase", description=__doc__)
    parser.add_argument("resource", choices=sorted(RESOURCES))
    parser.add_argument("id", help="the service's id of the record; an employee's guid")
    parser.add_argument("--for-good", action="store_true", help="erase what is found")
    for option, variable in (("--url", "BMS_WAREHOUSE_URL"), ("--data-root", "BMS_DATA_ROOT")):
        parser.add_argument(
            option, default=os.environ.get(variable), help=f"(default: ${variable})"
        )
    options = parser.parse_args(arguments)
    if not options.url or not options.data_root:
        parser.error("--url and --data-root are needed")
    resource, data_root = RESOURCES[options.resource], storage.data_root(options.data_root)
    engine = database.connect(options.url)
    try:
        if options.for_good:
            found = erase(engine, data_root, resource, options.id)
        else:
            with engine.connect() as connection:
                found = find(connection, data_root, resource, options.id)
    except WarehouseError as error:
        done = "not all is erased; run it again" if options.for_good else "nothing was erased"
        print(f"{done}: {error}", file=sys.stderr)  # noqa: T201 - a command's answer
        return 1
    finally:
        engine.dispose()
    for line in told(found, data_root):
        print(line)  # noqa: T201
    if found.nothing:
        hint = "check the id, and that --url and --data-root are those of the flows"
        print(f"nothing was found of {options.resource} {options.id}: {hint}", file=sys.stderr)  # noqa: T201
        return NOTHING_FOUND
    print("erased" if options.for_good else "nothing was erased: --for-good does it")  # noqa: T201
    return 0


def told(found: Found, data_root: UPath) -> Iterator[str]:
    """Yield what a person reads of what was found."""
    for table, rows in found.rows.items():
        yield f"{rows:>6} rows of {table}"
    for path in found.files:
        yield f"  file {path.path.removeprefix(data_root.path).lstrip('/')}"
    for path in found.broken_off:
        name = path.path.removeprefix(data_root.path).lstrip("/")
        yield f"  file {name}, left by a killed process and not readable to its end"
    if found.drops:
        yield f"  in drops {', '.join(map(str, found.drops))}; their files hold others too"


if __name__ == "__main__":
    sys.exit(main())
