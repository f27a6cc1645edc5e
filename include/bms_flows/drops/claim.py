"""The claim of a file: a row in `bms.drop`, which only one can insert, held by a lease."""

from collections.abc import Sequence
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
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from bms_flows.drops.inbox import Seen
from bms_warehouse.tables import drop

LIFE = timedelta(minutes=10)
"""A claim not renewed for so long may be taken over by another run."""

Ending = Literal["applied", "not_applied", "repeated", "withdrawn"]
"""`applied`: its rows were worked off; `not_applied`: dry run, rejection or time-out; `repeated`:
the content of an earlier one; `withdrawn`: the file changed or went before it was read."""
ENDED: Final[Sequence[str]] = get_args(Ending)


class DropTaken(Exception):
    """Another run works on this file; waiting helps."""

    retriable = True
    retry_after = 60.0


class ClaimLost(Exception):
    """The claim was taken over while this run stood still; it writes nothing any more."""

    retriable = True


class TakenOver(Exception):
    """Another run has the drop; the report is that one's to write."""

    retriable = False


class NoSuchDrop(LookupError):
    """No drop has the number that a run was given."""

    retriable = False


@dataclass(frozen=True)
class Drop:
    """A file that was taken: which one, by which run, and how far it came."""

    id: int
    resource: str
    path: str
    size: int
    stamp: str
    state: str
    dag_run_id: str
    sha256: str | None
    same_as: int | None
    archive: str | None
    report: str | None
    certificate: str | None
    started_at: datetime | None
    ended_before: str | None = None

    @classmethod
    def of(cls, row: RowMapping) -> "Drop":
        """Return the row as a drop."""
        return cls(**{each.name: row[each.name] for each in fields(cls)})

    @property
    def seen(self) -> Seen:
        """The file as it was when it was taken."""
        return Seen(self.path, self.size, self.stamp)

    @property
    def folder(self) -> str:
        """The name of the drop's folder among reports and originals."""
        return f"{self.id:06d}"


def minted(resource: str, number: int) -> str:
    """Return the run id of a drop: one row, one run, however often it is started."""
    return f"{resource}-drop-{number}"


def enter(engine: Engine, resource: str, seen: Seen, dag_run_id: str | None = None) -> Drop:
    """Take a file for a run and return its drop; `dag_run_id` None: a run named after the row.

    Whoever inserts the row has it. A finished drop is returned as it is: its report stands. Raises
    `DropTaken` while another run holds it; one whose lease has run out is taken over.
    Where the file lies there although its drop has ended, `enter_again` is meant.
    """
    now = datetime.now(UTC)
    with engine.begin() as connection:
        number = connection.execute(
            insert(drop)
            .values(
                resource=resource,
                path=seen.path,
                size=seen.size,
                stamp=seen.stamp,
                state="open",
                dag_run_id=f"taking {uuid4()}",
                expires_at=now,
                entered_at=now,
            )
            .on_conflict_do_nothing(index_elements=["resource", "path", "size", "stamp"])
            .returning(drop.c.id)
        ).scalar_one_or_none()
        if number is None:
            return _again(connection, resource, seen, dag_run_id)
        return _hold(connection, number, dag_run_id or minted(resource, number))


def _again(connection: Connection, resource: str, seen: Seen, dag_run_id: str | None) -> Drop:
    """Return a drop entered before; take it over where its lease has run out."""
    same = select(drop).where(_is(resource, seen)).with_for_update()
    row = connection.execute(same).mappings().one()
    wanted = dag_run_id or minted(resource, row["id"])
    if row["state"] == "waiting":
        return _hold(connection, row["id"], wanted, state="open", waits_for=None)
    if row["state"] != "open" or row["dag_run_id"] == wanted:
        return Drop.of(row)
    if row["expires_at"] > datetime.now(UTC):
        raise DropTaken(f"drop {row['id']} is held by run {row['dag_run_id']}")
    return _hold(connection, row["id"], wanted)


def enter_again(engine: Engine, ended: Drop, dag_run_id: str | None = None) -> Drop:
    """Take a file that was dropped again as it was, name, size and time the same: another drop.

    The earlier one keeps its report. On an object store the etag of equal contents is the same.
    """
    with engine.begin() as connection:
        free(connection, ended.resource, ended.seen)
    return enter(engine, ended.resource, ended.seen, dag_run_id)


def free(connection: Connection, resource: str, seen: Seen) -> None:
    """Let a file be entered that is as one was whose drop has ended, in the caller's transaction."""
    connection.execute(
        update(drop)
        .where(_is(resource, seen), drop.c.state.in_(ENDED))
        .values(stamp=drop.c.stamp + " of drop " + cast(drop.c.id, Text))
    )


def _is(resource: str, seen: Seen) -> ColumnElement[bool]:
    return (
        (drop.c.resource == resource)
        & (drop.c.path == seen.path)
        & (drop.c.size == seen.size)
        & (drop.c.stamp == seen.stamp)
    )


def _hold(connection: Connection, number: int, dag_run_id: str, **also: Any) -> Drop:
    return Drop.of(
        connection.execute(
            update(drop)
            .where(drop.c.id == number)
            .values(dag_run_id=dag_run_id, expires_at=datetime.now(UTC) + LIFE, **also)
            .returning(*drop.columns)
        )
        .mappings()
        .one()
    )


