"""The claim of a file: a row in `bms.dropped_file`, which only one can insert, held by a lease."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, get_args
from uuid import uuid4

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    RowMapping,
    Text,
    cast,
    func,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import Insert, insert

from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_warehouse.database import clock
from bms_warehouse.locks import Busy, LeaseLost
from bms_warehouse.tables import dropped_file

LIFE = timedelta(minutes=10)
"""Lease of a claim; another run may take over an expired claim."""

AT_ONCE = 200
"""Maximum number of drops that one dispatch starts; Airflow expands at most 1,024 tasks."""

Ending = Literal["applied", "not_applied", "refused", "repeated", "withdrawn"]
"""`applied`: its rows were worked off; `not_applied`: dry run, rejection or time-out; `refused`: no row
of the file may be used, such as a PDF or a file with an unknown column; `repeated`:
the content of an earlier one, by the same rules; `withdrawn`: the file changed or went before it was read."""
ENDED: Final[Sequence[str]] = get_args(Ending)


class Superseded(Exception):
    """Another run holds the drop and writes its report."""

    retriable = False


class NoSuchDrop(LookupError):
    """No drop has the given number."""

    retriable = False


@dataclass(frozen=True)
class Drop:
    """A claimed file: its identity, its run and its state."""

    id: int
    resource: str
    path: str
    size: int
    stamp: str
    state: str
    dag_run_id: str
    entered_at: datetime
    expires_at: datetime
    sha256: str | None
    same_as: int | None
    archive: str | None
    report: str | None
    counts: Mapping[str, int] | None
    started_at: datetime | None
    ended_before: str | None = None
    submitted_by: str | None = None

    @classmethod
    def of(cls, row: RowMapping) -> "Drop":
        """Return the row as a drop."""
        return cls(**{each.name: row[each.name] for each in fields(cls)})

    @property
    def seen(self) -> FoundFile:
        """The file at the time of the claim."""
        return FoundFile(self.path, self.size, self.stamp)

    @property
    def folder(self) -> str:
        """The name of the drop's folder in reports and archive: number and time of entry."""
        return f"{self.id:06d}-{_stamp(self.entered_at)}"


def dag_run_id_of(resource: str, number: int, entered_at: datetime) -> str:
    """Return the deterministic run id of a drop, so that repeated starts create one run."""
    return f"{resource}-drop-{number}-{_stamp(entered_at)}"


def _stamp(entered_at: datetime) -> str:
    # A new or restored warehouse assigns numbers again, while files and runs of earlier drops with
    # these numbers still exist.
    return f"{entered_at.astimezone(UTC):%Y%m%dT%H%M%S}"


def claim_file(
    engine: Engine, resource: str, seen: FoundFile, dag_run_id: str | None = None
) -> Drop:
    """Take a file for a run and return its drop; `dag_run_id` None: a run named after the row.

    A finished drop is returned unchanged; a drop whose lease has expired is taken over. Raises `Busy`
    while another run holds the drop. For a file that is in the inbox although its drop has ended,
    call `claim_again`.
    """
    with engine.begin() as connection:
        given = entry(resource, seen, clock(connection))
        # One statement: between an insertion and a query another dispatcher could free the row.
        locked = given.on_conflict_do_update(
            index_elements=["resource", "path", "size", "stamp"], set_={"path": given.excluded.path}
        ).returning(*dropped_file.columns)
        return _take(connection, connection.execute(locked).mappings().one(), dag_run_id)


def entry(resource: str, seen: FoundFile, now: datetime) -> Insert:
    """Return the statement that enters a file, which waits for its claim."""
    return insert(dropped_file).values(
        resource=resource,
        path=seen.path,
        size=seen.size,
        stamp=seen.stamp,
        state="waiting",
        dag_run_id=f"waiting {uuid4()}",
        expires_at=now,
        entered_at=now,
    )


def _take(connection: Connection, row: RowMapping, dag_run_id: str | None) -> Drop:
    """Return a locked row's drop; take it if it waits, or its lease has expired and its file was not archived.

    Once a drop has archived its file, an equal file in the inbox was dropped later: it waits until the
    drop ends, however long its run waits for an approval.
    """
    wanted = dag_run_id or dag_run_id_of(row["resource"], row["id"], row["entered_at"])
    if row["state"] == "waiting":
        return _hold(connection, row["id"], wanted, state="open", waits_for=None)
    if row["state"] != "open" or row["dag_run_id"] == wanted:
        return Drop.of(row)
    if row["archive"] is not None or row["expires_at"] > clock(connection):
        raise Busy(f"drop {row['id']} is held by run {row['dag_run_id']}")
    return _hold(connection, row["id"], wanted, started_at=None)


def claim_again(engine: Engine, ended: Drop, dag_run_id: str | None = None) -> Drop:
    """Claim a file that was dropped again with the same name, size and time, as a new drop.

    The earlier drop keeps its report. On an object store the etag of equal contents is the same.
    """
    with engine.begin() as connection:
        free(connection, ended.resource, ended.seen)
    return claim_file(engine, ended.resource, ended.seen, dag_run_id)


def free(connection: Connection, resource: str, seen: FoundFile) -> None:
    """Release the unique key of an ended drop for an equal file, in the caller's transaction."""
    connection.execute(
        update(dropped_file)
        .where(_is(resource, seen), dropped_file.c.state.in_(ENDED))
        .values(stamp=dropped_file.c.stamp + " of drop " + cast(dropped_file.c.id, Text))
    )


