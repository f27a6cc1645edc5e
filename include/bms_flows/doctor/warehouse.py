"""Checks of the warehouse: connection, version, schema, rights, disk, clock, versions of processes."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine, text

from bms_flows.doctor.finding import Finding
from bms_flows.runtime.step_log import own_version
from bms_warehouse import migration
from bms_warehouse.database import clock
from bms_warehouse.errors import (
    REMEDIES,
    EncodingUnsupported,
    PoolerFound,
    ServerTooOld,
    WarehouseError,
)
from bms_warehouse.tables import METADATA, PRIVATE_METADATA

REFUSED: Final[dict[type[WarehouseError], str]] = {
    PoolerFound: "pooler_found",
    EncodingUnsupported: "encoding_unsupported",
    ServerTooOld: "server_too_old",
}
CLOCK_S: Final = 5.0
PROBE_MB: Final = 64
"""Room that a database on another machine must have."""
DISK_FULL: Final = "53100"


def connection(engine: Engine) -> Iterator[Finding]:
    """Yield why no session opens, or no commit ends."""
    waiting = """
        select count(*) from pg_stat_activity
        where wait_event = 'SyncRep' and state_change < now() - interval '3 s'
    """
    try:
        with engine.connect() as session:
            commits = session.scalar(text(waiting))
    except WarehouseError as error:
        yield Finding(REFUSED.get(type(error), "warehouse_unreachable"), str(error))
    else:
        if commits:
            yield Finding(
                "warehouse_unreachable",
                f"{commits} commits wait for a standby: start it, or change synchronous_standby_names.",
            )


def schema(engine: Engine) -> Iterator[Finding]:
    """Yield a schema of another revision than the code, or one that the user may not read."""
    required = migration.head()
    try:
        current = migration.current(engine)
    except WarehouseError as error:
        yield Finding("privilege_missing", f"{error}.")
        return
    if current is None:
        yield Finding("schema_missing", f"The code requires revision {required}.")
    elif current != required:
        yield Finding(
            "upgrade_failed", f"The warehouse has revision {current}, the code requires {required}."
        )


def rights(connection: Connection) -> Iterator[Finding]:
    """Yield tables on which the user lacks a privilege, and a session that may only read."""
    if connection.scalar(text("show transaction_read_only")) == "on":
        yield Finding("privilege_missing", f"No write is possible: {REMEDIES['25006']}.")
    names = [each.fullname for each in (*METADATA.sorted_tables, *PRIVATE_METADATA.sorted_tables)]
    lacking = connection.execute(
        text("""
            select name, string_agg(privilege, ', ') from unnest(cast(:names as text[])) as name
            cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) as privilege
            where to_regclass(name) is not null
                and has_schema_privilege(split_part(name, '.', 1), 'USAGE')
                and not has_table_privilege(name, privilege)
            group by 1
            union all
            select distinct 'schema ' || split_part(name, '.', 1), 'USAGE' from unnest(cast(:names as text[])) as name
            where not has_schema_privilege(split_part(name, '.', 1), 'USAGE')
            union all
            select 'database ' || current_database(), 'TEMPORARY'
            where not has_database_privilege(current_database(), 'TEMPORARY')
            order by 1
        """),
        {"names": names},
    ).all()
    if lacking:
        shown = "; ".join(f"{name}: {privileges}" for name, privileges in lacking[:5])
        more = f"; and {len(lacking) - 5} more" if len(lacking) > 5 else ""  # noqa: PLR2004 - as above
        yield Finding("privilege_missing", f"{shown}{more}.")


def disk(connection: Connection, least: int) -> Iterator[Finding]:
    """Yield too little room on the database's disk, in bytes.

    On another machine the free space is not visible: then 64 MB that are written and dropped again
    must fit.
    """
    try:
        folder = Path(str(connection.scalar(text("show data_directory"))))
        visible = (folder / "PG_VERSION").exists()
    except (WarehouseError, PermissionError):  # only some roles may read the setting
        connection.rollback()
        visible = False
    if visible:
        free = shutil.disk_usage(folder).free
        if free < least:
            yield Finding("database_disk_low", f"{_gb(free)} free, {_gb(least)} wanted.")
        return
    try:
        connection.execute(text("create temporary table bms_doctor (filler text) on commit drop"))
        connection.execute(text("alter table bms_doctor alter filler set storage external"))
        connection.execute(
            text("insert into bms_doctor select repeat('x', 1048576) from generate_series(1, :mb)"),
            {"mb": PROBE_MB},
        )
    except WarehouseError as error:
        if error.sqlstate != DISK_FULL:
            raise
        yield Finding("database_disk_low", f"{PROBE_MB} MB did not fit.")
    finally:
        connection.rollback()


def clocks(connection: Connection) -> Iterator[Finding]:
    """Yield a difference between this machine's clock and the database's."""
    before = datetime.now(UTC)
    at = clock(connection)
    after = datetime.now(UTC)
    skew = max((before - at).total_seconds(), (at - after).total_seconds())
    if skew > CLOCK_S:
        yield Finding("clock_skew", f"This machine and the database differ by {skew:.0f} s.")


def versions(connection: Connection, zone: ZoneInfo) -> Iterator[Finding]:
    """Yield steps that ran another version after the first step of this version."""
    own = own_version()
    others = connection.execute(
        text("""
            select version, max(started_at), count(*) from bms.step_run
            where started_at > now() - interval '7 days' and version <> :own and started_at > (
                select min(started_at) from bms.step_run where version = :own)
            group by 1 order by 1
        """),
        {"own": own},
    ).all()
    for version, at, steps in others:
        yield Finding(
            "versions_differ",
            f"{steps} steps ran version {version}, the latest {at.astimezone(zone):%Y-%m-%d %H:%M %Z}; this is {own}.",
        )


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
