"""How a drop ends: what it held is kept, its certificate takes its place in the chain, its state says how."""

from sqlalchemy import Connection, Engine, select, text, update

from bms_flows.drops.claim import Drop, Ending, renew
from bms_warehouse.database import clock, read_meanwhile
from bms_warehouse.tables import creation_plan, drop


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


def rules_of(engine: Engine, earlier: Drop) -> str | None:
    """Return the version of the rules by which a drop's rows were last entered; None: they never were."""
    with engine.connect() as connection:
        return connection.execute(
            select(creation_plan.c.bound["rules"].astext)
            .where(creation_plan.c.drop_id == earlier.id, creation_plan.c.state == "applied")
            .order_by(creation_plan.c.applied_at.desc())
            .limit(1)
        ).scalar_one_or_none()


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


def previous_certificate(connection: Connection, resource: str) -> str | None:
    """Return the digest of the certificate that the next one of `resource` follows.

    Other runs wait here until the caller's transaction has ended, so that no two follow the same.
    """
    # The caller reads back what it created, thousands of records perhaps, before it goes on here.
    read_meanwhile(connection)
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
            finished_at=clock(connection),
        )
    )