def name_submitter(connection: Connection, resource: str, seen: FoundFile, user: str) -> None:
    """Record in the caller's transaction who submits a file, unless another user's drop is already open."""
    waits, own = dropped_file.c.state == "waiting", dropped_file.c.submitted_by.is_(None)
    named = update(dropped_file).where(
        _is(resource, seen), waits | (own & (dropped_file.c.state == "open"))
    )
    connection.execute(named.values(submitted_by=user))


def _is(resource: str, seen: FoundFile) -> ColumnElement[bool]:
    return (
        (dropped_file.c.resource == resource)
        & (dropped_file.c.path == seen.path)
        & (dropped_file.c.size == seen.size)
        & (dropped_file.c.stamp == seen.stamp)
    )


def _hold(connection: Connection, number: int, dag_run_id: str, **also: Any) -> Drop:
    held = update(dropped_file).where(dropped_file.c.id == number)
    values = {"dag_run_id": dag_run_id, "expires_at": clock(connection) + LIFE, **also}
    row = connection.execute(held.values(values).returning(*dropped_file.columns))
    return Drop.of(row.mappings().one())


def reopen(engine: Engine, number: int, dag_run_id: str) -> Drop:
    """Take a drop again for another run, whatever became of it: to approve it later, to replay it.

    Raises `Busy` while another run holds it.
    """
    with engine.begin() as connection:
        locked = select(dropped_file).where(dropped_file.c.id == number).with_for_update()
        row = connection.execute(locked).mappings().one()
        live = row["state"] == "open" and row["expires_at"] > clock(connection)
        if live and row["dag_run_id"] != dag_run_id:
            # A killed run, or one that a restored backup shows, holds the drop until its claim expires.
            held = f"drop {number} is held by run {row['dag_run_id']}"
            raise Busy(held, retry_for_hours=True)
        before = row["state"] in ENDED and row["state"] != "withdrawn"
        return _hold(
            connection,
            number,
            dag_run_id,
            state="open",
            ended_before=row["state"] if before else row["ended_before"],
            same_as=None,
            waits_for=None,
            reason=None,
        )


def get(engine: Engine, number: int) -> Drop:
    """Return drop `number`; raise `NoSuchDrop`."""
    found = _drops(engine, dropped_file.c.id == number)
    if not found:
        raise NoSuchDrop(
            f"there is no drop {number}: its report and the board name its number. If the warehouse was"
            " restored to before the drop, drop the file again (its original is in archive/)"
        )
    return found[0]


def drop_of_run(engine: Engine, resource: str, dag_run_id: str) -> Drop | None:
    """Return the drop that a run has claimed, None if it has claimed none yet."""
    taken = (dropped_file.c.resource == resource) & (dropped_file.c.dag_run_id == dag_run_id)
    return next(iter(_drops(engine, taken)), None)


def last_named(engine: Engine, resource: str, name: str) -> Drop | None:
    """Return the last drop of a file of this name, whose accents may be encoded in another form."""
    path = func.normalize(dropped_file.c.path, text("NFC"))
    named = (dropped_file.c.resource == resource) & (path == func.normalize(name, text("NFC")))
    return next(reversed(_drops(engine, named)), None)


def last_archived(engine: Engine, resource: str) -> int | None:
    """Return the number of the last drop whose file was archived."""
    archived = (dropped_file.c.resource == resource) & dropped_file.c.archive.is_not(None)
    with engine.connect() as connection:
        number: int | None = connection.scalar(select(func.max(dropped_file.c.id)).where(archived))
        return number


def unstarted(engine: Engine, resource: str) -> Sequence[Drop]:
    """Return the oldest claimed drops whose DAG run is not known to have started.

    A second start has no effect: the run id is the same.
    """
    waiting = (dropped_file.c.resource == resource) & (dropped_file.c.state == "open")
    mine = [
        each
        for each in _drops(engine, waiting & dropped_file.c.started_at.is_(None))
        if each.dag_run_id == dag_run_id_of(resource, each.id, each.entered_at)
    ]
    return mine[:AT_ONCE]


def _drops(engine: Engine, where: ColumnElement[bool]) -> list[Drop]:
    """Return drops in the order of their numbers."""
    with engine.connect() as connection:
        rows = connection.execute(select(dropped_file).where(where).order_by(dropped_file.c.id))
        return [Drop.of(row) for row in rows.mappings()]


def mark_started(engine: Engine, number: int) -> None:
    """Record that the drop's run was started."""
    with engine.begin() as connection:
        at = {"started_at": clock(connection)}
        _change(connection, number, dropped_file.c.started_at.is_(None), **at)


def open_undo_sheet(engine: Engine, number: int, user: str) -> None:
    """Record that a drop was a mistake, whose records users of the service remove by hand."""
    with engine.begin() as connection:
        undo = {"undo_at": clock(connection), "undo_by": user}
        _change(connection, number, dropped_file.c.undo_at.is_(None), **undo)


def _change(
    connection: Connection, number: int, *where: ColumnElement[bool], **values: Any
) -> None:
    changed = update(dropped_file).where(dropped_file.c.id == number, *where)
    connection.execute(changed.values(values))


def renew(connection: Connection, held: Drop, **values: Any) -> None:
    """Renew the lease, and set `values`, in the caller's transaction.

    Raises `LeaseLost` if another run holds the drop.
    """
    renewed = connection.execute(
        update(dropped_file)
        .where(
            dropped_file.c.id == held.id,
            dropped_file.c.dag_run_id == held.dag_run_id,
            dropped_file.c.state == "open",
        )
        .values(expires_at=clock(connection) + LIFE, **values)
    )
    if renewed.rowcount != 1:
        raise LeaseLost(f"drop {held.id} was taken over or ended by another run")