def reopen(engine: Engine, number: int, dag_run_id: str) -> Drop:
    """Take a drop again for another run, whatever became of it: to approve it later, to replay it.

    Its certificate keeps its place in the chain until there is another. Raises `DropTaken` while another run holds it.
    """
    with engine.begin() as connection:
        row = (
            connection.execute(select(drop).where(drop.c.id == number).with_for_update())
            .mappings()
            .one()
        )
        live = row["state"] == "open" and row["expires_at"] > datetime.now(UTC)
        if live and row["dag_run_id"] != dag_run_id:
            raise DropTaken(f"drop {number} is held by run {row['dag_run_id']}")
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


def put_back(engine: Engine, held: Drop) -> None:
    """Let a drop that was taken again stand as it had ended before; one that never had stays open.

    Raises `ClaimLost`.
    """
    if held.ended_before is None:
        return
    with engine.begin() as connection:
        renew(connection, held)
        connection.execute(
            update(drop)
            .where(drop.c.id == held.id)
            .values(state=held.ended_before, ended_before=None)
        )


def withdraw(engine: Engine, held: Drop, reason: str) -> None:
    """End a drop whose file is not there to be read, with the code of why; one that had ended is put back.

    Raises `ClaimLost`.
    """
    if held.ended_before is not None:
        put_back(engine, held)
        return
    with engine.begin() as connection:
        finish(connection, held, "withdrawn", reason=reason)


def get(engine: Engine, number: int) -> Drop:
    """Return drop `number` as it stands; raise `NoSuchDrop`."""
    with engine.connect() as connection:
        found = connection.execute(select(drop).where(drop.c.id == number)).mappings().one_or_none()
    if found is None:
        raise NoSuchDrop(f"there is no drop {number}; its report and the board name its number")
    return Drop.of(found)


def of_run(engine: Engine, resource: str, dag_run_id: str) -> Drop | None:
    """Return the drop that a run has taken; None where it has taken none yet."""
    taken = (drop.c.resource == resource) & (drop.c.dag_run_id == dag_run_id)
    with engine.connect() as connection:
        found = connection.execute(select(drop).where(taken)).mappings().one_or_none()
    return Drop.of(found) if found else None


def unstarted(engine: Engine, resource: str) -> Sequence[Drop]:
    """Return drops taken for a run of their own that nobody is known to have started.

    Starting one twice does no harm: its run id is the same.
    """
    waiting = (drop.c.resource == resource) & (drop.c.state == "open")
    with engine.connect() as connection:
        rows = connection.execute(
            select(drop).where(waiting, drop.c.started_at.is_(None)).order_by(drop.c.id)
        )
        found = [Drop.of(row) for row in rows.mappings()]
    return [each for each in found if each.dag_run_id == minted(resource, each.id)]


def started(engine: Engine, number: int) -> None:
    """Say that the drop's run was started."""
    with engine.begin() as connection:
        connection.execute(
            update(drop)
            .where(drop.c.id == number, drop.c.started_at.is_(None))
            .values(started_at=datetime.now(UTC))
        )


def renew(connection: Connection, held: Drop) -> None:
    """Hold on for another while, in the caller's transaction; raise `ClaimLost` if it is no longer held."""
    renewed = connection.execute(
        update(drop)
        .where(drop.c.id == held.id, drop.c.dag_run_id == held.dag_run_id, drop.c.state == "open")
        .values(expires_at=datetime.now(UTC) + LIFE)
    )
    if renewed.rowcount != 1:
        raise ClaimLost(f"drop {held.id} was taken over or ended by another run")


def record(engine: Engine, held: Drop, *, sha256: str, archive: str) -> Drop | None:
    """Keep what the file held and where it is; return an earlier, applied drop of the same content."""
    with engine.begin() as connection:
        renew(connection, held)
        connection.execute(
            update(drop).where(drop.c.id == held.id).values(sha256=sha256, archive=archive)
        )
        earlier = (
            connection.execute(
                select(drop)
                .where(
                    drop.c.resource == held.resource,
                    drop.c.sha256 == sha256,
                    drop.c.state == "applied",
                    drop.c.id != held.id,
                )
                .order_by(drop.c.id.desc())
                .limit(1)
            )
            .mappings()
            .one_or_none()
        )
    return Drop.of(earlier) if earlier else None


def previous_certificate(connection: Connection, resource: str) -> str | None:
    """Return the digest of the certificate that the next one of `resource` follows.

    Other runs wait here until the caller's transaction has ended, so that no two follow the same.
    """
    connection.execute(
        text("select pg_advisory_xact_lock(hashtext('bms.drop certificate'), hashtext(:resource))"),
        {"resource": resource},
    )
    return connection.execute(
        select(drop.c.certificate)
        .where(drop.c.resource == resource, drop.c.certificate.is_not(None))
        .order_by(drop.c.finished_at.desc().nulls_last(), drop.c.id.desc())
        .limit(1)
    ).scalar_one_or_none()


def finish(
    connection: Connection,
    held: Drop,
    ending: Ending,
    *,
    report: str | None = None,
    certificate: str | None = None,
    same_as: int | None = None,
    reason: str | None = None,
) -> None:
    """Say how the drop ended, in the caller's transaction; raise `ClaimLost` if another run has it."""
    renew(connection, held)
    connection.execute(
        update(drop)
        .where(drop.c.id == held.id)
        .values(
            state=ending,
            ended_before=None,
            report=report,
            certificate=certificate,
            same_as=same_as,
            reason=reason,
            finished_at=datetime.now(UTC),
        )
    )
