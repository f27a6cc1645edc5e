"""Order in which records become visible, compared with their `created_on`, as the mirrors observed it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, Table, func, select

from bms_flows.contract.finding import ContractFinding, Question
from bms_flows.contract.paging import MIN_ROWS
from bms_warehouse.tables import MIRROR_TABLES

ORDER: Final = Question("created_on_order", "BMS_SETTLE_S")
READ: Final = timedelta(minutes=10)
"""Time that the read of a list may take: records created meanwhile may be missed or not."""
IMPORTED: Final = timedelta(days=1)
"""Delay from which a record was imported or restored with an earlier `created_on`."""


def created_on_order(connection: Connection) -> ContractFinding:
    """Return whether new records appear in the order of their `created_on`, from the loads of all mirrors.

    Creation relies on this order: a list that shows a record which was created after an attempt must show
    the record of the attempt, too. A record contradicts the order if an earlier load had a record with a
    later `created_on`.
    """
    tables = [each.current for each in MIRROR_TABLES.values() if "created_on" in each.current.c]
    found = [delay for table in tables for delay in _delays(connection, table) if delay < IMPORTED]
    compared, late = len(found), [delay for delay in found if delay > READ]
    if compared < MIN_ROWS:
        why = f"fewer than {MIN_ROWS} new records appeared between two loads of a mirror."
        return ORDER.undetermined(why)
    if not late:
        summary = f"{compared} new records appeared in the order of their created_on."
        return ORDER.answered("agrees", summary)
    longest = max(late).total_seconds()
    return ORDER.answered(
        "differs",
        f"{len(late)} of {compared} new records appeared after records with a later created_on,"
        f" up to {longest:.0f} s later.",
        f"Set {ORDER.setting} to {longest:.0f}: a lost response may lead to a second record before.",
    )


def _delays(connection: Connection, table: Table) -> Sequence[timedelta]:
    """Return, for each new record, how much later a record of an earlier load was created."""
    seen_at, created_on = table.c["_first_seen_at"], table.c.created_on
    loads = select(seen_at.label("at"), func.max(created_on).label("newest")).group_by(seen_at)
    of_load = loads.subquery()
    earlier = func.max(of_load.c.newest).over(order_by=of_load.c.at, rows=(None, -1))
    before = select(of_load.c.at, earlier.label("newest")).subquery()
    return connection.scalars(
        select(before.c.newest - created_on)
        .join_from(table, before, seen_at == before.c.at)
        .where(created_on.is_not(None), before.c.newest.is_not(None))
    ).all()
